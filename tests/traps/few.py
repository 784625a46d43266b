# SPDX-License-Identifier: Apache-2.0
"""Families of what is small in number: one to fifteen detections, single elements beside large ones, masks of two values,
codes and pixels that are one step off, ids on one side only. Every fault in every tensor must be found, every rounding must pass.
"""
import itertools

import numpy as np

from makers import f16, f32, f64, i8, image, npz, pair, u8
from unusual import HALF, LAST_BITS, SAME, changed, noise

LOWEST, LOWEST_BRAIN, LOWEST_HALF = float(np.finfo(f32).min), -3.3895313892515355e38, -65504.0


# ---- a few detections --------------------------------------------------------------------------------------

def rows_of(count, kind):
    """x1, y1, x2, y2, score, class; `batch` has the number of the picture first."""
    def make(rng):
        corner = rng.uniform(1, 400, (count, 2))
        rows = [corner, corner + rng.uniform(10, 200, (count, 2)), np.sort(rng.uniform(0.3, 0.98, count))[::-1], rng.integers(0, 80, count)]
        if kind == "batch":
            rows.insert(0, np.zeros(count))
        x = np.column_stack(rows).astype(f32)
        return {"plain": x, "batch": x, "one_picture": x[None], "turned": x.T.copy()}[kind]
    return make


def field(x, kind, which):
    """One column of such rows, to be changed in place."""
    return x[-2 + which] if kind == "turned" else x[..., -2 + which]


def at_one(change):
    def fault(v, rng):
        k = rng.integers(v.size)
        v.reshape(-1)[k:k + 1] = change(v.reshape(-1)[k:k + 1])
    return fault


def of_all(change):
    def fault(v, rng):
        v[...] = change(v)
    return fault


def next_class(v, rng):
    flat = v.reshape(-1)
    k = rng.integers(flat.size)
    flat[k] = flat[k] + 1 if flat[k] < 40 else flat[k] - 1


SCORE, CLASS = 0, 1
FEW_FAULTS = {
    "class_of_one": (CLASS, next_class), "classes_next": (CLASS, of_all(lambda v: v + 1)), "class_halves": (CLASS, at_one(lambda v: v + 0.5)),
    "score_of_one": (SCORE, at_one(lambda v: 0 * v)), "scores_lost": (SCORE, of_all(lambda v: 0 * v)), "scores_negated": (SCORE, of_all(lambda v: -v)),
    "scores_halved": (SCORE, of_all(lambda v: v / 2)),
}  # fmt: skip
SCORES = [change for which, change in FEW_FAULTS.values() if which == SCORE]


def few_detections(trap, honest):
    for count, kind, (how, rounded) in itertools.product((1, 2, 3, 5, 8, 12, 15), ("plain", "batch", "one_picture", "turned"),
                                                         {"bits": LAST_BITS, "noise": noise(1e-5), "half": HALF}.items()):
        make = rows_of(count, kind)

        def target(x, rng, change=None, kind=kind, rounded=rounded):
            y = x.copy()
            if change:
                change(field(y, kind, 0 if change in SCORES else 1), rng)
            z = rounded(y, rng)
            field(z, kind, CLASS)[...] = field(y, kind, CLASS)  # a class is not rounded
            return z
        for fault, (_, change) in FEW_FAULTS.items():
            if (fault, how) == ("scores_halved", "half"):
                continue  # half of each value is still there: suspicious in float16
            yield trap(f"few/{kind}_{count}_{fault}_{how}", "one of a few detections is wrong", pair(make, lambda x, rng, change=change, target=target: target(x, rng, change)), "fail")
        yield honest(f"few/{kind}_{count}_{how}", "rounding alone", pair(make, target))
        yield honest(f"few/{kind}_{count}_{how}_quantized", "rounding alone", pair(make, target), "--profile", "quantized")


# ---- what is gone beside noise of its size --------------------------------------------------------------------

def scaled(shape, axis, index, factor):
    def make(rng):
        x = rng.normal(0, 1, shape)
        x[(slice(None),) * axis + (index,)] *= factor
        return x.astype(f32)
    return make


def one_class(count):
    """x, y, w, h, objectness and the share of the only class."""
    return lambda rng: np.hstack([rng.uniform(8, 600, (count, 4)), rng.uniform(0.3, 0.97, (count, 2))])[None].astype(f32)


