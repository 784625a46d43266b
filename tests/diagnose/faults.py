# SPDX-License-Identifier: Apache-2.0
"""What can be wrong: for each class of fault, what is changed in a network to make room for it, and the ways in
which one operator of the target may then go wrong.

A planter is a generator of attempts, each a Fault with the causes that are right for it; make_plants takes the
first one whose effect has the size that was asked for.
"""
import dataclasses

import numpy as np

import networks
import target
from target import Fault

LINEAR = ("conv", "fc", "bn", "mul")
TYPE_LIMITS = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "float16": (-65504, 65504)}


@dataclasses.dataclass
class Scene:
    """All a planter may look at. `parts`, `golden` and `clean` come after the network has been prepared."""
    rng: object
    network: networks.Network
    names: networks.Names
    arithmetic: target.Arithmetic
    where: float  # 0 = first operator .. 1 = last; above 1: an output of the model
    index: int = 0  # of the case in its class: ways take turns
    spot: str = ""  # operator of the network that was prepared
    limit: tuple = None
    parts: list = None
    golden: dict = None
    clean: dict = None
    usual: float = None  # own error of an operator without a fault

    def part_of(self, op_name):
        return next(part for part in self.parts if any(op.name == op_name for op in part.ops))

    def in_order(self, fits):
        """Operators of the target that fit, those nearest to the wanted place first."""
        parts = [part for part in self.parts if not part.is_input]
        if self.where > 1:
            last = [p for p in parts if p.output in self.network.outputs and fits(p)]
            if last:
                return last
        scored = [
            (abs(i / max(len(parts) - 1, 1) - self.where) + self.rng.uniform(0, 0.12), i)
            for i, part in enumerate(parts) if fits(part)
        ]  # fmt: skip
        return [parts[i] for _, i in sorted(scored)]

    def pick_op(self, fits):
        ops = [op for op in self.network.ops if op.kind != "input"]
        scored = [
            (abs(i / max(len(ops) - 1, 1) - self.where) + self.rng.uniform(0, 0.12), i) for i, op in enumerate(ops) if fits(op)
        ]
        return ops[min(scored)[1]] if scored else None


