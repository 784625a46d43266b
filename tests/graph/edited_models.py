# SPDX-License-Identifier: Apache-2.0
"""Edits of a model that `plumb diff` must name, and rewritings that it must not.

Each edit takes a model and a random number generator, changes the model in place and gives what the
comparison has to say: (detail, name of the golden operator), or nothing if the model has no place for it.
`detail` may end in '*'. Names of operators are those of the model that is passed in.
"""
import copy
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

WEIGHTED = ("Conv", "Gemm", "MatMul", "ConvTranspose")


def name_of(node):
    return node.name or node.output[0]


def arrays(model):
    """Initializers and constants by name, with what holds them."""
    found = {weight.name: weight for weight in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found


def store(holder, values):
    fresh = numpy_helper.from_array(numpy.ascontiguousarray(values), holder.name)
    holder.CopyFrom(fresh)


def readers(model, tensor):
    return [node for node in model.graph.node if tensor in node.input]


def outputs(model):
    return {value.name for value in model.graph.output}


def weights(model, rng, fits=lambda values: True, slots=(1,)):
    """(node, holder, values) of a constant that one operator reads, or nothing."""
    known = arrays(model)
    found = []
    for node in model.graph.node:
        for slot in slots if node.op_type in WEIGHTED else ():
            if len(node.input) <= slot or node.input[slot] not in known:
                continue
            holder = known[node.input[slot]]
            values = numpy_helper.to_array(holder)
            if values.dtype == numpy.float32 and len(readers(model, node.input[slot])) == 1 and fits(values):
                found.append((node, holder, values))
    return rng.choice(found) if found else None


def is_varied(values):
    return values.size >= 64 and values.ndim >= 2 and numpy.unique(values).size > values.size // 2


def changed_weights(detail, change, fits=is_varied, slots=(1,)):
    def edit(model, rng):
        place = weights(model, rng, fits, slots)
        if place is None:
            return None
        node, holder, values = place
        store(holder, change(values.copy(), rng).astype(numpy.float32))
        return detail(values) if callable(detail) else detail, name_of(node)

    return edit


def one_channel(values, rng):
    values[1] = values[1] * 1.5 if values[1].any() else 0.25
    return values


def scaled_channels(values, rng):
    factors = numpy.array([1 + 0.1 * rng.random() for _ in range(values.shape[0])])
    return values * factors.reshape(-1, *[1] * (values.ndim - 1))


def rounded(bits, per_channel):
    top = 2 ** (bits - 1) - 1

    def change(values, rng):
        axes = tuple(range(1, values.ndim)) if per_channel else None
        step = numpy.maximum(numpy.abs(values).max(axis=axes, keepdims=per_channel) / top, 1e-12)
        return (numpy.round(values / step) * step.astype(numpy.float32)).astype(numpy.float32)

    return change


def permuted(values, rng):
    order = list(range(values.shape[0]))
    while order == sorted(order) or order == sorted(order, reverse=True):
        rng.shuffle(order)
    return values[order]


def one_element(values, rng):
    values.reshape(-1)[values.size // 3] += 1
    return values


def bfloat16(values, rng):
    bits = values.view(numpy.uint32)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(numpy.uint32)).view(numpy.float32)


def is_square(values):
    return is_varied(values) and values.ndim == 2 and values.shape[0] == values.shape[1]


def is_image(values):
    return is_varied(values) and values.ndim == 4 and values.shape[2] > 1 and values.shape[3] > 1


def is_wide(values):
    return is_varied(values) and values.shape[0] >= 4


def is_bias(values):
    return values.size >= 8 and numpy.unique(values).size > 4


def attribute(kind, name, value):
    def edit(model, rng):
        nodes = [node for node in model.graph.node if node.op_type in kind]
        if not nodes:
            return None
        node = rng.choice(nodes)
        old = next((a for a in node.attribute if a.name == name), None)
        fresh = value(helper.get_attribute_value(old) if old is not None else None, node)
        if fresh is None:
            return None
        if old is not None:
            node.attribute.remove(old)
        node.attribute.append(helper.make_attribute(name, fresh))
        return f"attribute:{name}", name_of(node)

    return edit


UNARY = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Elu", "HardSwish", "Softplus")


def unary_places(model):
    """Behind which nobody would take a neighbour of the same type for the operator."""
    made = {name: node for node in model.graph.node for name in node.output}

    def is_alone(node):
        before = made.get(node.input[0])
        near = readers(model, node.output[0]) + ([before] if before is not None else [])
        return all(other.op_type != node.op_type for other in near)

    return [node for node in model.graph.node if node.op_type in UNARY and node.output[0] not in outputs(model)
            and is_alone(node)]  # fmt: skip


def remove(model, rng):
    places = unary_places(model)
    if not places:
        return None
    node = rng.choice(places)
    for other in readers(model, node.output[0]):
        for i, name in enumerate(other.input):
            if name == node.output[0]:
                other.input[i] = node.input[0]
    model.graph.node.remove(node)
    return f"missing:{node.op_type}", name_of(node)


def insert(model, rng):
    made = {name: node for node in model.graph.node for name in node.output}
    known = arrays(model)
    places = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "Add") and node.output[0] in made
              and node.output[0] not in outputs(model) and node.output[0] not in known
              and all(other.op_type not in ("Elu",) for other in readers(model, node.output[0]))]  # fmt: skip
    if not places:
        return None
    node = rng.choice(places)
    old = node.output[0]
    for other in readers(model, old):
        for i, name in enumerate(other.input):
            if name == old:
                other.input[i] = "inserted"
    place = list(model.graph.node).index(node)
    model.graph.node.insert(place + 1, helper.make_node("Elu", [old], ["inserted"], name="inserted"))
    return "added:Elu", None


