# SPDX-License-Identifier: Apache-2.0
"""What a model becomes on its way to a device: the same network in float16, with operands of products rounded as
TF32 does, on eight bits with QuantizeLinear and DequantizeLinear, with batch norms folded into weights, fused by the
runtime, run by another engine.

A kind edits a model (after a fault was planted in it, if any) and says how `plumb dump` runs it. What only simulates an
arithmetic (the rounding of operands) is taken out of the dump again, as no device would show it.
"""
import dataclasses
import json

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

PRODUCTS = ("Conv", "MatMul", "Gemm", "ConvTranspose")
HIDDEN = "simulated_"


@dataclasses.dataclass
class Kind:
    name: str
    edit: object = None  # f(model, ranges): ranges of golden's tensors, {name: (low, high)}
    words: tuple = ()  # for `plumb dump` ...
    run_words: tuple = ()  # ... and for `plumb run`
    profile: str = ""
    limit: float = 1.2e-3  # relative error that a comparison is bound to complain about
    is_clean: bool = True  # no limit is broken without a fault


def constants(model):
    found = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


def add_constant(model, name, array):
    tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
    model.graph.initializer.append(tensor)
    if model.ir_version < 4:  # initializers are inputs there
        model.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
    return name


def eleven_bits(w):
    m, e = np.frexp(w.astype(float))
    return np.ldexp(np.rint(np.ldexp(m, 11)), e - 11).astype(np.float32)


def tf32(model, ranges):
    """Operands of products have 11 bits: c = 8193 x, c - (c - x) is x without its last digits."""
    known = constants(model)
    split = add_constant(model, HIDDEN + "split", np.array(8193, np.float32))
    done, nodes = {}, []
    for node in model.graph.node:
        if node.op_type in PRODUCTS:
            for k in range(2):
                name = node.input[k]
                if name not in done:
                    made = f"{HIDDEN}{len(done)}"
                    if name in known:
                        add_constant(model, made, eleven_bits(known[name]))
                    else:
                        for kind, inputs, output in (("Mul", [name, split], made + "c"), ("Sub", [made + "c", name], made + "d"),
                                                     ("Sub", [made + "c", made + "d"], made)):  # fmt: skip
                            nodes.append(helper.make_node(kind, inputs, [output], name=output))
                    done[name] = made
                node.input[k] = done[name]
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def hide(directory):
    """Takes what only simulates out of a dump: readers read what it read."""
    file = directory / "dump.json"
    index = json.loads(file.read_text(encoding="utf-8"))
    stands_for, kept = {}, []
    for op in index["operators"]:
        if op["name"].startswith(HIDDEN):
            stands_for[op["name"]] = op["inputs"][0]
            for output in op["outputs"]:
                if "file" in output:
                    (directory / output["file"]).unlink()
            continue
        for edge in op["inputs"]:
            while edge["producer"] in stands_for:
                edge.update({key: stands_for[edge["producer"]][key] for key in ("producer", "output")})
        op.pop("constants", None)
        kept.append(op)
    index["operators"] = kept
    file.write_text(json.dumps(index))


def float16(model, ranges):
    """Every float32 constant and tensor, but for inputs and outputs of the model, and what must stay float32. Batch norms
    whose statistics float16 does not hold are folded before."""
    if any(np.abs(x).max(initial=0) > 65504 for x in constants(model).values() if x.dtype == np.float32):
        folded(model, ranges)
    graph = model.graph
    keep = {i for node in graph.node if node.op_type in ("Resize", "Upsample") for i in node.input[1:]}
    shape_like = {i for node in graph.node if node.op_type in ("Resize", "Upsample", "Range", "QuantizeLinear") for i in node.input[1:]}
    keep |= shape_like
    changed = True
    while changed:  # and whatever only leads there
        changed = False
        for node in graph.node:
            if node.output and all(o in keep or o == "" for o in node.output) and not set(node.input) <= keep and node.op_type != "Cast":
                keep.update(i for i in node.input)
                changed = True
    narrow = onnx.TensorProto.FLOAT16
    for each in graph.initializer:
        if each.data_type == onnx.TensorProto.FLOAT and each.name not in keep:
            each.CopyFrom(numpy_helper.from_array(halved(numpy_helper.to_array(each)), each.name))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.data_type == onnx.TensorProto.FLOAT and node.output[0] not in keep:
                attribute.t.CopyFrom(numpy_helper.from_array(halved(numpy_helper.to_array(attribute.t)), attribute.t.name))
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT and node.output[0] not in keep:
                attribute.i = narrow
    weights = {each.name for each in graph.initializer}
    for each in graph.input:
        if each.name in weights and each.name not in keep and each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            each.type.tensor_type.elem_type = narrow
    del graph.value_info[:]
    before, after = [], []
    for each in graph.input:
        if each.name in weights or each.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
            continue
        cast = each.name + "_half"
        before.append(helper.make_node("Cast", [each.name], [cast], name=f"{each.name}_to_half", to=narrow))
        for node in graph.node:
            node.input[:] = [cast if i == each.name else i for i in node.input]
    for each in graph.output:
        if each.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
            continue
        inner = each.name + "_half"
        for node in graph.node:
            node.input[:] = [inner if i == each.name else i for i in node.input]
            node.output[:] = [inner if o == each.name else o for o in node.output]
        after.append(helper.make_node("Cast", [inner], [each.name], name=f"{each.name}_to_float", to=onnx.TensorProto.FLOAT))
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)


