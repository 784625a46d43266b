# SPDX-License-Identifier: Apache-2.0
"""Real trained networks and what they are fed: photos, prepared as each was trained, a ramp, and noise.

They are not ours to ship: looked for in $PLUMB_SHARED, or in shared/ beside the clone.
"""
import functools
import os
import pathlib

import numpy

import changed_models as models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("PLUMB_SHARED", ROOT.parent / "shared"))
PHOTOS = SHARED / "data/photos"
IMAGENET = ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]


def photo(name, *how):
    return ["--input", str(PHOTOS / name), *how]


def classified(name, crop, *how):
    return photo(name, "--resize", "short:256", "--crop", crop, *how)


# Of each the shapes of its inputs, and photos by what they show.
SQUEEZE = ["--mean", "104,117,123", "--input-color", "BGR"]
MOBILE = ["--scale", "1/255", *IMAGENET, "--input-color", "RGB"]
FACES = {"a face": photo("astronaut.png", "--input-color", "RGB", "--mean", "127", "--std", "128"),
         "a harbour": photo("china.jpg", "--input-color", "RGB", "--mean", "127", "--std", "128")}  # fmt: skip
FACE_SHAPE = {"input": (1, 3, 240, 320)}
TEXT = ["--input-color", "BGR", "--mean", "127.5", "--std", "127.5"]
TRACKED = ["--input", f"search={PHOTOS / 'astronaut.png'}", "--input-color", "RGB", "--scale", "1/255", *IMAGENET]
NETWORKS = {
    "squeezenet_v1.1_fp16w": ({"data": (1, 3, 227, 227)}, {"a cat": classified("chelsea.png", "227", *SQUEEZE),
                                                          "coffee": classified("coffee.png", "227", *SQUEEZE)}),
    "rfb320": (FACE_SHAPE, FACES),
    "rfb320_raw": (FACE_SHAPE, FACES),
    "rfb320_bn_folded": (FACE_SHAPE, FACES),
    "mobilenet_v2_dequantised_fp32": ({"image": (1, 3, 244, 244)}, {"a cat": classified("chelsea.png", "244", *MOBILE),
                                                                   "coffee": classified("coffee.png", "244", *MOBILE)}),
    "ppocr_v4_det": ({"x": (1, 3, 64, 64)}, {
        "a line": ["--shape", "x:1,3,64,320", *photo("ocr_line.png", *TEXT)],
        "a page": ["--shape", "x:1,3,192,384", *photo("page.png", "--input-color", "BGR", "--scale", "1/255", *IMAGENET)]}),
    "ppocr_v4_rec": ({"x": (1, 3, 48, 64)}, {"a line": ["--shape", "x:1,3,48,320", *photo("ocr_line.png", *TEXT)]}),
    "vittrack": ({"template": (1, 3, 128, 128), "search": (1, 3, 256, 256)}, {
        "a face": ["--input", f"template={PHOTOS / 'astronaut.png'}", *TRACKED],
        "another": ["--input", f"template={PHOTOS / 'chelsea.png'}", *TRACKED]}),
    "yunet_n_320": ({"input": (1, 3, 320, 320)}, {"a face": photo("astronaut.png", "--input-color", "BGR"),
                                                 "coffee": photo("coffee.png", "--input-color", "BGR")}),
    "mnist_cnn": ({"Input3": (1, 1, 28, 28)}, {"a digit": ["--input", f"{SHARED / 'data/mnist/t10k-images-idx3-ubyte.gz'}#3"]}),
}  # fmt: skip


def are_here():
    return (SHARED / "models/onnx").is_dir()


@functools.lru_cache(maxsize=None)
def load(name):
    """Shared: copy it before it is changed."""
    return models.loaded(SHARED / "models/onnx" / f"{name}.onnx")


def shapes_of(name):
    """The option for axes that a model leaves open."""
    return [word for each, shape in NETWORKS[name][0].items() for word in ("--shape", f"{each}:{','.join(map(str, shape))}")]


def feeds_of(name):
    return [*NETWORKS[name][1], "a ramp", "noise"]


def fed(name, feed, work):
    """Options. A ramp is written below a directory."""
    if feed == "noise":
        return shapes_of(name)
    if feed != "a ramp":
        return NETWORKS[name][1][feed]
    words = []
    for each, shape in NETWORKS[name][0].items():
        file = work.resolve() / f"ramp_{name}_{each}.npy"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            numpy.save(file, (numpy.arange(numpy.prod(shape)) * 37 % 255 / 255 - 0.5).astype(numpy.float32).reshape(shape))
        words += ["--input", f"{each}={file}"]
    return words


def folded_by_others(name, original):
    """A network without the normalisations of the original: its convolutions kept their names, and give what those gave."""
    net = load(name).copy()
    there = {each for node in original.graph.node for each in node.output}
    normed = {node.input[0]: node.output[0] for node in original.graph.node if node.op_type == "BatchNormalization"}
    net.truth = {own: normed.get(own, own) for own in net.truth if own in there}
    return net