def replace(model, rng):
    places = [node for node in unary_places(model)]
    if not places:
        return None
    node = rng.choice(places)
    old, node.op_type = node.op_type, "Tanh" if node.op_type != "Tanh" else "Sigmoid"
    del node.attribute[:]
    return f"replaced:{old},{node.op_type}", name_of(node)


def swap_pool(model, rng):
    places = [node for node in model.graph.node if node.op_type == "MaxPool" and len(node.output) == 1]
    if not places:
        return None
    node = rng.choice(places)
    node.op_type = "AveragePool"
    keep = [a for a in node.attribute if a.name in ("kernel_shape", "strides", "pads", "auto_pad", "ceil_mode")]
    del node.attribute[:]
    node.attribute.extend(keep)
    return "replaced:MaxPool,AveragePool", name_of(node)


def quantized_weight(model, rng):
    """int8 with a DequantizeLinear, as converters write it."""
    if not any(o.domain in ("", "ai.onnx") and o.version >= 10 for o in model.opset_import):
        return None
    place = weights(model, rng, is_wide)
    if place is None:
        return None
    node, holder, values = place
    scale = numpy.float32(numpy.abs(values).max() / 127)
    steps = numpy.round(values / scale).astype(numpy.int8)
    model.graph.initializer.extend([numpy_helper.from_array(steps, "plan_q"), numpy_helper.from_array(scale, "plan_scale")])
    model.graph.node.insert(0, helper.make_node("DequantizeLinear", ["plan_q", "plan_scale"], ["plan_w"], name="plan_dq"))
    slot = list(node.input).index(holder.name if holder.name in node.input else node.input[1])
    node.input[slot] = "plan_w"
    return f"levels:{numpy.unique(steps).size}", name_of(node)


def from_shapes(model):
    """Tensors that shapes and constants alone decide."""
    known = set(arrays(model))
    for node in model.graph.node:
        if node.op_type == "Shape" or (node.input and all(name in known for name in node.input if name)):
            known |= set(node.output)
    return known


def swapped_inputs(model, rng):
    known = from_shapes(model)
    places = [node for node in model.graph.node if node.op_type in ("Concat", "Sub", "Div") and len(node.input) > 1
              and all(name not in known for name in node.input) and len(set(node.input)) == len(node.input)]  # fmt: skip
    if not places:
        return None
    node = rng.choice(places)
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return "input:0", name_of(node)


