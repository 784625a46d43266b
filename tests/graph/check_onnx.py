#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks models with the onnx package: are they valid, and do all types and shapes fit each other?

Prints a line for each node with the types that were inferred for its outputs. Exit status 1 if a
model is not valid, 77 if there is no onnx package.

usage: check_onnx.py MODEL...
"""
import sys

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    sys.exit(77)


def type_text(value):
    tensor = value.type.tensor_type
    sizes = ",".join(str(d.dim_value) if d.HasField("dim_value") else "?" for d in tensor.shape.dim)
    return f"{onnx.TensorProto.DataType.Name(tensor.elem_type)}[{sizes}]"


def attribute_text(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.TENSOR:
        value = onnx.numpy_helper.to_array(value).tolist()
    if attribute.type == onnx.AttributeProto.GRAPH:
        value = [node.op_type for node in value.node]
    if attribute.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS):
        value = str(value)
    return f" {attribute.name}={value}"


for path in sys.argv[1:]:
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        sys.exit(f"{path}: {error}")
    types = {value.name: type_text(value) for value in [*inferred.graph.value_info, *inferred.graph.output]}
    for node in model.graph.node:
        outputs = " ".join(f"{name}:{types.get(name, '?')}" for name in node.output)
        print(f"{node.op_type}({','.join(node.input)}) -> {outputs}{''.join(map(attribute_text, node.attribute))}")
