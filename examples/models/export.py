#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the trained network as ONNX (digits.onnx) and as Caffe (digits.prototxt, digits.caffemodel).

Both hold the same float32 numbers, and a tensor has one name in both: ONNX nodes and their outputs are
named after the Caffe layers. Two things differ, as they do in converted models everywhere: Caffe's
'_bn' and '_scale' layers are one BatchNormalization, which is called '_scale' because it computes that
layer's output, and ONNX flattens before the fully connected layer.

usage: examples/models/export.py [--weights FILE] [-o DIRECTORY]     needs python3-numpy, python3-onnx
"""
import argparse
import pathlib
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import network

# Caffe stores sums of means and variances and what to divide them by, which tends to 1000 in training.
# A power of two keeps the numbers exact, and any but 1 shows whether a reader remembers to divide.
FACTOR = 1024.0


# --- ONNX

def onnx_node(layer):
    """The operator, its inputs and its attributes; None for what ONNX does in the layer after it."""
    if layer.kind == "bn":
        return None
    if layer.kind == "conv":
        return "Conv", [*layer.bottoms, layer.name + ".weight"], dict(
            kernel_shape=[layer.kernel] * 2, strides=[layer.stride] * 2, pads=[layer.pad] * 4, group=layer.group)
    if layer.kind == "scale":
        bn = network.BY_NAME[layer.bottoms[0]]
        return "BatchNormalization", [*bn.bottoms, layer.name + ".gamma", layer.name + ".beta",
                                      bn.name + ".mean", bn.name + ".variance"], dict(epsilon=network.EPSILON)
    if layer.kind == "max":
        return "MaxPool", layer.bottoms, dict(
            kernel_shape=[layer.kernel] * 2, strides=[layer.stride] * 2, ceil_mode=1)
    if layer.kind == "fc":
        return "Gemm", [layer.bottoms[0] + "_flat", layer.name + ".weight", layer.name + ".bias"], dict(transB=1)
    return {"relu": ("Relu", layer.bottoms, {}),
            "add": ("Add", layer.bottoms, {}),
            "concat": ("Concat", layer.bottoms, dict(axis=1)),
            "mean": ("GlobalAveragePool", layer.bottoms, {}),
            "softmax": ("Softmax", layer.bottoms, dict(axis=1))}[layer.kind]


def onnx_model(weights):
    nodes = []
    for layer in network.LAYERS[1:]:
        found = onnx_node(layer)
        if not found:
            continue
        kind, inputs, attributes = found
        if kind == "Gemm":
            nodes.append(helper.make_node("Flatten", layer.bottoms, [inputs[0]], inputs[0], axis=1))
        nodes.append(helper.make_node(kind, inputs, [layer.name], layer.name, **attributes))
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 1, 28, 28])],
        [helper.make_tensor_value_info("prob", TensorProto.FLOAT, [1, network.CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, producer_name="plumbline-example", ir_version=7,
                              opset_imports=[helper.make_opsetid("", 13)])
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


# --- Caffe, as caffe.proto describes it

def caffe_layer(layer, weights):
    """The layer type, its parameters as text, and its arrays."""
    name = layer.name
    if layer.kind == "input":
        return "Input", "input_param { shape { dim: 1 dim: 1 dim: 28 dim: 28 } }", []
    if layer.kind == "conv":
        text = f"num_output: {layer.out} bias_term: false kernel_size: {layer.kernel}"
        for field, usual in ("stride", 1), ("pad", 0), ("group", 1):
            if getattr(layer, field) != usual:
                text += f" {field}: {getattr(layer, field)}"
        return "Convolution", f"convolution_param {{ {text} }}", [weights[name + ".weight"]]
    if layer.kind == "bn":
        blobs = [weights[name + ".mean"] * FACTOR, weights[name + ".variance"] * FACTOR,
                 np.float32([FACTOR])]
        return "BatchNorm", "batch_norm_param { use_global_stats: true eps: 1e-5 }", blobs
    if layer.kind == "scale":
        return "Scale", "scale_param { bias_term: true }", [weights[name + ".gamma"], weights[name + ".beta"]]
    if layer.kind == "max":
        return "Pooling", f"pooling_param {{ pool: MAX kernel_size: {layer.kernel} stride: {layer.stride} }}", []
    if layer.kind == "fc":
        return ("InnerProduct", f"inner_product_param {{ num_output: {layer.out} }}",
                [weights[name + ".weight"], weights[name + ".bias"]])
    return {"relu": ("ReLU", "", []),
            "add": ("Eltwise", "eltwise_param { operation: SUM }", []),
            "concat": ("Concat", "concat_param { axis: 1 }", []),
            "mean": ("Pooling", "pooling_param { pool: AVE global_pooling: true }", []),
            "softmax": ("Softmax", "", [])}[layer.kind]


def blob_of(name):
    """Where Caffe keeps the output of a layer. ReLU works in place: the layer before it writes into the
    blob that carries the ReLU's name, so that a blob, once all has run, holds the tensor of its name."""
    return next((user.name for user in network.LAYERS if user.kind == "relu" and name in user.bottoms), name)


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def field(number, data):
    """A length-delimited field of a protobuf message: text, a message inside, or packed numbers."""
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def caffe_blob(array):
    shape = b"".join(varint(size) for size in array.shape)
    return field(5, struct.pack(f"<{array.size}f", *array.ravel())) + field(7, field(1, shape))


def caffe_model(weights):
    """The text of the prototxt and the bytes of the caffemodel."""
    text, model = 'name: "digits"\n', field(1, "digits")
    for layer in network.LAYERS:
        kind, parameters, blobs = caffe_layer(layer, weights)
        lines = [f'name: "{layer.name}"', f'type: "{kind}"']
        lines += [f'bottom: "{blob_of(bottom)}"' for bottom in layer.bottoms]
        lines += [f'top: "{blob_of(layer.name)}"']
        lines += [parameters] * bool(parameters)
        text += "layer {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
        message = field(1, layer.name) + field(2, kind)
        message += b"".join(field(3, blob_of(bottom)) for bottom in layer.bottoms)
        message += field(4, blob_of(layer.name))
        model += field(100, message + b"".join(field(7, caffe_blob(blob)) for blob in blobs))
    return text, model


def main():
    options = argparse.ArgumentParser(description="Write the trained network as ONNX and as Caffe.")
    options.add_argument("--weights", default=network.WEIGHTS)
    options.add_argument("-o", dest="output", type=pathlib.Path, default=network.HERE)
    options = options.parse_args()
    weights = network.load_weights(options.weights)
    text, model = caffe_model(weights)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, data in [("digits.onnx", onnx_model(weights)), ("digits.prototxt", text.encode()),
                       ("digits.caffemodel", model)]:
        (options.output / name).write_bytes(data)
        print(f"{options.output / name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
