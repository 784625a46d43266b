# SPDX-License-Identifier: Apache-2.0
"""The same network computed more coarsely: what a device of 16 bits, or one that rounds operands, would give.

Each takes a `changed_models.Network`, changes it in place and gives it back; names of tensors stay, and what is
inserted is of no one. The rounding is done by nodes of the model, so that any engine does it.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import changed_models

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
PRODUCTS = ("Conv", "ConvTranspose", "MatMul", "Gemm")
# Of these the inputs from the second on are sizes and factors, which have to stay float32.
RESIZES = ("Resize", "Upsample")


def float_tensors(net):
    """Outputs of nodes that are float32, by ONNX's own inference of types."""
    model = helper.make_model(net.graph, opset_imports=net.opsets, ir_version=7)
    shaped = onnx.shape_inference.infer_shapes(model).graph
    kinds = {value.name: value.type.tensor_type.elem_type for value in [*shaped.value_info, *shaped.output, *shaped.input]}
    return {name for node in net.graph.node for name in node.output if kinds.get(name, FLOAT) == FLOAT}


def float_constants(net):
    """The tensors of float32 that the model holds, by name, to be changed."""
    found = {weight.name: weight for weight in net.graph.initializer if weight.data_type == FLOAT}
    for node in net.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value" and attribute.t.data_type == FLOAT:
                found[node.output[0]] = attribute.t
    return found


def set_values(tensor, values):
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(values, name))


def fit_half(net):
    """Variances that float16 cannot hold are made smaller, and their factors with them: BatchNormalization divides by the root of one."""
    constants = float_constants(net)
    for node in net.graph.node:
        if node.op_type != "BatchNormalization":
            continue
        scale, variance = (constants[node.input[k]] for k in (1, 4))
        values = numpy_helper.to_array(variance)
        root = numpy.where(values > 10000, 2.0 ** numpy.ceil(numpy.log2(numpy.maximum(values, 1)) / 2), 1)
        if (root > 1).any():
            set_values(variance, (values / root**2).astype(numpy.float32))
            set_values(scale, (numpy_helper.to_array(scale) / root).astype(numpy.float32))


def sizes(net):
    return {name for node in net.graph.node if node.op_type in RESIZES for name in node.input[1:]}


def behind(net, node, made):
    """Puts nodes behind the one that gives their first input."""
    place = next(i for i, each in enumerate(net.graph.node) if each is node) + 1
    for offset, each in enumerate(made):
        net.graph.node.insert(place + offset, each)


def rounded(net):
    """Every tensor, weights included, is cast to float16 and back."""
    fit_half(net)
    floats, kept = float_tensors(net), sizes(net)
    for name, tensor in float_constants(net).items():
        if name not in kept:
            set_values(tensor, numpy_helper.to_array(tensor).astype(numpy.float16).astype(numpy.float32))
    kept |= changed_models.from_shapes(net)  # of constants alone, which are rounded already
    for node in list(net.graph.node):
        if node.op_type in ("Constant", "ConstantOfShape"):
            continue
        for k, name in enumerate(node.output):
            if not name or name not in floats or name in kept:
                continue
            node.output[k] = raw = name + "_raw"
            net.truth[raw] = net.truth[name]  # the same tensor, before it is rounded
            behind(net, node, [helper.make_node("Cast", [raw], [name + "_half"], name=name + "_to", to=HALF),
                               helper.make_node("Cast", [name + "_half"], [name], name=name + "_back", to=FLOAT)])  # fmt: skip
            net.truth[name + "_half"] = net.truth[name]
    return net


def half(net):
    """The whole model in float16, with a cast at each end."""
    fit_half(net)
    kept = sizes(net)
    for name, tensor in float_constants(net).items():
        if name not in kept:
            set_values(tensor, numpy_helper.to_array(tensor).astype(numpy.float16))
    for node in net.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == FLOAT and node.output[0] not in kept:
                attribute.i = HALF
            if node.op_type == "ConstantOfShape" and attribute.name == "value" and attribute.t.data_type == FLOAT:
                set_values(attribute.t, numpy_helper.to_array(attribute.t).astype(numpy.float16))
    weights = {weight.name: weight for weight in net.graph.initializer}
    for value in net.graph.input:
        if value.type.tensor_type.elem_type != FLOAT:
            continue
        if value.name in weights:  # one that may be replaced
            value.type.tensor_type.elem_type = weights[value.name].data_type
            continue
        net.redirect(value.name, value.name + "_half")
        net.graph.node.insert(0, helper.make_node("Cast", [value.name], [value.name + "_half"], name=value.name + "_to", to=HALF))
    for value in net.graph.output:
        if value.type.tensor_type.elem_type != FLOAT:
            continue
        node = next(each for each in net.graph.node if value.name in each.output)
        raw = value.name + "_half"
        net.redirect(value.name, raw)
        node.output[list(node.output).index(value.name)] = raw
        net.truth[raw] = net.truth[value.name]
        net.graph.node.append(helper.make_node("Cast", [raw], [value.name], name=value.name + "_back", to=FLOAT))
    del net.graph.value_info[:]
    return net


def tf32(net):
    """Operands of products lose all but ten bits: x * 8193 - (x * 8193 - x) keeps eleven digits of x, the first one included."""
    constants = float_constants(net)
    floats = float_tensors(net) | {value.name for value in net.graph.input}
    net.graph.initializer.append(numpy_helper.from_array(numpy.array(8193, numpy.float32), "tf32_factor"))
    done = {}
    for node in [each for each in net.graph.node if each.op_type in PRODUCTS]:
        for k, name in enumerate(list(node.input)[:2]):
            if name in constants:
                x = numpy_helper.to_array(constants[name]).astype(numpy.float32)
                large = x * numpy.float32(8193)
                set_values(constants[name], large - (large - x))
                continue
            if name not in floats:
                continue
            if name not in done:
                done[name] = name + "_tf32"
                made = [helper.make_node("Mul", [name, "tf32_factor"], [name + "_large"], name=name + "_large"),
                        helper.make_node("Sub", [name + "_large", name], [name + "_rest"], name=name + "_rest"),
                        helper.make_node("Sub", [name + "_large", name + "_rest"], [name + "_tf32"], name=name + "_tf32")]  # fmt: skip
                giver = next((each for each in net.graph.node if name in each.output), None)
                if giver is None:
                    for each in reversed(made):
                        net.graph.node.insert(0, each)
                else:
                    behind(net, giver, made)
            node.input[k] = done[name]
    return net


# By name: how it is made, and the options with which it has to pass.
TWINS = {"rounded": (rounded, []), "half": (half, []), "tf32": (tf32, ["--precision", "tf32"])}
