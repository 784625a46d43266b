# SPDX-License-Identifier: Apache-2.0
"""Caffe networks of many layers with random parameters: text, weights, and what numpy says that some layers give.

Every network is a family: one input, and layers of one kind that read it. caffe.proto of BVLC/caffe describes both files.
OpenCV does not know every parameter, or understands it otherwise than Caffe: such layers are in families of their own.
"""
import random

import numpy


def varint(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


class Network:
    """Layers as they are written, and the blobs of those that have some."""

    def __init__(self, name, shape, old_input=False, by_opencv=True):
        self.name, self.by_opencv = name, by_opencv
        self.data = numpy.random.default_rng(7).standard_normal(shape).astype(numpy.float32)
        self.layers, self.weights, self.expected = [], b"", {}
        self.random = random.Random(name)
        self.numbers = numpy.random.default_rng(sum(map(ord, name)))
        dims = " ".join(f"dim: {size}" for size in shape)
        if old_input:
            self.head = f'input: "data"\ninput_shape {{ {dims} }}\n'
        else:
            self.head = f'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n'

    def text(self):
        return f'name: "{self.name}"\n' + self.head + "".join(self.layers)

    def caffemodel(self):
        return field(1, self.name.encode()) + self.weights

    def add(self, kind, parameters="", blobs=(), bottoms=("data",), tops=None, name=None, expected=None):
        """A layer; its name. `expected` is what its first top should be."""
        name = name or f"{kind.lower()}_{len(self.layers)}"
        tops = tops or [name]
        lines = [f'name: "{name}"', f'type: "{kind}"', *(f'bottom: "{b}"' for b in bottoms), *(f'top: "{t}"' for t in tops)]
        self.layers.append("layer { " + " ".join(lines) + " " + parameters + " }\n")
        if blobs:
            self.add_weights(name, kind, blobs)
        if expected is not None:
            self.expected[name] = expected
        return name

    def add_weights(self, name, kind, blobs):
        content = field(1, name.encode()) + field(2, kind.encode())
        for blob in blobs:
            dims = b"".join(varint(size) for size in blob.shape)
            content += field(7, field(7, field(1, dims)) + field(5, blob.astype("<f4").tobytes()))
        self.weights += field(100, content)

    def normal(self, *shape):
        return self.numbers.standard_normal(shape).astype(numpy.float32)

    def write(self, directory):
        (directory / f"{self.name}.prototxt").write_text(self.text())
        (directory / f"{self.name}.caffemodel").write_bytes(self.caffemodel())
        return directory / f"{self.name}.prototxt"


def sizes(net, name, values):
    """height and width in one of the ways to write them."""
    high, wide = values
    stem = "kernel" if name == "kernel_size" else name
    if high == wide and net.random.random() < 0.5:
        return f"{name}: {high} "
    return f"{stem}_h: {high} {stem}_w: {wide} "


def convolutions():
    net = Network("convolution", (2, 12, 17, 15))
    for i in range(24):
        group = net.random.choice([1, 1, 2, 3, 4, 12])
        outputs = group * net.random.choice([1, 2, 3])
        kernel = [net.random.randint(1, 5) for _ in range(2)]
        dilation = net.random.choice([1, 1, 2, 3])
        bias = net.random.random() < 0.7
        text = f"num_output: {outputs} group: {group} " + sizes(net, "kernel_size", kernel)
        text += sizes(net, "stride", [net.random.randint(1, 3) for _ in range(2)])
        text += sizes(net, "pad", [net.random.randint(0, 3) for _ in range(2)])
        if dilation > 1:
            text += f"dilation: {dilation} "
        if not bias:
            text += "bias_term: false "
        blobs = [net.normal(outputs, 12 // group, *kernel)] + ([net.normal(outputs)] if bias else [])
        net.add("Convolution", f"convolution_param {{ {text} }}", blobs)
    return net


def deconvolutions():
    net = Network("deconvolution", (1, 6, 7, 9))
    for i in range(16):
        group = net.random.choice([1, 1, 2, 3, 6])
        outputs = group * net.random.choice([1, 2])
        kernel = [net.random.randint(1, 5) for _ in range(2)]
        bias = net.random.random() < 0.7
        text = f"num_output: {outputs} group: {group} " + sizes(net, "kernel_size", kernel)
        text += sizes(net, "stride", [net.random.randint(1, 3) for _ in range(2)])
        text += sizes(net, "pad", [net.random.randint(0, side - 1) for side in kernel])
        text += "" if bias else "bias_term: false "
        blobs = [net.normal(6, outputs // group, *kernel)] + ([net.normal(outputs)] if bias else [])
        net.add("Deconvolution", f"convolution_param {{ {text} }}", blobs)
    return net


def pooled(data, method, kernel, stride, pad, up=True):
    """Caffe's pooling by its definition; None where a window has nothing in it."""
    counts = []
    for size, k, s, p in zip(data.shape[2:], kernel, stride, pad):
        count = (-(-(size + 2 * p - k) // s) if up else (size + 2 * p - k) // s) + 1
        if any(pad) and (count - 1) * s >= size + p:
            count -= 1
        if (count - 1) * s >= size + p:
            return None
        counts.append(count)
    out = numpy.zeros((*data.shape[:2], *counts), numpy.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            begin = [i * stride[0] - pad[0], j * stride[1] - pad[1]]
            end = [min(b + k, size + p) for b, k, size, p in zip(begin, kernel, data.shape[2:], pad)]
            area = (end[0] - begin[0]) * (end[1] - begin[1])
            part = data[:, :, max(begin[0], 0) : min(end[0], data.shape[2]), max(begin[1], 0) : min(end[1], data.shape[3])]
            out[:, :, i, j] = part.max((2, 3)) if method == "MAX" else part.sum((2, 3)) / area
    return out


def poolings(name, shape, by_opencv):
    """Kernels, strides and padding of all kinds on one size, with the last windows over the edge or not."""
    net = Network(name, shape, by_opencv=by_opencv)
    for method in ("MAX", "AVE"):
        for i in range(28):
            kernel = [net.random.randint(1, min(5, side)) for side in shape[2:]]
            stride = [net.random.randint(1, 4) for _ in range(2)]
            pad = [net.random.randint(0, side - 1) if i % 2 else 0 for side in kernel]
            up = by_opencv or i % 4 < 2  # it does not know round_mode
            expected = pooled(net.data, method, kernel, stride, pad, up)
            # A window outside goes, in Caffe if there is any padding, in OpenCV if there is some along that axis.
            apart = [pooled(net.data, method, kernel, stride, [p, p], up) for p in pad if p < min(kernel)]
            if expected is None or by_opencv and any(each is None for each in apart):
                continue
            text = f"pool: {method} " + sizes(net, "kernel_size", kernel)
            text += sizes(net, "stride", stride) + sizes(net, "pad", pad) + ("" if up else "round_mode: FLOOR ")
            net.add("Pooling", f"pooling_param {{ {text} }}", expected=expected)
        everywhere = net.data.max((2, 3), keepdims=True) if method == "MAX" else net.data.mean((2, 3), keepdims=True)
        net.add("Pooling", f"pooling_param {{ pool: {method} global_pooling: true }}", expected=everywhere)
    return net


def inner_products():
    net = Network("inner_product", (3, 4, 5, 6))
    for axis, inner in ((1, 120), (2, 30), (-1, 6)):
        for bias in (True, False):
            text = f"num_output: 7 axis: {axis} bias_term: {str(bias).lower()}"
            net.add("InnerProduct", f"inner_product_param {{ {text} }}", [net.normal(7, inner)] + ([net.normal(7)] if bias else []))
    return net


def by_numpy():
    """What OpenCV 4.6 refuses, or does in another way than Caffe's definition."""
    net = Network("by_numpy", (2, 6, 5, 4), by_opencv=False)
    x = net.data
    for axis, inner in ((1, 120), (2, 20), (-1, 4)):
        weight, bias = net.normal(inner, 7), net.normal(7)
        text = f"num_output: 7 axis: {axis} transpose: true"
        net.add("InnerProduct", f"inner_product_param {{ {text} }}", [weight, bias],
                expected=x.reshape(*x.shape[:axis], inner) @ weight + bias)  # fmt: skip
    factor, offset = net.normal(6, 5, 4), net.normal(6, 5, 4)
    net.add("Scale", "scale_param { axis: 1 num_axes: 3 bias_term: true }", [factor, offset], expected=x * factor + offset)
    net.add("Scale", "scale_param { axis: 0 num_axes: -1 }", [net.normal(*x.shape) * 0 + 2], expected=x * 2)
    net.add("Scale", "scale_param { axis: -1 }", [offset[0, 0]], expected=x * offset[0, 0])
    net.add("Bias", "", [offset[:, 0, 0].copy()], expected=x + offset[:, :1, :1])
    net.add("Bias", "bias_param { axis: 2 num_axes: 2 }", [offset[0]], expected=x + offset[0])
    channels = net.add("Pooling", "pooling_param { pool: AVE global_pooling: true }", expected=x.mean((2, 3), keepdims=True))
    flat = net.add("Flatten", bottoms=[channels], expected=x.mean((2, 3)))
    net.add("Scale", "scale_param { axis: 0 }", bottoms=["data", flat], expected=x * x.mean((2, 3), keepdims=True))
    net.add("ShuffleChannel", "shuffle_channel_param { group: 3 }", expected=x.reshape(2, 3, 2, 5, 4).swapaxes(1, 2).reshape(x.shape))
    net.add("Dropout", "dropout_param { dropout_ratio: 0.25 scale_train: false }", expected=x * 0.75)
    net.add("Log", "log_param { base: 2 scale: 0.1 shift: 3 }", expected=numpy.log2(0.1 * x + 3))
    net.add("Log", "log_param { shift: 5 }", expected=numpy.log(x + 5))
    net.add("Exp", "exp_param { base: 10 scale: 0.2 }", expected=10 ** (0.2 * x))
    net.add("Permute", "permute_param { order: 0 order: 2 }", expected=x.transpose(0, 2, 1, 3))
    squares = numpy.pad(x * x, ((0, 0), (2, 2), (0, 0), (0, 0)))
    around = sum(squares[:, i : i + 6] for i in range(5))
    net.add("LRN", "lrn_param { local_size: 5 alpha: 0.7 beta: 0.75 k: 1.5 }", expected=x / (1.5 + 0.7 / 5 * around) ** 0.75)
    norm = numpy.sqrt((x * x).sum(1, keepdims=True) + 1e-10)
    net.add("Normalize", "norm_param { across_spatial: false }", [factor[0, 0, :1]], expected=x / norm * factor[0, 0, 0])
    norm = numpy.sqrt((x * x).sum((1, 2, 3), keepdims=True) + 1e-10)
    net.add("Normalize", "norm_param { channel_shared: false }", [offset[:, 0, 0].copy()], expected=x / norm * offset[:, :1, :1])
    for text, part in (("", x[:, :3]), ("axis: 3", x[..., :2]), ("axis: 3 slice_point: 1", x[..., :1]), ("slice_point: 2", x[:, :2]), ("slice_dim: 2 slice_point: 4", x[:, :, :4])):
        name = f"slice_{len(net.layers)}"
        net.add("Slice", f"slice_param {{ {text} }}", tops=[f"{name}_a", f"{name}_b"], name=name, expected=part)
    net.add("Concat", "concat_param { concat_dim: 0 }", bottoms=["data", "data"], expected=numpy.concatenate([x, x]))
    return net


def normalizations():
    net = Network("normalization", (2, 6, 9, 8))
    for size in (1, 3, 5, 7):
        net.add("LRN", f"lrn_param {{ local_size: {size} alpha: 0.7 beta: 0.75 }}")
        net.add("LRN", f"lrn_param {{ local_size: {size} alpha: 0.7 beta: 0.6 norm_region: WITHIN_CHANNEL }}")
    for factor in (1.0, 12.5, 0.0):
        blobs = [net.normal(6), numpy.abs(net.normal(6)) + 0.1, numpy.array([factor], numpy.float32)]
        below = net.add("BatchNorm", "batch_norm_param { eps: 1e-3 }" if factor == 1 else "", blobs)
        net.add("Scale", "scale_param { bias_term: true }", [net.normal(6), net.normal(6)], bottoms=[below])
    net.add("Scale", "", [net.normal(6)])
    for both, count in (("true", 1), ("false", 6)):
        net.add("Normalize", f"norm_param {{ across_spatial: {both} channel_shared: {both} }}", [net.normal(count) + 3])
    for channels in ("true", "false"):
        for variance in ("true", "false"):
            net.add("MVN", f"mvn_param {{ across_channels: {channels} normalize_variance: {variance} }}")
    return net


def elements():
    net = Network("element", (2, 6, 5, 4))
    net.add("ReLU")
    net.add("ReLU", "relu_param { negative_slope: 0.1 }")
    net.add("PReLU", "", [net.normal(6)])
    net.add("PReLU", "prelu_param { channel_shared: true }", [net.normal(1)])
    for kind in ("Sigmoid", "TanH", "AbsVal", "BNLL", "ReLU6"):
        net.add(kind)
    net.add("ELU")
    net.add("ELU", "elu_param { alpha: 0.3 }")
    net.add("Dropout", "dropout_param { dropout_ratio: 0.3 }")
    for power, scale, shift in ((1, 1, 0), (2, 1, 0), (1, 3, 0), (1, 1, 2), (3, 0.5, -1), (2, 0.5, 1), (0, 2, 1)):
        net.add("Power", f"power_param {{ power: {power} scale: {scale} shift: {shift} }}")
    for text in ("", "base: 2 scale: 0.5 shift: 1", "scale: 0.3"):
        net.add("Exp", f"exp_param {{ {text} }}")
    for axis in (1, 2, 3, -1):
        net.add("Softmax", f"softmax_param {{ axis: {axis} }}")
    twin, third = net.add("TanH"), net.add("Sigmoid")
    for text in ("", "operation: SUM coeff: 1 coeff: -1", "coeff: 0.5 coeff: 2", "operation: PROD", "operation: MAX"):
        net.add("Eltwise", f"eltwise_param {{ {text} }}", bottoms=["data", twin])
    for text in ("", "coeff: 0.5 coeff: 2 coeff: -1", "operation: PROD", "operation: MAX"):
        net.add("Eltwise", f"eltwise_param {{ {text} }}", bottoms=["data", twin, third])
    return net


def moved():
    net = Network("shape", (2, 6, 8, 4))
    twin = net.add("TanH")
    for axis in (0, 1, 2, -1):
        net.add("Concat", f"concat_param {{ axis: {axis} }}", bottoms=["data", twin, "data"])
    net.add("Slice", "slice_param { slice_point: 1 slice_point: 4 }", tops=["slice_a", "slice_b", "slice_c"], name="slice")
    net.add("Split", tops=["split_a", "split_b"], name="split")
    small = net.add("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 1 }")
    net.add("Crop", "crop_param { axis: 2 offset: 1 }", bottoms=["data", small])
    net.add("Crop", "crop_param { axis: 2 offset: 2 offset: 0 }", bottoms=["data", small])
    net.add("Crop", "", bottoms=["data", small])
    for text in ("dim: 0 dim: -1", "dim: 0 dim: 0 dim: 32", "dim: 2 dim: 3 dim: 2 dim: 32", "dim: 0 dim: 6 dim: -1 dim: 8"):
        net.add("Reshape", f"reshape_param {{ shape {{ {text} }} }}")
    net.add("Reshape", "reshape_param { shape { dim: 3 dim: -1 } axis: 1 num_axes: 2 }")
    for order in ((0, 2, 3, 1), (0, 3, 1, 2), (1, 0, 2, 3), (0, 1, 3, 2)):
        net.add("Permute", "permute_param { " + " ".join(f"order: {axis}" for axis in order) + " }")
    for text in ("", "axis: 2", "axis: 1 end_axis: 2", "axis: 0 end_axis: 1"):
        net.add("Flatten", f"flatten_param {{ {text} }}")
    return net


def in_place():
    """Layers that overwrite what they read."""
    net = Network("in_place", (1, 4, 6, 6), old_input=True)
    net.add("Convolution", "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }", [net.normal(4, 4, 3, 3), net.normal(4)], tops=["conv"], name="conv")
    net.add("BatchNorm", "", [net.normal(4), numpy.abs(net.normal(4)) + 1, numpy.ones(1, numpy.float32)], bottoms=["conv"], tops=["conv"], name="norm")
    net.add("Scale", "scale_param { bias_term: true }", [net.normal(4), net.normal(4)], bottoms=["conv"], tops=["conv"], name="scale")
    net.add("ReLU", "", bottoms=["conv"], tops=["conv"], name="relu")
    net.add("Dropout", "", bottoms=["conv"], tops=["conv"], name="drop")
    net.add("InnerProduct", "inner_product_param { num_output: 3 }", [net.normal(3, 144), net.normal(3)], bottoms=["conv"], tops=["score"], name="score")
    net.add("Softmax", "", bottoms=["score"], tops=["prob"], name="prob")
    return net


def old_layers():
    """Types in capitals, as before 2015, with blobs of four axes."""
    net = Network("old_layers", (1, 3, 9, 9), old_input=True)

    def add(name, kind, parameters, blobs, bottom, top):
        net.layers.append(f'layers {{ name: "{name}" type: {kind} bottom: "{bottom}" top: "{top}" {parameters} }}\n')
        content = field(4, name.encode())
        for blob in blobs:
            dims = (1,) * (4 - blob.ndim) + blob.shape
            old = b"".join(varint(number + 1 << 3) + varint(size) for number, size in enumerate(dims))
            content += field(6, old + field(5, blob.astype("<f4").tobytes()))
        if blobs:
            net.weights += field(2, content)

    add("conv1", "CONVOLUTION", "convolution_param { num_output: 5 kernel_size: 3 }", [net.normal(5, 3, 3, 3), net.normal(5)], "data", "conv1")
    add("relu1", "RELU", "", [], "conv1", "conv1")
    add("pool1", "POOLING", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }", [], "conv1", "pool1")
    add("norm1", "LRN", "lrn_param { local_size: 3 alpha: 0.1 }", [], "pool1", "norm1")
    add("fc1", "INNER_PRODUCT", "inner_product_param { num_output: 4 }", [net.normal(4, 80), net.normal(4)], "norm1", "fc1")
    add("drop1", "DROPOUT", "", [], "fc1", "fc1")
    add("tanh1", "TANH", "", [], "fc1", "tanh1")
    add("prob", "SOFTMAX", "", [], "tanh1", "prob")
    return net


def siblings(seed):
    """Layers that read the same few blobs: an Eltwise may add, multiply or take the largest, and what ONNX needs several nodes for has helpers."""
    net = Network(f"siblings_{seed}", (1, 4, 5, 3))
    rng = random.Random(seed)
    blobs = ["data", net.add("TanH", name="tanh"), net.add("Sigmoid", name="sigmoid")]
    sums = ["", "operation: SUM coeff: 1 coeff: -1", "coeff: 0.5 coeff: 2", "operation: PROD", "operation: MAX"]
    for i in range(rng.randint(4, 9)):
        read = rng.sample(blobs[-4:] if rng.random() < 0.5 else blobs[:3], 2)
        kind = rng.choice([*(["Eltwise"] * 5), "Power", "Power", "Scale", "ReLU", "AbsVal"])
        if kind == "Eltwise":
            net.add(kind, f"eltwise_param {{ {rng.choice(sums)} }}", bottoms=read, name=f"l{i}")
        elif kind == "Scale":
            net.add(kind, "scale_param { bias_term: true }", [net.normal(4), net.normal(4)], bottoms=read[:1], name=f"l{i}")
        else:
            numbers = f"power: {rng.choice([1, 2])} scale: {rng.choice([1, 0.5, 3])} shift: {rng.choice([0, 1, -0.5])}"
            net.add(kind, f"power_param {{ {numbers} }}" if kind == "Power" else "", bottoms=read[:1], name=f"l{i}")
        blobs.append(f"l{i}")
    unread = [blob for blob in blobs[1:] if f'bottom: "{blob}"' not in "".join(net.layers)]
    net.add("Concat", bottoms=unread if len(unread) > 1 else [*unread, "data"], name="out")
    return net


def families():
    yield from (convolutions(), deconvolutions(), inner_products(), normalizations(), elements(), moved(), in_place(), old_layers())
    yield by_numpy()
    for shape in ((2, 3, 12, 8), (1, 2, 7, 13), (1, 2, 5, 3)):
        yield poolings(f"pooling_{shape[2]}", shape, True)
        yield poolings(f"pooling_{shape[2]}_numpy", shape, False)
