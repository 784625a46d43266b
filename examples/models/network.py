# SPDX-License-Identifier: Apache-2.0
"""The example network: its layers, and a plain forward pass that needs numpy only.

The table below is the one description of the network. train.py trains it, export.py writes it as ONNX
and as Caffe, and run() here computes every tensor in double precision, slowly and plainly, so that
engines can be held against numbers that none of them made.
"""
import collections
import gzip
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
WEIGHTS = HERE / "digits.npz"
CLASSES = 10
EPSILON = 1e-5  # of the batch normalisation; the default of Caffe and of ONNX

# What happens to pixels 0..255 before the network sees them; digits_config.prototxt says the same.
MEAN, STD = 33.0, 78.0

# A layer computes the tensor that carries its name. `out` counts channels; conv: group 1 or, for a
# depthwise layer, group = out. 'bn' computes (x - mean) / sqrt(variance + epsilon), 'scale' multiplies
# and adds channel by channel: two layers in Caffe, one BatchNormalization in ONNX.
Layer = collections.namedtuple("Layer", "name kind bottoms out kernel stride pad group", defaults=(0, 0, 1, 0, 1))


def normalised(name, bottom, relu=True, **shape):
    """A convolution without bias, its batch normalisation and, mostly, a ReLU."""
    unit = [Layer(name, "conv", [bottom], **shape),
            Layer(name + "_bn", "bn", [name]),
            Layer(name + "_scale", "scale", [name + "_bn"])]
    return unit + [Layer(name + "_relu", "relu", [name + "_scale"])] * relu


LAYERS = [
    Layer("data", "input", [], 1),                                                         # 1x28x28
    *normalised("conv1", "data", out=16, kernel=3, stride=2, pad=1),                       # 16x14x14
    *normalised("dw2", "conv1_relu", out=16, kernel=3, pad=1, group=16),
    *normalised("pw2", "dw2_relu", out=32, kernel=1),                                      # 32x14x14
    # Six windows and a half fit: rounding up, as Caffe does, the last one hangs over the edge.
    Layer("pool2", "max", ["pw2_relu"], kernel=3, stride=2),                               # 32x7x7
    *normalised("dw3", "pool2", out=32, kernel=3, pad=1, group=32),
    *normalised("pw3", "dw3_relu", out=32, kernel=1, relu=False),
    Layer("add3", "add", ["pool2", "pw3_scale"]),
    Layer("add3_relu", "relu", ["add3"]),
    *normalised("conv4a", "add3_relu", out=16, kernel=1),
    *normalised("conv4b", "add3_relu", out=16, kernel=3, pad=1),
    Layer("concat4", "concat", ["conv4a_relu", "conv4b_relu"]),                            # 32x7x7
    *normalised("conv5", "concat4", out=48, kernel=3, stride=2),                           # 48x3x3
    Layer("pool5", "mean", ["conv5_relu"]),                                                # 48x1x1
    Layer("fc6", "fc", ["pool5"], CLASSES),                                                # 10
    Layer("prob", "softmax", ["fc6"]),
]
BY_NAME = {layer.name: layer for layer in LAYERS}


def channels(name):
    """How many channels the tensor `name` has."""
    layer = BY_NAME[name]
    if layer.kind == "concat":
        return sum(channels(bottom) for bottom in layer.bottoms)
    return layer.out or channels(layer.bottoms[0])


def weight_shapes():
    """The shape of every stored array, named 'layer.what', in the order of the layers."""
    shapes = {}
    for layer in LAYERS:
        if layer.kind == "conv":
            each = channels(layer.bottoms[0]) // layer.group
            shapes[layer.name + ".weight"] = (layer.out, each, layer.kernel, layer.kernel)
        elif layer.kind == "fc":
            shapes[layer.name + ".weight"] = (layer.out, channels(layer.bottoms[0]))
            shapes[layer.name + ".bias"] = (layer.out,)
        elif layer.kind == "bn":
            shapes[layer.name + ".mean"] = shapes[layer.name + ".variance"] = (channels(layer.name),)
        elif layer.kind == "scale":
            shapes[layer.name + ".gamma"] = shapes[layer.name + ".beta"] = (channels(layer.name),)
    return shapes


