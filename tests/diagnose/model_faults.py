# SPDX-License-Identifier: Apache-2.0
"""Faults in real networks: each edits an ONNX model in one place, or says that there is none for it."""
import copy
import dataclasses
import json

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Dump:
    """The index of a dump that `plumb dump` made, and its tensors."""

    def __init__(self, directory):
        self.directory = directory
        self.index = json.loads((directory / "dump.json").read_text(encoding="utf-8"))
        self.files, self.owner, self.order = {}, {}, []
        for op in self.index["operators"]:
            for tensor in op["outputs"]:
                self.owner[tensor["tensor"]] = op["name"]
                if "file" in tensor:
                    self.files[tensor["tensor"]] = tensor["file"]
                    self.order.append(tensor["tensor"])

    def tensor(self, name):
        return np.load(self.directory / self.files[name])

    def tensors_of(self, name):
        return [o["tensor"] for op in self.index["operators"] if op["name"] == name for o in op["outputs"]]

    def operators(self, tensors, names=()):
        """Operators that give one of the tensors, are called so, or were made from what is called so."""
        found = set()
        for op in self.index["operators"]:
            made = {op["name"], *op.get("origins", []), *(o.get("origin", "") for o in op["outputs"])}
            if made & set(names) or any(o["tensor"] in tensors for o in op["outputs"]):
                found.add(op["name"])
        return sorted(found)


def relative(golden, target, tensor):
    """Relative Euclidean error of a tensor; infinite if it is not finite where golden is, 0 if there is nothing to see."""
    if tensor not in target.files or tensor not in golden.files:
        return 0.0
    g, t = golden.tensor(tensor), target.tensor(tensor)
    if g.dtype.kind != "f" or g.shape != t.shape or not np.isfinite(g).all():
        return 0.0
    size = np.linalg.norm(g.astype(float))
    return np.inf if not np.isfinite(t).all() else float(np.linalg.norm(t.astype(float) - g) / size) if size else 0.0


@dataclasses.dataclass
class Site:
    """A model to edit, and what is known of it."""
    model: onnx.ModelProto
    golden: Dump
    rng: object
    culprits: list = dataclasses.field(default_factory=list)  # tensors whose operators are right answers
    ranges: dict = dataclasses.field(default_factory=dict)  # of tensors that are quantized otherwise: what their range is multiplied by
    also: list = dataclasses.field(default_factory=list)  # likewise, with the causes that make them right
    behind: list = dataclasses.field(default_factory=list)  # read what was put in: right with the right cause
    what: str = ""
    faults: list = dataclasses.field(default_factory=list)  # of two

    @property
    def graph(self):
        return self.model.graph

    def constant(self, name):
        for each in self.graph.initializer:
            if each.name == name:
                return numpy_helper.to_array(each)
        for node in self.graph.node:
            if node.op_type == "Constant" and name in node.output:
                return numpy_helper.to_array(node.attribute[0].t)
        return None

    def set_constant(self, name, array):
        """A new constant; whoever else reads the old one keeps it."""
        tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.graph.initializer.append(tensor)
        if self.model.ir_version < 4:  # initializers are inputs there
            self.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, array.shape))
        return name

    def nodes(self, fits):
        """Nodes with a dumped float output, in random order."""
        found = [
            (i, node) for i, node in enumerate(self.graph.node)
            if fits(node) and node.output[0] in self.golden.files and self.golden.tensor(node.output[0]).dtype == np.float32
            and self.golden.tensor(node.output[0]).size > 8
        ]  # fmt: skip
        return [found[i] for i in self.rng.permutation(len(found))]

    def names(self, tensors):
        """What the operators that give these tensors are called."""
        return {node.name or node.output[0] for node in self.graph.node if set(tensors) & set(node.output)} | set(tensors)

    def readers(self, name):
        return [node for node in self.graph.node if name in node.input]

    def after(self, place, node, chain):
        """Puts operators behind a node: the last one gives the tensor that the node gave."""
        name = node.output[0]
        raw = name + "_raw"
        node.output[0] = raw
        before = raw
        made = []
        for number, (kind, inputs, attrs) in enumerate(chain):
            out = name if number == len(chain) - 1 else f"{name}_step{number}"
            made.append(helper.make_node(kind, [before, *inputs], [out], name=f"{node.name or name}_{kind}{number}", **attrs))
            before = out
        for number, each in enumerate(made):
            self.graph.node.insert(place + 1 + number, each)
        self.culprits = [raw, *(n.output[0] for n in made)]
        self.behind = [reader.output[0] for reader in self.readers(name)]


def attribute(node, name):
    return next((a for a in node.attribute if a.name == name), None)


