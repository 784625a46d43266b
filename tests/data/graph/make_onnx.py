#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Makes the ONNX models of this folder, with what real exporters leave odd: nodes without names,
# weights listed as inputs, inputs and outputs that are not given, bodies that use tensors from
# around them.
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

HERE = os.path.dirname(os.path.abspath(__file__))


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def weights(name, *shape):
    return numpy_helper.from_array(np.zeros(shape, np.float32), name)


def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [tensor(output, None)])


inner = helper.make_node(
    "If", ["flag"], ["inner_out"], name="inner",
    then_branch=branch("body", [helper.make_node("Neg", ["mixed"], ["n"], name="deep")], "n"),
    else_branch=branch("body", [helper.make_node("Identity", ["x"], ["d"])], "d"))
body = helper.make_graph(
    [helper.make_node("Add", ["state", "bias"], ["state_out"], name="step"),
     helper.make_node("Identity", ["going"], ["going_out"])],
    "body", [tensor("i", [], TensorProto.INT64), tensor("going", [], TensorProto.BOOL), tensor("state", None)],
    [tensor("going_out", [], TensorProto.BOOL), tensor("state_out", None)])
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "w", "bias"], ["c"]),
     helper.make_node("Split", ["c"], ["left", "right"], name="split"),
     helper.make_node("Clip", ["left", "", "limit"], ["clipped"], name="clip"),
     helper.make_node("Dropout", ["right"], ["kept", ""], name="drop"),
     helper.make_node("Constant", [], ["limit"], value=weights("v")),
     helper.make_node("Concat", ["clipped", "kept", "x2"], ["mixed"], name="mix"),
     helper.make_node("If", ["flag"], ["chosen"], name="choose",
                      then_branch=branch("body", [inner], "inner_out"),
                      else_branch=branch("body", [helper.make_node("Relu", ["mixed"], ["r"])], "r")),
     helper.make_node("Loop", ["", "flag", "chosen"], ["looped"], body=body, name="loop"),
     helper.make_node("QuantizeLinear", ["looped", "scale"], ["q"], name="quantize")],
    "odd",
    [tensor("x", [1, 3, "h", None]), tensor("w", [4, 3, 1, 1]), tensor("x2", None, TensorProto.FLOAT16),
     tensor("flag", [], TensorProto.BOOL)],
    [tensor("q", None, TensorProto.UINT8), tensor("c", [1, 4, "h", -1]), tensor("x", [1, 3, "h", None])],
    initializer=[weights("w", 4, 3, 1, 1), weights("bias", 4), weights("scale")],
    value_info=[tensor("left", [1, 2, 8, 8]), tensor("kept", [1, 2, 8, 8], TensorProto.BFLOAT16)])
save(helper.make_model(graph, producer_name="make_onnx.py", ir_version=8), os.path.join(HERE, "odd.onnx"))