def load_weights(path=WEIGHTS):
    with np.load(path) as file:
        weights = {name: file[name] for name in file.files}
    shapes = {name: array.shape for name, array in weights.items()}
    if shapes != weight_shapes() or any(array.dtype != np.float32 for array in weights.values()):
        raise SystemExit(f"{path}: not the weights of this network (train.py makes them)")
    return weights


def normalise(pixels):
    """Pixels 0..255, shape N x 28 x 28, as the float32 input tensor N x 1 x 28 x 28."""
    return ((pixels.astype(np.float32) - np.float32(MEAN)) / np.float32(STD))[:, None]


def windows(x, layer, outside):
    """Every window of a layer, N x C x H x W x kernel x kernel; `outside` stands beyond the edges."""
    size = x.shape[2]
    room = size + 2 * layer.pad - layer.kernel
    steps = room // layer.stride if layer.kind == "conv" else -(-room // layer.stride)  # pooling rounds up
    after = max(layer.pad, steps * layer.stride + layer.kernel - size - layer.pad)
    edge = (layer.pad, after)
    x = np.pad(x, ((0, 0), (0, 0), edge, edge), constant_values=outside)
    view = np.lib.stride_tricks.sliding_window_view(x, (layer.kernel, layer.kernel), axis=(2, 3))
    return view[:, :, ::layer.stride, ::layer.stride][:, :, :steps + 1, :steps + 1]


def per_channel(array):
    return array[None, :, None, None]


def compute(layer, inputs, get):
    """The tensor of one layer from its inputs; get('what') is its stored array of that name."""
    x = inputs[0]
    if layer.kind == "conv":
        spots = windows(x, layer, 0.0)
        if layer.group == 1:
            return np.einsum("nchwij,ocij->nohw", spots, get("weight"), optimize=True)
        return np.einsum("nchwij,cij->nchw", spots, get("weight")[:, 0])
    if layer.kind == "bn":
        return (x - per_channel(get("mean"))) / np.sqrt(per_channel(get("variance")) + EPSILON)
    if layer.kind == "scale":
        return x * per_channel(get("gamma")) + per_channel(get("beta"))
    if layer.kind == "relu":
        return np.maximum(x, 0)
    if layer.kind == "max":
        return windows(x, layer, -np.inf).max(axis=(4, 5))
    if layer.kind == "add":
        return x + inputs[1]
    if layer.kind == "concat":
        return np.concatenate(inputs, axis=1)
    if layer.kind == "mean":
        return x.mean(axis=(2, 3), keepdims=True)
    if layer.kind == "fc":
        return x.reshape(len(x), -1) @ get("weight").T + get("bias")
    assert layer.kind == "softmax"
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def run(weights, x):
    """Every tensor of the network by name, in float64, for the input tensor x."""
    tensors = {"data": x.astype(np.float64)}
    for layer in LAYERS[1:]:
        inputs = [tensors[bottom] for bottom in layer.bottoms]
        tensors[layer.name] = compute(layer, inputs,
                                      lambda what: weights[f"{layer.name}.{what}"].astype(np.float64))
    return tensors


def accuracy(weights, pixels, labels, batch=500):
    """How many of the images the network names rightly."""
    right = 0
    for i in range(0, len(pixels), batch):
        answer = run(weights, normalise(pixels[i:i + batch]))["prob"].argmax(axis=1)
        right += int((answer == labels[i:i + batch]).sum())
    return right


def read_idx(path):
    """An array of the MNIST files: two zero bytes, type 8 (bytes), rank, sizes as big-endian words, data."""
    path = pathlib.Path(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if data[:3] != b"\0\0\x08":
        raise SystemExit(f"{path}: not an idx file of bytes")
    rank = data[3]
    shape = np.frombuffer(data, ">u4", rank, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_mnist(directory, part):
    """Images and labels of one part ('train' or 't10k')."""
    directory = pathlib.Path(directory)
    try:
        return (read_idx(directory / f"{part}-images-idx3-ubyte.gz"),
                read_idx(directory / f"{part}-labels-idx1-ubyte.gz"))
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename}: no such file (scripts/setup-data fetches it)") from None