def times(factor):
    return lambda old, node: (old if old is not None else 1e-5) * factor


def more_pads(old, node):
    return None if old is None or not any(old) else [pad + 1 for pad in old]


EDITS = {
    "scaled": changed_weights("scale:1.03", lambda v, rng: v * numpy.float32(1.03)),
    "scaled bias": changed_weights("scale:0.97", lambda v, rng: v * numpy.float32(0.97), is_bias, (2,)),
    "negated": changed_weights("negated", lambda v, rng: -v),
    "zeroed": changed_weights("zeroed", lambda v, rng: v * 0),
    "offset": changed_weights("offset:0.01", lambda v, rng: v + numpy.float32(0.01)),
    "one channel": changed_weights("channel:1", one_channel, is_wide),
    "one bias": changed_weights("channel:1", one_channel, is_bias, (2,)),
    "scaled channels": changed_weights("scale_per_channel", scaled_channels, lambda v: is_wide(v) and v[0].size >= 4),
    "4 bits": changed_weights(lambda v: f"levels:{numpy.unique(rounded(4, False)(v, None)).size}", rounded(4, False), is_wide),
    "8 bits": changed_weights(lambda v: f"levels:{numpy.unique(rounded(8, False)(v, None)).size}", rounded(8, False), is_wide),
    "8 bits per channel": changed_weights("levels:*", rounded(8, True), lambda v: is_wide(v) and v[0].size >= 9),
    "permuted": changed_weights("permuted:0", permuted, is_wide),
    "reversed": changed_weights("channels_reversed", lambda v, rng: v[::-1], is_wide),
    "flipped": changed_weights("flip:3", lambda v, rng: v[..., ::-1], is_image),
    "transposed": changed_weights("axes:1,0", lambda v, rng: v.T, is_square),
    "transposed kernel": changed_weights("axes:0,1,3,2", lambda v, rng: v.transpose(0, 1, 3, 2), is_image),
    "float16": changed_weights("cast:float16", lambda v, rng: v.astype(numpy.float16),
                               lambda v: is_varied(v) and (v.astype(numpy.float16) != v).any()),  # fmt: skip
    "bfloat16": changed_weights("cast:bfloat16", bfloat16),
    "one element": changed_weights("element:*", one_element, is_wide),
    "noise": changed_weights("values", lambda v, rng: v + 1e-3 * numpy.random.default_rng(1).standard_normal(v.shape)),
    "cut off": changed_weights("saturated:*", lambda v, rng: numpy.clip(v, *numpy.quantile(v, [0.05, 0.95]).astype(numpy.float32)),
                               lambda v: is_wide(v) and v.size > 256),  # fmt: skip
    "int8": quantized_weight,
    "epsilon": attribute(("BatchNormalization",), "epsilon", times(10)),
    "pads": attribute(("Conv", "MaxPool"), "pads", more_pads),
    "strides": attribute(("Conv",), "strides", lambda old, node: [2, 2] if old in (None, [1, 1]) else [1, 1]),
    "dilations": attribute(("Conv",), "dilations", lambda old, node: [2, 2]),
    "alpha": attribute(("LeakyRelu", "HardSigmoid"), "alpha", lambda old, node: (old if old is not None else 0.01) * 1.5),
    "axis": attribute(("Softmax", "Concat", "Split"), "axis", lambda old, node: 0 if old != 0 else 1),
    "ceil": attribute(("MaxPool", "AveragePool"), "ceil_mode", lambda old, node: 0 if old else 1),
    "perm": attribute(("Transpose",), "perm", lambda old, node: old[::-1] if old and old != old[::-1] else None),
    "removed": remove,
    "inserted": insert,
    "replaced": replace,
    "pool": swap_pool,
    "swapped inputs": swapped_inputs,
}


# ---- the same model written in another way


