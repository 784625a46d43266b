# SPDX-License-Identifier: Apache-2.0
"""Families of steep functions: scores whose rounding becomes another share, gates that are nearly closed.

Where the operator adds nothing to what it read, and that is rounding, the row passes as suspicious. Whatever else was done
to it, however it looks like rounding, is no excuse: faults of the operator, of what it read, and other decisions.
"""
import numpy as np

from cases import honest, trap
from containers import plumb_dump
from makers import f16, f32

STEP = 2.0**-10  # of float16, beside the largest value


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def hard_sigmoid(x):
    return np.clip(0.2 * x.astype(np.float64) + 0.5, 0, 1)


def softmax(axis):
    def function(x):
        e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)
    return function


# How what is computed in 16 bits is stored, and what says so.
STORED = {
    "half": (lambda x: x.astype(f16), ()),
    "tf32": (lambda x: x.astype(f32), ("--precision", "tf32")),
    "behind": (lambda x: x.astype(f32), ()),  # an operator of 16 bits
}


def dump(stored, arrays, edges, types, is_target=True):
    first = np.linspace(-1, 1, 64).astype(f16 if stored == "behind" and is_target else f32)
    return plumb_dump({"first": first, **arrays}, edges, types)


def rounded(x, rng, steps):
    return x + rng.uniform(-steps, steps, x.shape) * STEP * np.abs(x).max()


def unlikely(rng):  # scores of a detector that sees nothing
    return rng.uniform(-22, -10, (1, 400, 1))


def maps(rng, share=0.02, near=10.0):  # scores of a text detector, some of them near the decision
    x = rng.choice([-135.0, 120.0], (1, 1, 48, 64), p=[0.98, 0.02])
    return np.where(rng.random(x.shape) < share, rng.uniform(-near, near, x.shape), x)


def background(rng):  # of a detector, with detections
    x = rng.uniform(-22, -10, (1, 8400, 1))
    x[0, :300] = rng.uniform(0.05, 0.25, (300, 1))
    return x


def gates(rng):
    return rng.uniform(-2, 2, (1, 400, 1))


def sixth(x):  # the slope that PyTorch has
    return np.clip(x.astype(np.float64) / 6 + 0.5, 0, 1)


def attention(rng):  # two that stand out in each row, one of them first
    x = rng.uniform(60, 75, (4, 20, 30))
    x[..., 7] = 79.5
    x[..., 12] = 80
    return x


def network(scores, function, stored, steps=3, kind="Sigmoid", damage=lambda y, x: y, before=lambda x, rng: x):
    """`damage` is done to what the target's operator gives of x, `before` to what it reads."""
    def make(rng):
        x = scores(rng).astype(f32)
        own = STORED[stored][0](before(rounded(x, rng, steps), rng))
        graph = {"scores": ["first"], "shares": ["scores"]}, {"first": "Conv", "scores": "Conv", "shares": kind}
        target = dump(stored, {"scores": own, "shares": STORED[stored][0](damage(function(own), own))}, *graph)
        return target, dump(stored, {"scores": x, "shares": function(x).astype(f32)}, *graph, is_target=False), {}
    return make


def backwards(make):
    def turned(rng):
        target, golden, beside = make(rng)
        return golden, target, beside
    return turned