def become_copy(site, node, source):
    """The node hands on another tensor, bit for bit, under its own name."""
    one = site.set_constant(f"{node.output[0]}_one", np.ones(1, np.float32))
    node.op_type = "Mul"
    del node.attribute[:]
    node.input[:] = [source, one]
    site.culprits = [node.output[0]]


# ---- faults: each edits the model of a site; False if there is no place for it ---------------------

def epsilon(site):
    for _, node in site.nodes(lambda n: n.op_type == "BatchNormalization"):
        old = attribute(node, "epsilon")
        value = float(site.rng.choice([0.3, 0.1, 0.03]))
        if old is not None:
            node.attribute.remove(old)
        node.attribute.append(helper.make_attribute("epsilon", value))
        site.culprits, site.what = [node.output[0]], f"epsilon {value}"
        return True
    return False


def missing_activation(site):
    for _, node in site.nodes(lambda n: n.op_type in ("Relu", "Clip", "HardSigmoid", "LeakyRelu", "PRelu")):
        x = site.golden.files.get(node.input[0])
        if x is None or np.array_equal(site.golden.tensor(node.input[0]), site.golden.tensor(node.output[0])):
            continue
        site.what = f"no {node.op_type}"
        readers = site.readers(node.output[0])
        if site.rng.random() < 0.5 and all(o.name != node.output[0] for o in site.graph.output):
            for reader in readers:  # the operator is gone, and whoever read it shows that
                reader.input[:] = [node.input[0] if i == node.output[0] else i for i in reader.input]
            site.graph.node.remove(node)
            site.what += ", the operator is gone"
            site.culprits = [reader.output[0] for reader in readers]
            return True
        become_copy(site, node, node.input[0])
        site.also = [{"tensors": [reader.output[0] for reader in readers], "causes": ["operator/missing"]}]
        return True
    return False


def weighted(site):
    for _, node in site.nodes(lambda n: n.op_type in ("Conv", "MatMul", "Gemm")):
        for slot in range(1, -1, -1):
            w = site.constant(node.input[slot])
            if w is not None and w.dtype == np.float32 and w.ndim >= 2 and w.size >= 32:
                yield node, slot, w


def new_weights(change, what):
    def edit(site):
        for node, slot, w in weighted(site):
            made = change(w, node, site)
            if made is None:
                continue
            node.input[slot] = site.set_constant(f"{node.output[0]}_planted", made.astype(np.float32))
            site.culprits, site.what = [node.output[0]], what
            return True
        return False

    return edit


def out_axis(node):
    return 0 if node.op_type == "Conv" or (attribute(node, "transB") and attribute(node, "transB").i) else -1


def one_channel(w, node, site):
    moved = np.moveaxis(w.copy(), out_axis(node), 0)
    moved[site.rng.integers(len(moved))] *= -1
    return np.moveaxis(moved, 0, out_axis(node))


def swapped(w, node, site):
    moved = np.moveaxis(w, out_axis(node), 0)
    return np.moveaxis(np.roll(moved, 1, 0), 0, out_axis(node)) if len(moved) > 2 else None


def four_bits(w, node, site):
    step = np.abs(w).max() / 7
    return np.rint(w / step) * step


def clip(site):
    for place, node in site.nodes(lambda n: n.op_type in ("Conv", "Relu", "Add", "MatMul", "BatchNormalization", "Mul")):
        high = float(np.float32(site.rng.choice([2.0, 0.5 * np.abs(site.golden.tensor(node.output[0])).max()])))
        g = site.golden.tensor(node.output[0])
        if (np.abs(g) > high).mean() < 0.001 or (np.abs(g) > high).mean() > 0.3:
            continue
        if site.model.opset_import[0].version < 11:
            chain = [("Clip", [], {"min": -high, "max": high})]
        else:
            bounds = [site.set_constant(f"{node.output[0]}_{k}", np.array(k * high, np.float32)) for k in (-1, 1)]
            chain = [("Clip", bounds, {})]
        site.after(place, node, chain)
        site.what = f"clipped at {high:.4g}"
        return True
    return False


def narrow(site, k=0.0):
    wide = site.model.opset_import[0].version >= 13 and not k and site.rng.random() < 0.6
    dtype = onnx.TensorProto.BFLOAT16 if wide else onnx.TensorProto.FLOAT16
    for place, node in site.nodes(lambda n: n.op_type in ("Conv", "Add", "MatMul", "BatchNormalization", "Mul", "Gemm")):
        g = site.golden.tensor(node.output[0])
        high = float(np.abs(g).max())
        if not 1e-3 < high < 6e4:
            continue
        casts = [("Cast", [], {"to": dtype}), ("Cast", [], {"to": onnx.TensorProto.FLOAT})]
        if k:
            up, down = (site.set_constant(f"{node.output[0]}_{word}", np.array([value], np.float32)) for word, value in
                        (("up", k * 65504 / high), ("down", high / k / 65504)))  # fmt: skip
            casts = [("Mul", [up], {}), *casts, ("Mul", [down], {})]
        site.after(place, node, casts)
        site.what = "float16 overflows" if k else "works in bfloat16" if wide else "works in float16"
        return True
    return False