def folded(model, ranges):
    """Batch norms become part of the weights of the convolutions before them, as converters do it."""
    graph = model.graph
    known = constants(model)
    readers, givers = {}, {}
    for node in graph.node:
        givers.update((name, node) for name in node.output)
        for name in node.input:
            readers.setdefault(name, []).append(node)
    kept = {each.name for each in graph.output}
    for norm in [node for node in graph.node if node.op_type == "BatchNormalization"]:
        conv = givers.get(norm.input[0])
        if conv is None or conv.op_type != "Conv" or len(readers[norm.input[0]]) != 1 or norm.input[0] in kept:
            continue
        w = known.get(conv.input[1])
        gamma, beta, mean, variance = (known.get(name) for name in norm.input[1:5])
        if any(x is None for x in (w, gamma, beta, mean, variance)):
            continue
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        factor = gamma.astype(float) / np.sqrt(variance.astype(float) + epsilon)
        bias = known[conv.input[2]].astype(float) if len(conv.input) > 2 and conv.input[2] else 0.0
        conv.name = conv.name or conv.output[0]
        name = norm.output[0]
        made = [add_constant(model, f"{name}_folded_weight", (w * factor.reshape(-1, *[1] * (w.ndim - 1))).astype(np.float32)),
                add_constant(model, f"{name}_folded_bias", ((bias - mean) * factor + beta).astype(np.float32))]  # fmt: skip
        conv.input[:] = [conv.input[0], *made]
        conv.output[0] = name
        graph.node.remove(norm)
    read = {name for node in graph.node for name in node.input} | kept
    for node in [node for node in graph.node if node.op_type == "Constant" and node.output[0] not in read]:
        graph.node.remove(node)
    del graph.value_info[:]


def halved(array):
    return np.clip(array, -65504, 65504).astype(np.float16)


def grid(low, high):
    """Scale and zero point of eight bits that hold 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255 or 1.0)
    return scale, np.uint8(np.clip(np.rint(-low / scale), 0, 255))


FLOAT_ONLY = ("Softmax", "Shape", "Constant", "Cast", "QuantizeLinear", "DequantizeLinear", "Sigmoid", "Resize", "Upsample", "ConstantOfShape")


def int8(model, ranges, scales=None, weights=True):
    """QuantizeLinear and DequantizeLinear behind every operator with a float output, weights on eight bits. `scales` changes
    the range of single tensors."""
    if model.opset_import[0].version < 10:  # there are none of these operators
        model.CopyFrom(version_converter.convert_version(model, 11))
    graph = model.graph
    known = constants(model)
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    nodes, stands_for = [], {}
    outputs = {each.name for each in graph.output}

    def pair(name, low, high):
        scale, zero = grid(low, high)
        add_constant(model, name + "_qscale", scale)
        add_constant(model, name + "_qzero", zero)
        ends = [name + "_qscale", name + "_qzero"]
        nodes.append(helper.make_node("QuantizeLinear", [name, *ends], [name + "_quantized"], name=name + "_QuantizeLinear"))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_quantized", *ends], [name + "_dequantized"], name=name + "_DequantizeLinear"))
        stands_for[name] = name + "_dequantized"

    for each in graph.input:
        if each.name in ranges and each.name not in known:
            pair(each.name, *ranges[each.name])
    for node in graph.node:
        if node.op_type in PRODUCTS and weights:
            for k in range(2):
                w = known.get(node.input[k])
                if w is not None and w.dtype == np.float32 and w.ndim >= 2:
                    made = f"{node.output[0]}_weight"
                    step = np.float32(np.abs(w).max() / 127 or 1.0)
                    add_constant(model, made + "_q", np.clip(np.rint(w / step), -127, 127).astype(np.int8))
                    add_constant(model, made + "_scale", step)
                    add_constant(model, made + "_zero", np.int8(0))
                    nodes.append(helper.make_node("DequantizeLinear", [made + "_q", made + "_scale", made + "_zero"], [made], name=made + "_DequantizeLinear"))
                    node.input[k] = made
        node.input[:] = [stands_for.get(i, i) for i in node.input]
        nodes.append(node)
        name = node.output[0]
        after = readers.get(name, [])
        fused = node.op_type in ("Conv", "Gemm", "BatchNormalization", "Add") and len(after) == 1 and after[0].op_type in ("Relu", "Clip", "BatchNormalization")
        if name in ranges and name not in outputs and node.op_type not in FLOAT_ONLY and not fused and after:
            low, high = ranges[name]
            k = (scales or {}).get(name, 1.0)
            pair(name, k * low, k * high)
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("exact"),
        Kind("float16", edit=float16, limit=0.045),
        Kind("tf32", edit=tf32, limit=0.01, is_clean=False),
        Kind("folded", edit=folded),
        Kind("fused", words=("--optimization", "extended"), run_words=("--target-optimization", "extended")),
        Kind("int8", edit=int8, profile="quantized", limit=0.15, is_clean=False),
        Kind("opencv", words=("--engine", "opencv"), run_words=("--target-engine", "opencv")),
    )
}
