#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes golden.onnx, a small network, target.onnx with four edits, and folded.onnx with its batch norm folded.

usage: tests/data/cli/edited/make_edited.py (writes beside itself)
"""
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent


def noise(seed, *shape):
    return numpy.random.RandomState(seed).standard_normal(shape).astype(numpy.float32)


def save(name, kernel, bias, norm, epsilon, dense, activation, producer="plumb"):
    nodes = [helper.make_node("Conv", ["x", "kernel", "bias"], ["c"], name="conv", pads=[1, 1, 1, 1])]
    weights = {"kernel": kernel, "bias": bias, "dense": dense}
    at = "c"
    if norm:
        weights.update({"scale": norm[0], "shift": norm[1], "mean": norm[2], "variance": norm[3]})
        nodes.append(helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"], name="norm",
                                      epsilon=epsilon))  # fmt: skip
        at = "n"
    nodes.append(helper.make_node("Relu", [at], ["r"], name="relu"))
    at = "r"
    if activation:
        nodes.append(helper.make_node("Tanh", [at], ["t"], name="tanh"))
        at = "t"
    nodes.append(helper.make_node("Flatten", [at], ["f"], name="flatten"))
    nodes.append(helper.make_node("MatMul", ["f", "dense"], ["y"], name="dense"))
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
                              [numpy_helper.from_array(values, key) for key, values in weights.items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name=producer)
    onnx.checker.check_model(model)
    (HERE / name).write_bytes(model.SerializeToString())


def main():
    kernel, bias, dense = noise(1, 8, 3, 3, 3), noise(2, 8), noise(3, 128, 5)
    norm = [1 + 0.1 * noise(4, 8), noise(5, 8), noise(6, 8), (0.5 + noise(7, 8) ** 2).astype(numpy.float32)]
    save("golden.onnx", kernel, bias, norm, 1e-5, dense, True)
    changed = kernel.copy()
    changed[7] = 0
    step = numpy.float32(numpy.abs(dense).max() / 7)
    save("target.onnx", changed, bias * numpy.float32(1.03), norm, 1e-3, numpy.round(dense / step) * step, False)
    factor = norm[0].astype(float) / numpy.sqrt(norm[3].astype(float) + numpy.float32(1e-5))
    save("folded.onnx", (kernel * factor.reshape(8, 1, 1, 1)).astype(numpy.float32),
         ((bias - norm[2]) * factor + norm[1]).astype(numpy.float32), None, 0, dense, True)  # fmt: skip


if __name__ == "__main__":
    main()