def overflow(site):
    return narrow(site, k=float(site.rng.uniform(1.2, 3)))


def pads(site):
    for _, node in site.nodes(lambda n: n.op_type == "Conv"):
        old = attribute(node, "pads")
        if old is None or len(old.ints) != 4 or not any(old.ints):
            continue
        top, left, bottom, right = old.ints
        node.attribute.remove(old)
        node.attribute.append(helper.make_attribute("pads", [0, left, top + bottom, right] if site.rng.random() < 0.5 else [0, 0, top + bottom, left + right]))
        site.culprits, site.what = [node.output[0]], "pads on the wrong side"
        return True
    return False


def pool_kind(site):
    for _, node in site.nodes(lambda n: n.op_type == "MaxPool"):
        node.op_type = "AveragePool"
        for name in ("storage_order", "dilations"):
            if attribute(node, name):
                node.attribute.remove(attribute(node, name))
        site.culprits, site.what = [node.output[0]], "average instead of maximum"
        return True
    return False


def stale(site):
    for _, node in site.nodes(lambda n: n.op_type in ("Conv", "Relu", "Add", "MatMul", "Mul", "BatchNormalization")):
        place = site.golden.order.index(node.output[0])
        g = site.golden.tensor(node.output[0])
        for other in site.golden.order[max(place - 60, 0) : place]:
            x = site.golden.tensor(other)
            if x.shape == g.shape and x.dtype == g.dtype and other not in node.input and np.linalg.norm(x - g) > 0.1 * np.linalg.norm(g):
                become_copy(site, node, other)
                site.what = f"holds {other}"
                return True
    return False


def clipped_range(site):
    """Calibration took too small a range for one tensor; of a network that is not quantized, this one alone is."""
    for place, node in site.nodes(lambda n: n.op_type in ("Conv", "Relu", "Add", "MatMul", "BatchNormalization", "Mul", "Concat")):
        g = site.golden.tensor(node.output[0])
        share = float(site.rng.uniform(0.3, 0.6))
        if not 0.002 < (np.abs(g) > share * np.abs(g).max()).mean() < 0.2 or not site.readers(node.output[0]):
            continue
        site.what = f"range times {share:.2g}"
        site.culprits = [node.output[0], node.output[0] + "_quantized", node.output[0] + "_dequantized"]
        site.ranges = {node.output[0]: share}
        return True
    return False


def two(site):
    """Two faults in places that are not the same."""
    first, second = (str(way) for way in site.rng.choice(["pads", "one_channel", "stale", "missing_activation", "four_bits"], 2, replace=False))
    if not MODEL_FAULTS[first][0](site):
        return False
    one = {"tensors": site.culprits, "also": site.also, "causes": MODEL_FAULTS[first][1], "what": site.what, "model": copy.deepcopy(site.model)}
    site.also = []
    if not MODEL_FAULTS[second][0](site) or set(site.culprits) & set(one["tensors"]):
        return False
    site.faults = [one, {"tensors": site.culprits, "also": site.also, "causes": MODEL_FAULTS[second][1], "what": site.what}]
    site.culprits = one["tensors"] + site.culprits
    site.what = f"{one['what']} and {site.what}"
    return True


ANYHOW = ["weights", "operator", "transform"]
MODEL_FAULTS = {
    "epsilon": (epsilon, ["operator", "transform"]),
    "missing_activation": (missing_activation, ["operator", "transform"]),
    "four_bits": (new_weights(four_bits, "4-bit weights"), [*ANYHOW, "quantization"]),
    "scaled_weights": (new_weights(lambda w, n, s: w * 1.03, "weights times 1.03"), ANYHOW),
    "one_channel": (new_weights(one_channel, "one channel negated"), ANYHOW),
    "swapped_channels": (new_weights(swapped, "channels swapped"), ANYHOW),
    "clip": (clip, ["saturation", "transform/saturated"]),
    "precision": (narrow, ["precision_mode", "transform/cast"]),
    "overflow": (overflow, ["overflow"]),
    "pads": (pads, ["operator", "transform"]),
    "pool_kind": (pool_kind, ["operator", "transform"]),
    "stale": (stale, ["transform/stale"]),
    "clipped_range": (clipped_range, ["calibration_clipping", "saturation", "transform/saturated"]),
    "two": (two, []),
}  # fmt: skip
