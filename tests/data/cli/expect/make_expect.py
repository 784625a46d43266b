#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes two ONNX test cases beside itself: Abs of three numbers, and Identity of a text, with what
numpy expects of them."""
import pathlib

import numpy
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent


def make(name, operator, element, shape, fed, expected):
    data = HERE / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    values = [helper.make_tensor_value_info(tensor, element, shape) for tensor in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], name=name)], name, values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (HERE / name / "model.onnx").write_bytes(model.SerializeToString())
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(fed, "x").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(expected, "y").SerializeToString())


NUMBERS = numpy.array([-1.5, 0, 2], numpy.float32)
make("abs", "Abs", TensorProto.FLOAT, [3], NUMBERS, numpy.abs(NUMBERS))
TEXT = numpy.array(["plumb"], object)
make("text", "Identity", TensorProto.STRING, [1], TEXT, TEXT)