def at_first(y, value):
    y = y.copy()
    y.reshape(-1)[: y.size // 8] = value
    return y


def turned_over(x, rng):
    """The first two classes of one row change places: by rounding alone."""
    x = x.copy()
    x[0, 0, 7] = x[0, 0, 12] + 0.1
    return x


FUNCTIONS = {
    "unlikely": (unlikely, sigmoid, "Sigmoid"),
    "map": (maps, sigmoid, "Sigmoid"),
    "attention": (attention, softmax(-1), "Softmax"),
    "columns": (lambda rng: np.swapaxes(attention(rng), 1, 2).copy(), softmax(1), "Softmax"),
}
FAULTS = {
    "scaled": lambda y, x: 0.9 * y,
    "shifted": lambda y, x: np.roll(y, 1, axis=-2),
    "added": lambda y, x: y + 0.1 * y.mean(),
    "lost": lambda y, x: at_first(y, 0),
    "filled": lambda y, x: at_first(y, y.max()),
    "hard": lambda y, x: hard_sigmoid(x),
    "steeper": lambda y, x: sigmoid(1.1 * x),
}


# ---- a gate and what it lets through --------------------------------------------------------------

def gated(stored, damage=lambda y: y, closed=0.001, opened=0.003):
    """A product of which the loudest channel is nearly closed."""
    def make(rng):
        x = rng.normal(0, 4, (1, 32, 6, 8)).astype(f32)
        x[0, 5] *= 20
        g = rng.uniform(0.3, 1, (1, 32, 1, 1)).astype(f32)
        g[0, 5] = closed
        own = g + rng.uniform(-0.002, 0.002, g.shape)
        own[0, 5] = opened
        own_x, own_g = (STORED[stored][0](v) for v in (x * (1 + rng.uniform(-1, 1, x.shape) * STEP), own))
        graph = {"x": ["first"], "g": ["first"], "y": ["x", "g"]}, {"first": "Conv", "x": "Conv", "g": "Clip", "y": "Mul"}
        y = damage(own_x.astype(np.float64) * own_g)
        target = dump(stored, {"x": own_x, "g": own_g, "y": STORED[stored][0](y)}, *graph)
        return target, dump(stored, {"x": x, "g": g, "y": x * g}, *graph, is_target=False), {}
    return make


def rectified(stored, damage=lambda y: y):
    """A Relu of which few channels let anything through, and channel 5 hardly ever."""
    def make(rng):
        x = rng.uniform(-4, -2, (1, 32, 8, 8)).astype(f32)
        x[0, 8:12] = rng.normal(0, 4, (4, 8, 8))
        x[0, 5, :, 0] = rng.uniform(0, 0.004, 8)
        own = x + rng.uniform(-0.05, 0.05, x.shape)
        own = STORED[stored][0](own)
        graph = {"x": ["first"], "y": ["x"]}, {"first": "Conv", "x": "Conv", "y": "Relu"}
        target = dump(stored, {"x": own, "y": STORED[stored][0](damage(np.maximum(own, 0)))}, *graph)
        return target, dump(stored, {"x": x, "y": np.maximum(x, 0)}, *graph, is_target=False), {}
    return make


def channel(k, change):
    def changed(y):
        y = y.copy()
        y[0, k] = change(y[0, k])
        return y
    return changed


def cases():
    for stored, (_, options) in STORED.items():
        for name, (scores, function, kind) in FUNCTIONS.items():
            of = lambda **more: network(scores, function, stored, kind=kind, **more)
            for way, turn in (("forth", lambda make: make), ("back", backwards)):
                yield honest(f"inherited/{stored}_{name}_{way}", "a share of what rounding left of scores", turn(of()), *options)
            for fault, damage in FAULTS.items():
                if kind == "Softmax" and fault in ("hard", "steeper"):
                    continue
                yield trap(f"inherited/{stored}_{name}_{fault}", "the operator itself is wrong", of(damage=damage), {"shares": "fail"}, *options)
        crossing = network(lambda rng: maps(rng, 0.5, 2.0), sigmoid, stored)
        yield trap(f"inherited/{stored}_decides", "many are on the other side of one half", crossing, {"shares": "fail"}, *options)
        far = network(unlikely, sigmoid, stored, steps=16)
        yield trap(f"inherited/{stored}_far", "the scores are off by more than rounding", far, {"shares": "fail"}, *options)
        decides = network(attention, softmax(-1), stored, kind="Softmax", before=turned_over)
        yield trap(f"inherited/{stored}_class", "another class comes first", decides, {"shares": "fail"}, *options)
        other = network(unlikely, sigmoid, stored, kind="Relu")
        yield trap(f"inherited/{stored}_other", "nothing says that it is a Sigmoid", other, {"shares": "fail"}, *options)
        for way, turn in (("forth", lambda make: make), ("back", backwards)):
            yield honest(f"inherited/{stored}_gate_{way}", "rounding opens a gate that is nearly closed", turn(gated(stored)), *options)
        for fault, make in {
            "lost": gated(stored, damage=channel(9, lambda y: 0 * y)),
            "doubled": gated(stored, damage=channel(5, lambda y: 3 * y)),
            "other": gated(stored, damage=channel(5, np.fliplr)),
        }.items():
            yield trap(f"inherited/{stored}_gate_{fault}", "the product is not that of its factors", make, {"y": "fail"}, *options)
        for way, turn in (("forth", lambda make: make), ("back", backwards)):
            yield honest(f"inherited/{stored}_relu_{way}", "a channel that is hardly ever above zero", turn(rectified(stored)), *options)
        for fault, make in {
            "lost": rectified(stored, damage=channel(9, lambda y: 0 * y)),
            "leaky": rectified(stored, damage=channel(5, lambda y: y + 0.05)),
            "other": rectified(stored, damage=channel(9, np.fliplr)),
        }.items():
            yield trap(f"inherited/{stored}_relu_{fault}", "not what a Relu gives", make, {"y": "fail"}, *options)
        lower = lambda by: lambda x, rng: x - by
        for title, why, make in (
            ("biased", "scores are higher, all of them", network(unlikely, sigmoid, stored, before=lower(-0.1))),
            ("missed", "all detections are gone", network(background, sigmoid, stored, before=lower(0.3), steps=1)),
            ("slope", "another slope, on what is the same", network(gates, sixth, stored, kind="HardSigmoid", steps=0, damage=lambda y, x: hard_sigmoid(x))),
        ):
            yield trap(f"inherited/{stored}_{title}", why, make, {"shares": "fail"}, *options)
        opened = gated(stored, closed=0.02, opened=0.06)
        yield trap(f"inherited/{stored}_gate_opened", "a gate is open that was nearly closed", opened, {"g": "fail", "y": "fail"}, *options)


INHERITED = list(cases())
