#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a network of 40 products in float32, and the same in float16 between two casts, and what to feed them."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(0)
weights = [rng.normal(0, 0.35, (16, 16)).astype(np.float32) for _ in range(40)]


def network(half):
    nodes, x = [], "x"
    if half:
        nodes.append(helper.make_node("Cast", [x], ["x16"], name="narrow", to=TensorProto.FLOAT16))
        x = "x16"
    for i in range(len(weights)):
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"product{i}"], name=f"product{i}"))
        nodes.append(helper.make_node("Relu", [f"product{i}"], [f"relu{i}"], name=f"relu{i}"))
        x = f"relu{i}"
    nodes.append(helper.make_node("Cast", [x], ["wide"], name="wide", to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Mul", ["wide", "third"], ["y"], name="y"))
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 16]) for n in "xy"]
    dtype = np.float16 if half else np.float32
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:],
                              [numpy_helper.from_array(w.astype(dtype), f"w{i}") for i, w in enumerate(weights)] +
                              [numpy_helper.from_array(np.array(1 / 3, np.float32), "third")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    return model


onnx.save(network(False), here / "float32.onnx")
onnx.save(network(True), here / "float16.onnx")
np.save(here / "x.npy", rng.normal(0, 1, (4, 16)).astype(np.float32))