def reserialized(model, rng):
    """Raw numbers as lists of numbers, names of nobody."""
    for holder in arrays(model).values():
        values = numpy_helper.to_array(holder)
        if values.dtype == numpy.float32:
            listed = helper.make_tensor(holder.name, holder.data_type, values.shape, values.reshape(-1).tolist())
            holder.CopyFrom(listed)
    model.producer_name = "another"
    model.doc_string = "text"
    del model.graph.value_info[:]


def spelled_out(model, rng):
    """Attributes that have their default value are written, those that were written are left out."""
    defaults = {"Conv": [("group", 1), ("auto_pad", "NOTSET")], "LeakyRelu": [("alpha", 0.01)],
                "BatchNormalization": [("epsilon", 1e-5), ("momentum", 0.8)], "Gemm": [("alpha", 1.0), ("transA", 0)],
                "MaxPool": [("storage_order", 0), ("ceil_mode", 0)], "Transpose": [], "Concat": []}  # fmt: skip
    version = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    for node in model.graph.node:
        for name, value in defaults.get(node.op_type, []):
            if name in ("storage_order", "ceil_mode") and version < 10:
                continue
            if name == "momentum":
                for old in [a for a in node.attribute if a.name == name]:
                    node.attribute.remove(old)
            if all(a.name != name for a in node.attribute):
                node.attribute.append(helper.make_attribute(name, value))
        for old in list(node.attribute):
            if (old.name in ("strides", "dilations") and set(old.ints) == {1}) or (old.name == "pads" and not any(old.ints)):
                if node.op_type == "Conv":
                    node.attribute.remove(old)


def as_constants(model, rng):
    """Initializers become Constant nodes."""
    inputs = {value.name for value in model.graph.input}
    for weight in list(model.graph.initializer):
        if weight.name in inputs:
            continue
        node = helper.make_node("Constant", [], [weight.name], name=f"constant_{weight.name}", value=weight)
        model.graph.node.insert(0, node)
        model.graph.initializer.remove(weight)


def with_identities(model, rng):
    for node in [node for node in model.graph.node if node.op_type in ("Relu", "Conv")][:5]:
        if node.output[0] in outputs(model):
            continue
        old, new = node.output[0], node.output[0] + "_handed_on"
        for other in readers(model, old):
            for i, name in enumerate(other.input):
                if name == old:
                    other.input[i] = new
        model.graph.node.insert(list(model.graph.node).index(node) + 1, helper.make_node("Identity", [old], [new], name=new))


def stored_as_float16(model, rng):
    """Only where that loses nothing; a Cast gives back the type."""
    for weight in list(model.graph.initializer):
        values = numpy_helper.to_array(weight)
        if values.dtype != numpy.float32 or not (values.astype(numpy.float16).astype(numpy.float32) == values).all():
            continue
        if any(weight.name == value.name for value in model.graph.input) or values.size < 2:
            continue
        name = weight.name
        store(weight, values.astype(numpy.float16))
        weight.name = name + "_half"
        cast = helper.make_node("Cast", [weight.name], [name], name=name + "_cast", to=onnx.TensorProto.FLOAT)
        model.graph.node.insert(0, cast)


def transposed_gemm(model, rng):
    known = arrays(model)
    for node in list(model.graph.node):
        if node.op_type != "Gemm" or node.input[1] not in known or len(readers(model, node.input[1])) != 1:
            continue
        values = numpy_helper.to_array(known[node.input[1]])
        name = node.input[1]
        store(known[name], values.T)
        known[name].name = known[name].name + "_turned"
        model.graph.node.insert(0, helper.make_node("Transpose", [known[name].name], [name], name=name + "_back", perm=[1, 0]))


REWRITINGS = {
    "re-serialised": reserialized,
    "defaults": spelled_out,
    "constants": as_constants,
    "identities": with_identities,
    "half storage": stored_as_float16,
    "transposed weights": transposed_gemm,
}


def edited(model, edit, rng):
    changed = copy.deepcopy(model)
    said = EDITS[edit](changed, rng)
    return (changed, said) if said else None


if __name__ == "__main__":
    sys.exit("this is a module")