def turn(scene, ways):
    """One of these, by turns over the cases of a class."""
    return ways[(scene.index + scene.index // 3) % len(ways)]


# ---- room for a fault -----------------------------------------------------------------------------

def scaled_op(op, k):
    """The operator with its outputs times k (a number, or one for each channel)."""
    c = dict(op.consts)
    for key in ("weight", "bias", "gamma", "beta", "value"):
        if key in c:
            axis = {"conv": 0, "fc": -1}.get(op.kind, 0) if key == "weight" else 0
            wide = np.asarray(k, float)
            if wide.ndim:
                shape = [1] * c[key].ndim
                shape[axis] = -1
                wide = wide.reshape(shape)
            c[key] = c[key] * wide
    return c


def raise_at(scene, op, k, inverse):
    """Values are k times larger behind `op`, and as before behind the operator that is put after it."""
    op.consts = scaled_op(op, k)
    scene.network.insert_after(op.name, networks.Op(scene.names.next("mul"), "mul", [], {"value": inverse}))
    scene.spot = op.name


def peak(scene, op):
    return float(np.abs(scene.network.values()[op.name]).max())


def prepare_range(scene, limits):
    """Some values of one operator go beyond the limit of a type."""
    op = scene.pick_op(lambda op: op.kind in LINEAR and ("value" not in op.consts or op.consts["value"].size > 1))
    if op is None:
        return False
    scene.limit = limits
    k = limits[1] * scene.rng.uniform(1.1, 3.5) / peak(scene, op)
    shape = [1] * scene.network.values()[op.name].ndim
    raise_at(scene, op, k, np.full(shape, 1 / k))
    return True


def prepare_overflow(scene):
    return prepare_range(scene, TYPE_LIMITS["float16"])


def prepare_saturation(scene):
    word = turn(scene, ["clip", "int8", "clip", "float16", "int16", "uint8", "int4"])
    return True if word == "clip" else prepare_range(scene, TYPE_LIMITS[word])


def prepare_outlier(scene):
    def fits(op):
        weight = op.consts.get("weight", op.consts.get("gamma"))
        return op.kind in ("conv", "fc", "bn") and weight.shape[-1 if op.kind == "fc" else 0] >= 4

    op = scene.pick_op(fits)
    if op is None:
        return False
    value = scene.network.values()[op.name]
    axis = 1 if value.ndim == 4 else -1
    k = np.ones(value.shape[axis])
    k[scene.rng.integers(k.size)] = 10 ** scene.rng.uniform(1.5, 2.5)
    shape = [1] * value.ndim
    shape[axis] = -1
    raise_at(scene, op, k, (1 / k).reshape(shape))
    return True


def prepare_precision(scene):
    """Half of the time an offset that is taken off again, so that the loss shows behind the operator."""
    if scene.index % 2:
        return True
    op = scene.pick_op(lambda op: op.kind in ("fc", "conv", "bn", "relu"))
    value = scene.network.values()[op.name]
    n = 1 if value.ndim == 4 else value.ndim - 1
    shape = [1] * value.ndim
    shape[n] = value.shape[n]
    c = np.full(shape, scene.rng.uniform(4, 30))
    add = networks.Op(scene.names.next("add"), "add", [], {"value": c})
    scene.network.insert_after(op.name, add)
    scene.network.insert_after(add.name, networks.Op(scene.names.next("add"), "add", [], {"value": -c}))
    scene.spot = add.name
    return True


# ---- planters -------------------------------------------------------------------------------------

def overflow(scene):
    part = scene.part_of(scene.spot)
    work = None if scene.arithmetic.is_narrow() else target.to_f16
    yield Fault(part.name, before=work, what="exceeds 65504 and becomes inf"), ["overflow"]


def cut(low, high):
    return lambda y: np.clip(y, low, high)


def saturation(scene):
    causes = ["saturation", "transform/saturated"]
    if scene.limit:
        part = scene.part_of(scene.spot)
        yield Fault(part.name, before=cut(*scene.limit), what=f"stops at {scene.limit}", extra={"limits": scene.limit}), causes
        return
    for part in scene.in_order(lambda p: p.ops[-1].kind not in ("softmax", "sigmoid")):
        g = scene.golden[part.output]
        for share in scene.rng.permutation([0.3, 0.5, 0.7, 0.85, 0.95]):
            high = float(share * np.abs(g).max())
            low = -high if scene.rng.random() < 0.5 else -np.inf
            if (g > high).sum() + (g < low).sum() >= 2:
                yield Fault(part.name, before=cut(low, high), what=f"is clipped at {high:.4g}", extra={"limits": [low, high]}), causes


def wrong_ways(op, rng, arity):
    """How this operator may be computed otherwise: (what, operators instead of it)."""
    a, c = op.attrs, op.consts
    if op.kind == "conv":
        size = c["weight"].shape[2]
        if size > 1:
            yield "pads with edge values", [op.changed(mode="edge")]
            yield "pads on the wrong side", [op.changed(pads=(0, 0, size - 1, size - 1))]
            yield "pads one axis on the wrong side", [op.changed(pads=(0, a["pads"][1], size - 1, a["pads"][3]))]
            yield "flips its kernel", [op.changed(flipped=True)]
        if "bias" in c:
            yield "leaves the bias out", [op.with_consts(bias=0 * c["bias"])]
        if a.get("groups", 1) > 1:
            yield "takes channels in another order", [op.with_consts(weight=np.roll(c["weight"], 1, 0))]
    if op.kind in ("bn", "ln"):
        for epsilon in (1e-3, 1e-2, 5e-2, 0.2):
            yield f"epsilon {epsilon}", [op.changed(epsilon=epsilon)]
        yield "leaves the offset out", [op.with_consts(beta=0 * c["beta"])]
    if op.kind == "bn":
        yield "swaps mean and offset", [op.with_consts(mean=c["beta"], beta=c["mean"])]
    if op.kind == "ln":
        yield "divides by n - 1", [op.changed(less=1)]
        yield "works along another axis", [op.changed(axis=-2)]
    if op.kind == "softmax":
        yield "works along another axis", [op.changed(axis=0)]
    if op.kind == "pool" and a["way"] != "global":
        yield "another kind of pooling", [op.changed(way="max" if a["way"] == "average" else "average")]
        if a["way"] == "average":
            yield "counts padding", [op.changed(counts_padding=True)]
        else:
            yield "windows are shifted", [op.changed(pads=(0, 0, 1, 1), phase=1)]
    if op.kind == "relu":
        yield "does nothing", []
        yield "cuts at 6, leaks 0.05", [networks.Op(op.name, "leaky", op.inputs, {}, {"alpha": 0.05})]
    if op.kind == "leaky":
        for alpha in (0.01, 0.08, 0.2, -0.1):
            yield f"alpha {alpha}", [op.changed(alpha=alpha)]
    if op.kind == "gelu":
        yield "tanh approximation", [op.changed(way="tanh")]
        yield "sigmoid approximation", [op.changed(way="sigmoid")]
    if op.kind == "sigmoid":
        yield "hard sigmoid", [op.changed(way="hard")]
    if op.kind == "fc" and c["weight"].shape[0] == c["weight"].shape[1]:
        yield "transposes its weights", [op.changed(transposed=True)]
    if op.kind in ("add", "mul") and "value" in c and c["value"].size > 1 and np.ptp(c["value"]) > 0:
        yield "takes its constants in another order", [op.with_consts(value=np.roll(c["value"], 1).reshape(c["value"].shape))]
    if op.kind == "add" and arity == 2:
        yield "subtracts", [op.changed(sign=-1)]
    if op.kind == "concat":
        yield "another order of inputs", [op.changed(reversed=True)]


def single(scene):
    """One operator that was not fused computes something else."""
    for part in scene.in_order(lambda p: len(p.ops) == 1):
        op = part.ops[0]
        ways = list(wrong_ways(op, scene.rng, len(op.inputs)))
        for i in scene.rng.permutation(len(ways)):
            what, ops = ways[i]
            if not ops:  # an identity
                ops = [networks.Op(op.name, "mul", op.inputs, {"value": np.ones(1)})]
            yield Fault(part.name, ops=ops, what=what), ["operator", "transform"]


def fusion(scene):
    """A fused operator applies its parts wrongly."""
    for part in scene.in_order(lambda p: len(p.ops) > 1):
        ways = []
        last = part.ops[-1]
        if last.kind in ("relu", "leaky", "gelu"):
            ways.append((f"leaves {last.kind} out", part.ops[:-1]))
            swapped = [*part.ops[:-2], part.ops[-1], part.ops[-2]]
            if part.ops[-2].kind in ("bn", "add"):
                ways.append((f"{last.kind} before {part.ops[-2].kind}", swapped))
        for i, op in enumerate(part.ops):
            for what, ops in wrong_ways(op, scene.rng, len(op.inputs)):
                if ops and op.kind in ("bn", "leaky", "gelu", "add", "conv"):
                    ways.append((f"{op.kind}: {what}", [*part.ops[:i], *ops, *part.ops[i + 1 :]]))
        bn = [op for op in part.ops if op.kind == "bn"]
        others = [o for p in scene.parts for o in p.ops if bn and o.kind == "bn" and o is not bn[0]
                  and o.consts["mean"].shape == bn[0].consts["mean"].shape]  # fmt: skip
        if others:
            other = others[scene.rng.integers(len(others))]
            ways.append(("parameters of another layer", [op if op.kind != "bn" else op.with_consts(**other.consts) for op in part.ops]))
        for i in scene.rng.permutation(len(ways)):
            yield Fault(part.name, ops=ways[i][1], what=ways[i][0]), ["fusion"]


def precision(scene):
    parts = [scene.part_of(scene.spot)] if scene.spot else []
    parts += scene.in_order(lambda p: p.ops[-1].kind not in target.MOVES)
    for part in parts:
        dtype = ["bfloat16", "bfloat16", "float16"][scene.rng.integers(3)]
        stays = scene.rng.random() < 0.3  # stored as float32 all the same
        yield (
            Fault(part.name, before=target.ROUND[dtype], dtype="float32" if stays else dtype, what=f"works in {dtype}"),
            ["precision_mode", "transform/cast"],
        )


def inputs(scene):
    name = scene.network.ops[0].name
    if len(scene.network.feeds) > 1 and scene.rng.random() < 0.5:
        name = list(scene.network.feeds)[1]
    x = scene.network.feeds[name]
    rng = scene.rng
    for way in [turn(scene, ["noise", "other", "scaled", "channels", "mean"]), "noise", "scaled", "mean"]:
        for k in rng.permutation([0.01, 0.03, 0.1, 0.3, 0.6]):
            feed = {
                "noise": lambda: x + k * rng.standard_normal(x.shape),
                "other": lambda: rng.standard_normal(x.shape),
                "scaled": lambda: x * (1 + k),
                "channels": lambda: x[:, ::-1],
                "mean": lambda: x + k * np.arange(1, x.shape[1] + 1).reshape((1, -1) + (1,) * (x.ndim - 2)) / x.shape[1],
            }[way]()
            causes = ["inputs_differ"] + ([] if way in ("noise", "other") else ["preprocessing"])
            yield Fault(name, feed=feed, what=f"input: {way} {k:.2g}"), causes


def clipping(scene):
    for part in scene.in_order(lambda p: p.ops[-1].kind not in ("softmax", "sigmoid", "transpose", "concat")):
        g = scene.golden[part.output]
        for share in scene.rng.permutation([0.25, 0.4, 0.55, 0.7, 0.85]):
            low, high = (float(share * v) for v in (min(g.min(), 0), max(g.max(), 0)))
            if scene.rng.random() < 0.5 and low < 0:
                low = -max(-low, high)
                high = -low
            if (g > high).sum() + (g < low).sum() >= 3:
                fault = Fault(part.name, before=lambda y, low=low, high=high: target.on_grid(y, low, high), extra={"limits": [low, high]})
                fault.what = f"8 bits from {low:.4g} to {high:.4g}, golden from {g.min():.4g} to {g.max():.4g}"
                yield fault, ["calibration_clipping", "transform/saturated"]


def outlier(scene):
    part = scene.part_of(scene.spot)
    g = scene.golden[part.output]
    low, high = min(float(g.min()), 0.0), max(float(g.max()), 0.0)
    yield Fault(part.name, before=lambda y: target.on_grid(y, low, high), what="8 bits for a tensor with one large channel"), ["outlier_channel"]


def stale(scene):
    for part in scene.in_order(lambda p: True):
        earlier = []
        for other in scene.parts:
            if other is part:
                break
            a, b = scene.golden[other.output], scene.golden[part.output]
            if a.shape == b.shape and not other.is_input and other.output not in part.reads() and target.relative(a, b) > 0.1:
                earlier.append(other)
        for i in scene.rng.permutation(len(earlier))[:3]:
            source = earlier[i]
            yield (
                Fault(part.name, after=lambda y, out, source=source: out[source.output].copy(), dtype=source.dtype,
                      what=f"holds the output of {source.name}", extra={"copy_of": source.name}),
                ["transform/stale"],
            )  # fmt: skip


def four_bits(w):
    step = np.abs(w).max() / 7
    return np.rint(w / step) * step


def weights(scene):
    for part in scene.in_order(lambda p: any("weight" in op.consts for op in p.ops)):
        at = next(i for i, op in enumerate(part.ops) if "weight" in op.consts)
        op, w = part.ops[at], part.ops[at].consts["weight"]
        axis = 0 if op.kind == "conv" else -1
        one = scene.rng.integers(w.shape[axis])
        channel = np.moveaxis(w, axis, 0).copy()
        channel[one] *= scene.rng.choice([0, 1.3, -1])
        swapped = np.moveaxis(w, axis, 0).copy()
        swapped[[0, -1]] = swapped[[-1, 0]]
        ways = {
            "times 1.03": w * 1.03, "times 0.9": w * 0.9, "one channel": np.moveaxis(channel, 0, axis),
            "channels swapped": np.moveaxis(swapped, 0, axis), "4 bits": four_bits(w),
            "not transposed": w.reshape(w.shape[::-1]).T if w.ndim == 2 and w.shape[0] != w.shape[1] else w * 1.1,
        }  # fmt: skip
        for way in scene.rng.permutation(list(ways)):
            ops = [*part.ops[:at], op.with_consts(weight=ways[way]), *part.ops[at + 1 :]]
            causes = ["weights", "operator", "transform"] + (["fusion"] if len(part.ops) > 1 else [])
            yield Fault(part.name, ops=ops, what=f"weights: {way}"), causes + (["quantization"] if way == "4 bits" else [])


PLANTERS = {
    "overflow": overflow, "saturation": saturation, "operator": single, "fusion": fusion, "precision_mode": precision,
    "inputs_differ": inputs, "calibration_clipping": clipping, "outlier_channel": outlier, "stale_buffer": stale,
    "weights": weights,
}  # fmt: skip
PREPARE = {
    "overflow": prepare_overflow, "saturation": prepare_saturation, "outlier_channel": prepare_outlier,
    "precision_mode": prepare_precision,
}  # fmt: skip
# Arithmetics of the target in which a class can be planted.
ANY = ("float16", "float32", "exact", "tf32", "int8")
ARITHMETICS = {
    "overflow": ("float16", "float16", "float32"), "precision_mode": ("float32", "exact", "float32", "tf32"),
    "accumulated": ("float16", "float32", "float16", "tf32", "int8"), "calibration_clipping": ("float16", "float32", "int8", "exact"),
    "outlier_channel": ("float16", "float32", "int8", "exact"), "two_faults": ("float16", "float32", "exact"),
    "saturation": ("float16", "float32", "exact", "float16", "tf32"), "task_failure": ("float16", "float32", "exact", "int8"),
}  # fmt: skip
CLASSES = (*PLANTERS, "accumulated", "two_faults", "clean", "task_failure")