def keypoints(count):
    return lambda rng: np.hstack([rng.uniform(5, 250, (count, 2)), rng.uniform(0.4, 0.99, (count, 1))])[None].astype(f32)


# Maker, noise of a float16 network (of each column, or of all), the part that is small.
BESIDE_NOISE = {
    **{f"rows_{n}_{px}": (rows_of(n, "plain"), (px, px, px, px, 1e-3, 0), (..., 4)) for n, px in ((4, 0.1), (8, 0.15), (12, 0.2), (15, 0.2), (16, 0.2), (40, 0.3), (100, 0.4), (400, 0.5))},
    **{f"one_class_{n}": (one_class(n), (0.2, 0.2, 0.2, 0.2, 1e-3, 1e-3), (..., 4)) for n in (30, 400, 25200)},
    **{f"keypoints_{n}": (keypoints(n), (0.1, 0.1, 1e-3), (..., 2)) for n in (17, 68)},
    "channels": (scaled((2, 64, 14, 14), 1, 13, 0.01), 4e-3, (slice(None), 13)), "channels_last": (scaled((1, 20, 20, 48), 3, 11, 0.01), 4e-3, (..., 11)),
    "heads": (scaled((1, 8, 64, 32), 1, 5, 0.02), 7e-3, (slice(None), 5)), "positions": (scaled((1, 4, 48, 64), 2, 40, 0.02), 7e-3, (slice(None), slice(None), 40)),
    "large": (scaled((4, 32, 40, 40), 1, 3, 0.01), 4e-3, (slice(None), 3)),
}  # fmt: skip
GONE = {"zero": lambda v, rng: 0 * v, "tiny": lambda v, rng: 1e-3 * v, "stale": lambda v, rng: rng.permutation(v.reshape(-1)).reshape(v.shape)}


def first_lost(v):
    return np.where(np.arange(v.size).reshape(v.shape) == 0, 0, v)


def ends_exchanged(v):
    order = np.arange(v.size)
    low, high = np.argmin(v), np.argmax(v)
    order[[low, high]] = high, low
    return v.reshape(-1)[order].reshape(v.shape)


ONE_OF_SEVERAL = {"first_lost": first_lost, "ends_exchanged": ends_exchanged}


def gone(trap, honest):
    def target(x, rng, noise, at, change=None, relu=False):
        y = x + np.asarray(noise) * rng.standard_normal(x.shape)
        if change:
            y[at] = change(x[at], rng)
        return (np.maximum(y, 0) if relu else y).astype(f16)
    for name, (make, noise, at) in BESIDE_NOISE.items():
        for fault, change in GONE.items():
            if fault == "stale" and isinstance(noise, tuple):
                continue  # scores are alike: in another order most of each is still there
            yield trap(f"gone/{name}_{fault}", "others are off by as much, in another way", pair(make, lambda x, rng, noise=noise, at=at, change=change: target(x, rng, noise, at, change)), "fail limit:slice_rel_euclid")
        rows = int(name.split("_")[-2]) if name.startswith("rows") else int(name.split("_")[-1]) if isinstance(noise, tuple) else 0
        if 12 <= rows <= 400:
            for fault, change in ONE_OF_SEVERAL.items():
                yield trap(f"gone/{name}_{fault}", "one score is wrong, by less than boxes are", pair(make, lambda x, rng, noise=noise, at=at, change=change: target(x, rng, noise, at, lambda v, rng: change(v) + 1e-3 * rng.standard_normal(v.shape))), "fail limit:slice_rel_euclid")
        yield honest(f"gone/{name}", "noise alone", pair(make, lambda x, rng, noise=noise, at=at: target(x, rng, noise, at)))
        if isinstance(noise, tuple):
            continue

        def small(rng, make=make, at=at):  # below the noise
            x = make(rng)
            x[at] *= 0.1
            return x
        yield honest(f"gone/{name}_drowned", "a part drowns in noise of one size", pair(small, lambda x, rng, noise=noise, at=at: target(x, rng, noise, at)))
        for level in (1, 2.5, 3.2):  # dead, or active in a few places
            def sparse(rng, make=make, at=at, level=level):
                x = make(rng)
                x[at] = (x[at] / np.std(x[at]) - level) * 1e-3
                return x
            yield honest(f"gone/{name}_sparse_{level}", "hardly active, by less than noise", pair(sparse, lambda x, rng, noise=noise, at=at: target(x, rng, noise, at, relu=True), lambda x, _: np.maximum(x, 0)))


