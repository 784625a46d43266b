#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small models of this folder with the onnx package (python3-onnx 1.12).

usage: make_models.py [DIR]      DIR: where to (default: beside this script)
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
OUT = OUT if OUT.is_dir() else OUT.parent
RNG = np.random.default_rng(7)
F = TensorProto.FLOAT


def value(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def save(name, graph, opset=13, ir_version=8, check=True):
    model = helper.make_model(graph, producer_name="plumb tests", ir_version=ir_version,
                              opset_imports=[helper.make_opsetid("", opset)])
    if check:
        onnx.checker.check_model(model)
    model_path = OUT / name
    model_path.write_bytes(model.SerializeToString())
    return model


def make_chain():
    """Weights listed as inputs (IR 3), a Constant node, unnamed nodes, a branch in the data flow, types
    of inner tensors recorded for some."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Constant", [], ["two"], value=weight("", np.float32(2))),
        helper.make_node("Mul", ["r", "two"], ["m"], name="mul"),
        helper.make_node("Sigmoid", ["r"], ["s"], name="gate"),
        helper.make_node("Add", ["m", "s"], ["y"], name="add"),
        helper.make_node("Split", ["m"], ["left", "right"], name="split", axis=1),
        helper.make_node("Exp", ["left"], ["unread"], name="dead"),
    ]
    w, b = floats(2, 1, 3, 3), np.float32([0.5, 2])  # so that not all ends at the Relu
    graph = helper.make_graph(
        nodes, "chain",
        [value("x", ["N", 1, 4, 4]), value("w", w.shape), value("b", b.shape)],
        [value("y", ["N", 2, 4, 4])], [weight("w", w), weight("b", b)],
        value_info=[value("r", ["N", 2, 4, 4]), value("m", ["N", 2, 4, 4])])
    save("chain.onnx", graph, opset=11, ir_version=3)


def make_faults():
    """The chain with a fault: a filter of the convolution, the constant, both."""
    for name, faults in {"chain_bad_conv": ["conv"], "chain_bad_mul": ["mul"], "chain_bad_both": ["conv", "mul"]}.items():
        model = onnx.load(OUT / "chain.onnx")
        if "conv" in faults:
            w = numpy_helper.to_array(model.graph.initializer[0]).copy()
            w[1] *= 1.5
            model.graph.initializer[0].CopyFrom(weight("w", w))
        if "mul" in faults:
            model.graph.node[2].attribute[0].t.CopyFrom(weight("", np.float32(2.5)))
        (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


def make_example():
    """The first operators of the network in examples/make_dump.cpp; the weights are others."""
    nodes = [
        helper.make_node("Conv", ["data", "w"], ["conv1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv1"], ["relu1"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["relu1"], ["pool1"], name="pool1"),
    ]
    graph = helper.make_graph(nodes, "example", [value("data", [1, 3, 16, 16])], [value("pool1", [1, 20, 1, 1])],
                              [weight("w", np.zeros((20, 3, 3, 3), np.float32))])
    save("example.onnx", graph)


def make_weights():
    """A weight that a DequantizeLinear makes."""
    q = np.arange(-8, 8, dtype=np.int8).reshape(4, 4)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["dq"], name="dequantize"),
        helper.make_node("Transpose", ["dq"], ["t"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"], name="matmul"),
    ]
    graph = helper.make_graph(nodes, "weights", [value("x", [2, 4])], [value("y", [2, 4])],
                              [weight("q", q), weight("scale", np.float32(0.5)), weight("zero", np.int8(1))])
    save("weights.onnx", graph)


def make_branches():
    """An If within an If. Both branches of the outer one and the graph around use the names t and n."""
    deep_then = helper.make_graph(
        [helper.make_node("Add", ["t", "x"], ["d"], name="deep")], "g", [], [value("d", [2])])
    deep_else = helper.make_graph(
        [helper.make_node("Sub", ["t", "x"], ["d"], name="deep")], "g", [], [value("d", [2])])
    then_branch = helper.make_graph(
        [helper.make_node("Mul", ["x", "k"], ["t"], name="n"),
         helper.make_node("If", ["flag2"], ["inner"], name="second", then_branch=deep_then,
                          else_branch=deep_else)],
        "g", [], [value("inner", [2]), value("k", [2])], [weight("k", floats(2))],
        value_info=[value("t", [2])])
    else_branch = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["t"], name="n"), helper.make_node("Exp", ["t"], ["e"])],
        "g", [], [value("e", [2]), value("t", [2])])
    nodes = [
        helper.make_node("Abs", ["x"], ["before"], name="n"),
        helper.make_node("If", ["flag"], ["a", "b"], name="first", then_branch=then_branch,
                         else_branch=else_branch),
        helper.make_node("Add", ["a", "b"], ["t"], name="sum"),
        helper.make_node("Add", ["t", "before"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes, "branches",
        [value("x", [2]), value("flag", [], TensorProto.BOOL), value("flag2", [], TensorProto.BOOL)],
        [value("y", [2])])
    # The checker wants names unique across scopes; exporters do write such models and engines take them.
    save("branches.onnx", graph, check=False)


def make_loop():
    """Adds `step` to `state` while counting; hands out the state and, stacked, its square."""
    body = helper.make_graph(
        [helper.make_node("Add", ["state_in", "step"], ["state_out"], name="grow"),
         helper.make_node("Mul", ["state_out", "state_out"], ["square"], name="square"),
         helper.make_node("Neg", ["square"], ["negative"], name="negate"),
         helper.make_node("Abs", ["negative"], ["stacked"], name="abs"),
         helper.make_node("Identity", ["cond_in"], ["cond_out"], name="go_on")],
        "body",
        [value("i", [], TensorProto.INT64), value("cond_in", [], TensorProto.BOOL), value("state_in", [2])],
        [value("cond_out", [], TensorProto.BOOL), value("state_out", [2]), value("stacked", [2])])
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["last", "squares"], name="loop", body=body)]
    graph = helper.make_graph(nodes, "loop", [value("x", [2])], [value("last", [2]), value("squares", [None, 2])],
                              [weight("trips", np.int64(3)), weight("step", np.float32([1, 10]))])
    save("loop.onnx", graph)


def make_scan():
    """Running sums over the rows of x; one scan output, with its axis said."""
    body = helper.make_graph(
        [helper.make_node("Add", ["sum_in", "row"], ["sum_out"], name="add"),
         helper.make_node("Exp", ["sum_out"], ["exp"], name="exp"),
         helper.make_node("Identity", ["exp"], ["out"], name="copy")],
        "body", [value("sum_in", [2]), value("row", [2])], [value("sum_out", [2]), value("out", [2])])
    nodes = [helper.make_node("Scan", ["zero", "x"], ["total", "exps"], name="scan", body=body,
                              num_scan_inputs=1, scan_output_axes=[1])]
    graph = helper.make_graph(nodes, "scan", [value("x", [3, 2])], [value("total", [2]), value("exps", [2, 3])],
                              [weight("zero", np.zeros(2, np.float32))])
    save("scan.onnx", graph)


def make_external():
    """Two weights in weights.bin, one of them in the body of an If."""
    data = floats(2, 3)
    (OUT / "weights.bin").write_bytes(bytes(16) + data.tobytes())

    def outside(name, shape, location="weights.bin", **entries):
        tensor = TensorProto(name=name, data_type=F, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, text in {"location": location, **entries}.items():
            tensor.external_data.add(key=key, value=str(text))
        return tensor

    branch = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["t"], name="inner")], "g", [],
                               [value("t", [2, 3])], [outside("k", [3], offset=16)])
    nodes = [
        helper.make_node("If", ["flag"], ["a"], name="choice", then_branch=branch, else_branch=branch),
        helper.make_node("Add", ["a", "w"], ["y"], name="add"),
    ]
    graph = helper.make_graph(nodes, "external", [value("x", [2, 3]), value("flag", [], TensorProto.BOOL)],
                              [value("y", [2, 3])], [outside("w", [2, 3], offset=16, length=24)])
    save("external.onnx", graph, check=False)
    for name, tensor in {
        "escape_parent": outside("w", [2, 3], "../weights.bin"),
        "escape_absolute": outside("w", [2, 3], "/etc/hostname"),
        "escape_inside": outside("w", [2, 3], "a/../../weights.bin"),
        "missing": outside("w", [2, 3], "nothing.bin"),
        "too_long": outside("w", [2, 3], offset=20, length=24),
        "misfit": outside("w", [2, 3], length=20),
        "senseless": outside("w", [2, 3], offset="ten"),
        "huge": outside("w", [1 << 40, 1 << 10]),
        "absurd": outside("w", [1 << 40, 1 << 20]),
    }.items():
        graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"], name="n")], "g", [], [value("y", [2, 3])],
                                  [tensor])
        save(f"external_{name}.onnx", graph, check=False)


def make_odd():
    """The graph in two pieces, a sparse initializer, a function, metadata, a sequence, fields of the future."""
    chain = onnx.load(OUT / "chain.onnx")
    first, second = onnx.ModelProto(), onnx.ModelProto()
    first.CopyFrom(chain)
    second.graph.node.extend(chain.graph.node[4:])
    second.graph.output.extend(chain.graph.output)
    second.graph.name = "renamed"
    del first.graph.node[4:], first.graph.output[:]
    sparse = helper.make_sparse_tensor(weight("sparse", np.float32([3, 4])),
                                       weight("", np.int64([1, 5])), [8])
    second.graph.sparse_initializer.append(sparse)
    second.graph.doc_string = "a second piece"
    second.metadata_props.add(key="who", value="tests")
    second.functions.append(helper.make_function(
        "plumb.tests", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 13)]))
    second.graph.value_info.append(helper.make_tensor_sequence_value_info("seq", F, [2]))
    future = bytes([0xFA, 0x7F, 3]) + b"new"  # field 2047
    (OUT / "odd.onnx").write_bytes(first.SerializeToString() + future + second.SerializeToString())


make_chain()
make_faults()
make_example()
make_weights()
make_branches()
make_loop()
make_scan()
make_external()
make_odd()
