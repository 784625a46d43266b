#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small classifier of pictures as a training tool leaves it (float NCHW, RGB, normalised, batch open), as a
compiler that takes pixels would build it (uint8 NHWC, the same arithmetic inside), with quantization (QDQ), and a
picture."""
import pathlib
import struct
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
SIZE = 24
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
weights = {
    "conv_w": rng.normal(0, 0.3, (6, 3, 3, 3)).astype(np.float32),
    "conv_b": rng.normal(0, 0.1, 6).astype(np.float32),
    "fc_w": rng.normal(0, 0.4, (6, 12)).astype(np.float32),
    "fc_b": rng.normal(0, 0.1, 12).astype(np.float32),
}


def body(image, quantized):
    node, nodes = helper.make_node, []

    def rounded(name, scale):
        if not quantized:
            return name
        constants.append(numpy_helper.from_array(np.array(scale, np.float32), name + "_scale"))
        constants.append(numpy_helper.from_array(np.array(128, np.uint8), name + "_zero"))
        nodes.append(node("QuantizeLinear", [name, name + "_scale", name + "_zero"], [name + "_q"], name=name + "_quant"))
        nodes.append(node("DequantizeLinear", [name + "_q", name + "_scale", name + "_zero"], [name + "_dq"],
                          name=name + "_dequant"))
        return name + "_dq"

    constants = [numpy_helper.from_array(w, name) for name, w in weights.items()]
    image = rounded(image, 0.0207)
    nodes.append(node("Conv", [image, "conv_w", "conv_b"], ["conv"], name="conv", pads=[1, 1, 1, 1]))
    nodes.append(node("Relu", ["conv"], ["relu"], name="relu"))
    relu = rounded("relu", 0.05)
    nodes.append(node("GlobalAveragePool", [relu], ["pool"], name="pool"))
    nodes.append(node("Flatten", ["pool"], ["flat"], name="flat"))
    nodes.append(node("Gemm", ["flat", "fc_w", "fc_b"], ["scores"], name="scores"))
    return nodes, constants


def save(name, port, nodes, constants):
    batch = port.type.tensor_type.shape.dim[0]
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch.dim_param or batch.dim_value, 12])
    graph = helper.make_graph(nodes, name, [port], [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model)
    onnx.save(model, here / (name + ".onnx"))


image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, SIZE, SIZE])
save("float", image, *body("image", False))
save("quantized", image, *body("image", True))

pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, [1, SIZE, SIZE, 3])
nodes, constants = body("image", False)
front = [
    helper.make_node("Cast", ["pixels"], ["wide"], name="wide", to=TensorProto.FLOAT),
    helper.make_node("Transpose", ["wide"], ["planes"], name="planes", perm=[0, 3, 1, 2]),
    helper.make_node("Sub", ["planes", "mean"], ["centred"], name="centred"),
    helper.make_node("Div", ["centred", "std"], ["image"], name="normalised"),
]
constants += [numpy_helper.from_array((255 * MEAN).reshape(1, 3, 1, 1), "mean"),
              numpy_helper.from_array((255 * STD).reshape(1, 3, 1, 1), "std")]
save("compiled", pixels, front + nodes, constants)

# A picture of 40 x 30 with smooth colours, as PNG.
y, x = np.mgrid[0:30, 0:40]
picture = np.stack([6 * x, 8 * y, 255 - 3 * (x + y)], axis=2).clip(0, 255).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(b"\0" + row.tobytes() for row in picture)
(here / "picture.png").write_bytes(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