# ---- single elements beside large ones -----------------------------------------------------------------------

def small_row(shape, factor):
    def make(rng):
        x = rng.normal(0, 1, shape) + np.sign(rng.normal(0, 1, shape)) * 0.5
        x[-1] /= factor
        return x.astype(f32)
    return make


def yolo_rows(count):
    """Boxes in pixels, objectness, 20 shares; the first candidate is certain."""
    def make(rng):
        x = np.hstack([rng.uniform(8, 600, (count, 4)), rng.uniform(0.01, 0.1, (count, 21))])
        x[0, 4] = 0.93
        return x.astype(f32)
    return make


def logits(trap, honest):
    """A few, of which one is near zero; and rows that golden's ReLU leaves empty."""
    for n, k in itertools.product((2, 3, 4, 7), range(4)):
        def make(rng, n=n, k=k):
            x = rng.normal(0, 4, (1, n))
            x[0, 0], x[0, 1] = 7e-4 * (-1) ** k, 5 + k
            return x.astype(f32)
        computed = lambda x, rng: (x + 3e-4 * np.sqrt(np.mean(x**2)) * rng.standard_normal(x.shape)).astype(f16)
        yield honest(f"logits/{n}_{k}", "one is near zero, and off by more than its value", pair(make, computed))
        yield trap(f"logits/{n}_{k}_off", "one is 0.9 instead of 0.0007", pair(make, lambda x, rng: np.where(np.abs(x) < 1e-3, 0.9, x).astype(f16)), "fail")
    for shape, k in itertools.product(((64, 20), (32, 64), (200, 16), (16, 500)), range(4)):
        def before(rng, shape=shape):
            x = rng.standard_normal(shape) - 1.6
            x[shape[0] // 2] = -1
            x.reshape(-1)[x.size // 2 + 3] = -1e-4  # the only one of its row that is near zero
            return x
        relu = lambda x, rng: np.maximum(x, 0).astype(f32)
        yield honest(f"logits/empty_row_{'x'.join(map(str, shape))}_{k}", "a zero becomes tiny", pair(before, lambda x, rng: np.maximum(x + 4e-4 * rng.standard_normal(x.shape), 0).astype(f16), relu))
        yield trap(f"logits/ghost_{'x'.join(map(str, shape))}_{k}", "an empty row is not", pair(before, lambda x, rng: np.maximum(np.where(x == -1, 0.3, x), 0).astype(f16), relu), "fail")


ALONE = {
    **{f"row_{a}x{b}_{factor}": (small_row((a, b), factor), lambda x: x[-1]) for a, b, factor in ((3, 5, 300), (10, 10, 100), (40, 8, 50), (6, 4, 1000), (200, 12, 200))},
    **{f"yolo_{count}": (yolo_rows(count), lambda x: x[:1, 4]) for count in (4, 25, 300)},
}  # fmt: skip
ALONE_FAULTS = {"lost": lambda v: 0 * v, "negated": lambda v: -v, "doubled": lambda v: 2 * v}


def alone(trap, honest):
    for (name, (make, part)), (how, rounded) in itertools.product(ALONE.items(), {"bits": LAST_BITS, "noise": noise(1e-5), "half": HALF}.items()):
        for fault, change in ALONE_FAULTS.items():
            def wrong(x, rng, part=part, change=change):
                part(x)[...] = change(part(x))
                return x
            yield trap(f"alone/{name}_{fault}_{how}", "a few small values beside large ones are lost", pair(make, changed(wrong, rounded)), "fail")
        yield honest(f"alone/{name}_{how}", "rounding alone", pair(make, rounded))
    for count, size in itertools.product((5, 10, 40, 200, 1000), (1e-3, 3e-4)):
        near = lambda rng, count=count: rng.normal(0, 1, (1, count)).astype(f32)
        yield honest(f"alone/common_{count}_{size}", "noise of one size drowns what is near zero",
                     pair(near, lambda x, rng, size=size: (x + size * rng.standard_normal(x.shape)).astype(f16)))


# ---- masks of two values ---------------------------------------------------------------------------------------

def causal(n):
    return lambda rng: np.triu(np.ones((n, n), bool), 1)[None, None]


def padding(n):
    return lambda rng: (np.arange(n)[None] >= rng.integers(n // 2, n, (2, 1)))[:, None, None]


OPEN_FAULTS = {
    "one_open": lambda m: _one(m, True, False), "one_hidden": lambda m: _one(m, False, True), "shifted": lambda m: np.roll(m, 1, -1),
    "inverted": lambda m: ~m, "lost": lambda m: 0 * m,
}  # fmt: skip


def _one(mask, old, new):
    m = mask.copy()
    places = np.flatnonzero(m == old)
    m.reshape(-1)[places[len(places) // 2]] = new
    return m


def two_values(trap, honest):
    makes = {"causal_6": causal(6), "causal_16": causal(16), "causal_40": causal(40), "padding_8": padding(8), "padding_40": padding(40)}
    written = lambda value, dtype=f32: lambda m, _: np.where(m, dtype(value), dtype(0))
    pairs = {"65504_half": (written(LOWEST_HALF, f16), written(LOWEST)), "65504": (written(LOWEST_HALF), written(LOWEST)), "1e9": (written(-1e9), written(LOWEST)),
             "brain": (written(LOWEST_BRAIN), written(LOWEST)), "back": (written(LOWEST), written(LOWEST_HALF)), "inf_half": (written(-np.inf, f16), written(LOWEST)), "1e4_half": (written(-1e4, f16), written(-1e4))}
    for (name, make), (how, (target, golden)) in itertools.product(makes.items(), pairs.items()):
        yield honest(f"open/{name}_{how}", "the same mask by another constant", pair(make, target, golden))
        for fault, change in OPEN_FAULTS.items():
            yield trap(f"open/{name}_{how}_{fault}", "the mask is another one",
                       pair(make, lambda m, rng, change=change, target=target: target(np.asarray(change(m), bool), rng), golden), "fail")
    for n in (6, 16, 40):
        yield trap(f"open/inf_for_number_{n}", "an infinity where golden lowers by a number that float16 holds",
                   pair(causal(n), written(-np.inf, f16), written(-1e4)), "fail inf_mismatch")
        yield trap(f"open/inf_in_range_{n}", "an infinity where golden lowers by a number that target's type holds",
                   pair(causal(n), written(-np.inf), written(-1e9)), "fail inf_mismatch")
        yield trap(f"open/inf_in_same_type_{n}", "an infinity where golden's mark stayed a number of the same type",
                   pair(causal(n), written(-np.inf, f16), written(LOWEST_HALF, f16)), "fail inf_mismatch")
    for profile, n in itertools.product(("offline", "quantized", "axera", "conformance"), (16, 64)):
        yield trap(f"open/{profile}_{n}", "one of many places is open", pair(causal(n), lambda m, rng: written(LOWEST)(_one(m, True, False), rng), written(LOWEST)),
                   "fail inf_mismatch", "--profile", profile)


def masked_files(trap, honest):
    scores = lambda rng: np.where(np.triu(np.ones((48, 48), bool), 1), f32(-1e4), 0) + rng.normal(0, 2, (1, 8, 48, 48)).astype(f32)
    off = lambda x, _: np.where(x < -5000, x, 1.15 * x).astype(f32)
    for kind in (False, True):  # a deflated file is read front to back
        pack = lambda x, compressed=kind: npz({"scores": x.astype(f32)}, compressed)
        yield trap(f"open/scores_{'deflated' if kind else 'stored'}", "scores beside a mask are 15 % off",
                   pair(scores, lambda x, rng, pack=pack: pack(off(x, rng)), lambda x, _, pack=pack: pack(x)), {"scores": "fail"})


# ---- one step off --------------------------------------------------------------------------------------------------

CODES = lambda shape: lambda rng: np.clip(rng.normal(0, 30, shape), -127, 126).astype(i8)


def stepped(share, both=True):
    """That share of the codes is rounded the other way."""
    def change(x, rng):
        step = (rng.random(x.shape) < share) * (rng.choice([-1, 1], x.shape) if both else 1)
        return np.clip(x.astype(int) + step, -128 if x.dtype == i8 else 0, 127 if x.dtype == i8 else 255).astype(x.dtype)
    return change


def index_up(axis, index, share):
    def change(x, rng):
        place = (slice(None),) * axis + (index,)
        y = stepped(share)(x, rng)
        y[place] = x[place] + 1
        return y
    return change


def steps(trap, honest):
    for shape, share in itertools.product(((1, 16, 12, 12), (1, 64, 20), (2, 32, 5, 5), (1, 8, 9, 9), (24, 40)), (0, 0.05, 0.12)):
        name = "x".join(map(str, shape)) + f"_{int(share * 100)}"
        yield honest(f"steps/{name}", "codes rounded the other way", pair(CODES(shape), stepped(share)))
        for axis in range(len(shape)):
            if shape[axis] > 1:
                yield trap(f"steps/{name}_axis_{axis}", "all codes of a slice are one higher", pair(CODES(shape), index_up(axis, shape[axis] // 2, share)), "fail limit:equal_share")
        yield trap(f"steps/{name}_all", "all codes are one higher", pair(CODES(shape), lambda x, rng: x + i8(1)), "fail limit:equal_share")
    for size, last, dtype in itertools.product((16, 48), (False, True), (u8, f32)):
        def picture(rng, size=size, last=last, dtype=dtype):
            x = np.clip(np.round(image(1, 3, size, size)(rng)), 1, 254)
            return np.ascontiguousarray(np.moveaxis(x, 1, -1) if last else x).astype(dtype)
        name = f"{size}_{'last' if last else 'first'}_{np.dtype(dtype).name}"
        for share, both in itertools.product((0.08, 0.3), (False, True)):
            yield honest(f"steps/picture_{name}_{int(share * 100)}_{'both' if both else 'up'}", "pixels rounded the other way", pair(picture, stepped(share, both)))
        for colour, share in itertools.product(range(3), (0, 0.1)):
            yield trap(f"steps/picture_{name}_colour_{colour}_{int(share * 100)}", "one colour is one higher everywhere",
                       pair(picture, index_up(3 if last else 1, colour, share)), "fail limit:equal_share")


# ---- ids that are none --------------------------------------------------------------------------------------------

def fractions(trap, honest):
    ids = {"classes": lambda rng: rng.integers(0, 1000, (64,)), "tokens": lambda rng: rng.integers(1000, 50_000, (4, 32)), "labels": lambda rng: rng.integers(0, 150, (1, 32, 32)),
           "few": lambda rng: rng.integers(20, 900, (3,)), "one": lambda rng: rng.integers(100, 900, (1,))}
    for (name, make), size, golden in itertools.product(ids.items(), (0.2, 0.3, 0.45), (f32, f64)):
        as_type = lambda x, _, golden=golden: x.astype(golden)
        yield trap(f"fraction/{name}_{np.dtype(golden).name}_{size}", "ids that are off by a fraction", pair(make, lambda x, rng, size=size: (x + size).astype(f32), as_type), "fail")
        yield trap(f"fraction/{name}_{np.dtype(golden).name}_{size}_one", "one id is off by a fraction",
                   pair(make, lambda x, rng, size=size: (x + size * (np.arange(x.size).reshape(x.shape) == x.size // 2)).astype(f32), as_type), "fail")
    for name, make in ids.items():
        yield honest(f"fraction/{name}_computed", "whole numbers that were computed", pair(make, lambda x, rng: (x * (1 + 1e-7 * rng.standard_normal(x.shape))).astype(f32), lambda x, _: x.astype(f32)))
        if name != "tokens":
            yield honest(f"fraction/{name}_half", "ids below 2048 are exact in float16", pair(make, lambda x, _: x.astype(f16), lambda x, _: x.astype(f32)))
    boxes = lambda rng: np.column_stack([rng.uniform(0, 3000, (30, 4)), rng.uniform(0.3, 1, 30)]).astype(f32)
    yield trap("fraction/boxes_truncated", "numbers lost their fractions", pair(lambda rng: boxes(rng)[:, :4], lambda x, _: np.trunc(x)), "fail")


FAMILIES = (few_detections, gone, logits, alone, two_values, steps, fractions)  # names mean nothing in these
NAMED_FAMILIES = (masked_files,)
