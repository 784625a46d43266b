# SPDX-License-Identifier: Apache-2.0
"""Families of cases, made from lists of tensors, faults and roundings: every fault in every tensor must be
found, and every rounding of every tensor must pass. Where large values hide small ones, and where whole
numbers are ids.

The fast suite runs a sample of each family that the names of the cases choose; PLUMB_LONG=1 all.
"""
import dataclasses
import itertools
import os
import zlib

import numpy as np

import few
import layers
import packed
import tables
import unusual
from makers import bf16, f16, f32, i32, i64, pair, softmax, tf32, u8


# ---- tensors of which a part is small beside the rest: maker, axis, index of the part ---------------

def detections(rng):  # boxes in pixels, objectness and 80 scores
    x = rng.uniform(10, 600, (1, 400, 85))
    x[..., 4:] = rng.uniform(0.001, 0.06, (1, 400, 81))
    return x.astype(f32)


def channels(rng):  # 12 of 64 are small
    scale = np.where(np.arange(64) % 5 == 3, 0.01, 3)
    return (rng.normal(0, 1, (2, 64, 14, 14)) * scale[:, None, None]).astype(f32)


def tokens(rng):  # one of them with a massive activation
    x = rng.normal(0, 1, (1, 32, 256))
    x[0, 0, 7] = 4000
    return x.astype(f32)


def cache(rng):  # keys of 8 heads, 40 positions written of 64
    x = rng.normal(0, 0.05, (1, 8, 64, 32))
    x[0, 0] *= 100
    x[:, :, 40:] = 0
    return x.astype(f32)


def embeddings(rng):
    x = rng.normal(0, 0.02, (500, 64)) * rng.lognormal(0, 1, (500, 1))
    x[3] *= 200
    return x.astype(f32)


def batch(rng):  # one dark picture among bright ones
    x = rng.uniform(0, 1, (8, 3, 16, 16)) * np.array([1, 1, 1, 0.005, 1, 1, 1, 1])[:, None, None, None]
    return (x * 100).astype(f32)


def channels_last(rng):
    scale = np.where(np.arange(48) == 11, 0.02, 5)
    return (rng.normal(0, 1, (1, 20, 20, 48)) * scale).astype(f32)


PARTS = {
    "detections": (detections, 2, 4), "channels": (channels, 1, 13), "tokens": (tokens, 1, 31),
    "cache": (cache, 2, 39), "embeddings": (embeddings, 0, 77), "batch": (batch, 0, 3), "channels_last": (channels_last, 3, 11),
}  # fmt: skip


def part(x, axis, index):
    return (slice(None),) * axis + (index,)


def zeroed(x, at, _):
    x[at] = 0


def negated(x, at, _):
    x[at] = -x[at]


def shuffled(x, at, rng):
    flat = x[at].reshape(-1).copy()
    rng.shuffle(flat)
    x[at] = flat.reshape(x[at].shape)


def doubled(x, at, _):
    x[at] = 2 * x[at]


def repeated(x, at, _):  # one value in place of all
    x[at] = x[at].reshape(-1)[0] + 1.5 * np.abs(x[at]).max()


FAULTS = {"zeroed": zeroed, "negated": negated, "doubled": doubled, "constant": repeated}
# Detections and the batch are positive throughout: in another order most of each value is still there.
SHUFFLED = ("channels", "tokens", "cache", "channels_last")


def noise(relative):
    return lambda x, rng: (x * (1 + relative * rng.standard_normal(x.shape))).astype(f32)


ROUNDINGS = {
    "float16": lambda x, _: x.astype(f16), "noise_1e4": noise(1e-4), "last_bits": noise(1e-7), "tf32": lambda x, _: tf32(x),
}  # fmt: skip


def lost_slices(trap):
    for (tensor, (make, axis, index)), (fault, change), (rounding, rounded), profile in itertools.product(
            PARTS.items(), [*FAULTS.items(), ("shuffled", shuffled)], ROUNDINGS.items(),
            ("standard", "offline", "quantized", "axera")):
        if fault == "shuffled" and tensor not in SHUFFLED:
            continue

        def target(x, rng, axis=axis, index=index, change=change, rounded=rounded):
            y = x.astype(f32).copy()
            change(y, part(y, axis, index), rng)
            return rounded(y, rng)
        if profile in ("quantized", "axera") and rounding != "float16":
            continue
        yield trap(f"slice/{tensor}_{fault}_{rounding}_{profile}", "large values beside it hide a slice that is wrong",
                   pair(make, target), "fail", "--profile", profile)


def intact_slices(honest):
    for (tensor, (make, _, _)), (rounding, rounded) in itertools.product(PARTS.items(), ROUNDINGS.items()):
        yield honest(f"slice/{tensor}_{rounding}", "rounding alone", pair(make, rounded))
    for tensor, (make, _, _) in PARTS.items():
        yield honest(f"slice/{tensor}_bfloat16", "values of eight bits in float32 files of several tensors",
                     pair(lambda rng, make=make: {f"op{i}": make(rng) for i in range(4)},
                          lambda d, _: {k: bf16(x) for k, x in d.items()}))
        yield honest(f"slice/{tensor}_common_noise", "noise of one size everywhere, as quantization leaves it",
                     pair(make, lambda x, rng: (x + 3e-4 * np.sqrt(np.mean(x.astype(np.float64) ** 2)) *
                                                rng.standard_normal(x.shape)).astype(f32)), "--profile", "quantized")


# ---- masks ---------------------------------------------------------------------------------------------

MASKS = {"1e4": -1e4, "65504": -65504, "1e9": -1e9, "lowest": float(np.finfo(f32).min), "100": -100.0, "plus_1e9": 1e9}


def scores(value, added, share):
    def make(rng):
        x = rng.normal(0, 1.5, (1, 4, 48, 48))
        hidden = rng.random((1, 1, 48, 48)) < share
        x = np.where(hidden, x + value if added else value, x)
        return x.astype(f32)
    return make


def unmasked(change):
    """Changes what is not masked."""
    def target(x, rng):
        hidden = np.abs(x) > 50
        return np.where(hidden, x, change(np.where(hidden, 0, x), rng)).astype(f32)
    return target


def masked_scores(trap, honest):
    wrong = {"12_percent": lambda x, rng: x * 1.12, "45_percent": lambda x, rng: x * 0.55,
             "negated": lambda x, rng: -x, "zeroed": lambda x, rng: 0 * x,
             "head": lambda x, rng: np.where(np.arange(4)[None, :, None, None] == 2, 0, x)}
    for (name, value), added, share in itertools.product(MASKS.items(), (False, True), (0.1, 0.5, 0.9)):
        if added and abs(value) < 5000:
            continue
        base = scores(value, added, share)
        where = f"{name}_{'added' if added else 'set'}_{int(share * 100)}"
        for fault, change in wrong.items():
            yield trap(f"masked/{where}_{fault}", "a mask hides that the scores are wrong", pair(base, unmasked(change)), "fail")
        for rounding in ("noise_1e4", "last_bits"):
            yield honest(f"masked/{where}_{rounding}", "rounding beside a mask", pair(base, unmasked(ROUNDINGS[rounding])))
        yield trap(f"masked/{where}_moved", "the mask itself is elsewhere",
                   pair(base, lambda x, rng: np.roll(x, 5, axis=3)), "fail")


# ---- ids -----------------------------------------------------------------------------------------------

IDS = {
    "classes": lambda rng: rng.integers(0, 1000, (64,)), "tokens": lambda rng: rng.integers(0, 50_000, (4, 128)),
    "labels": lambda rng: rng.integers(0, 21, (1, 64, 64)), "labels_150": lambda rng: rng.integers(0, 150, (1, 1, 64, 64)),
    "indices": lambda rng: rng.permutation(400), "counts": lambda rng: rng.integers(1, 9, (300,)),
}  # fmt: skip
ID_FAULTS = {
    "off_by_one": lambda x, rng: x + 1, "one_of_them": lambda x, rng: x + (np.arange(x.size).reshape(x.shape) == x.size // 2),
    "two_percent": lambda x, rng: x + (rng.permutation(x.size).reshape(x.shape) < max(1, x.size // 50)), "next": lambda x, rng: np.roll(x, 1),
    "halved": lambda x, rng: x // 2,
}  # fmt: skip


def ids(trap, honest):
    for (name, make), (fault, change), golden, target in itertools.product(
            IDS.items(), ID_FAULTS.items(), (i64, i32, f32, u8), (i64, f32, u8, f16)):
        if (u8 in (golden, target) and not name.startswith("labels")) or (target is f16 and name == "tokens"):
            continue
        types = f"{np.dtype(golden).name}_{np.dtype(target).name}"
        yield trap(f"ids/{name}_{types}_{fault}", "ids are right or wrong",
                   pair(make, lambda x, rng, change=change, target=target: change(x, rng).astype(target),
                        lambda x, _, golden=golden: x.astype(golden)), "fail limit:equal_share")
    for (name, make), golden, target in itertools.product(IDS.items(), (i64, i32, f32), (i64, i32, f32)):
        yield honest(f"ids/{name}_{np.dtype(golden).name}_{np.dtype(target).name}", "the same ids",
                     pair(make, lambda x, _, target=target: x.astype(target), lambda x, _, golden=golden: x.astype(golden)))
    for target in (f16, f32):
        yield trap(f"ids/tokens_as_{np.dtype(target).name}_rounded", "float16 holds no token beyond 2048",
                   pair(IDS["tokens"], lambda x, _, target=target: x.astype(f16).astype(target)), "fail limit:equal_share")
    picture = lambda rng: np.clip(rng.normal(120, 50, (1, 3, 32, 32)), 0, 254).astype(u8)
    for target in (u8, f32):
        yield honest(f"ids/picture_{np.dtype(target).name}", "pixels rounded the other way",
                     pair(picture, lambda x, rng, target=target: (x + (rng.random(x.shape) < 0.3)).astype(target)))


# ---- bands of magnitude ----------------------------------------------------------------------------------

def depth(share):
    """A depth map: few pixels are near, wherever they are."""
    def make(rng):
        x = rng.uniform(20, 80, (1, 1, 96, 96))
        near = rng.random(x.shape) < share
        return np.where(near, rng.uniform(0.3, 0.6, x.shape), x).astype(f32)
    return make


def bands(trap, honest):
    faults = {"zeroed": lambda x: 0 * x, "negated": lambda x: -x, "doubled": lambda x: 2.2 * x, "far": lambda x: x + 1.1}
    for share, (fault, change), rounding in itertools.product((0.02, 0.05, 0.15), faults.items(), ("noise_1e4", "last_bits", "float16")):
        yield trap(f"band/near_{int(share * 100)}_{fault}_{rounding}", "near pixels are lost among far ones",
                   pair(depth(share), lambda x, rng, change=change, rounding=rounding:
                        ROUNDINGS[rounding](np.where(x < 1, change(x), x).astype(f32), rng)), "fail")
    for share, rounding in itertools.product((0.02, 0.05, 0.15), ROUNDINGS):
        yield honest(f"band/near_{int(share * 100)}_{rounding}", "rounding alone", pair(depth(share), ROUNDINGS[rounding]))
    wide = lambda rng: (rng.standard_normal((1, 32, 40, 40)) * np.exp(rng.normal(0, 3, (1, 32, 40, 40)))).astype(f32)
    for size in (1e-6, 1e-7):
        yield honest(f"band/common_noise_{size}", "noise of one size drowns small values by design",
                     pair(wide, lambda x, rng, size=size: (x + size * np.abs(x).max() * 1e-2 * rng.standard_normal(x.shape)).astype(f32)))
    yield honest("band/softmax_float16", "tails vanish", pair(lambda rng: softmax(rng.normal(0, 6, (64, 300))).astype(f32), ROUNDINGS["float16"]))


# ---- coarse values are not bfloat16 ----------------------------------------------------------------------

COARSE = {
    "halves": lambda x: np.round(2 * x) / 2, "powers": lambda x: np.sign(x) * 2.0 ** np.round(np.log2(np.abs(x) + 1e-9)),
    "eighths": lambda x: np.round(x * 8) / 8,
}  # fmt: skip


def coarse(trap, honest):
    """Among tensors of float32 one whose values are few: its error is no rounding of the target's type."""
    for (name, rounded), count in itertools.product(COARSE.items(), (3, 8)):
        base = lambda rng, count=count: {f"op{i}": (20 * rng.standard_normal((8, 64))).astype(f32) for i in range(count)}

        def target(d, rng, rounded=rounded):
            made = {k: (x * (1 + 1e-7 * rng.standard_normal(x.shape))).astype(f32) for k, x in d.items()}
            made["op1"] = rounded(made["op1"]).astype(f32)
            return made
        yield trap(f"coarse/{name}_one_of_{count}", "coarse values are no proof of bfloat16", pair(base, target), {"op1": "fail"})
        for narrow, change in {"bfloat16": lambda x: bf16(x), "float16": lambda x: x.astype(f16).astype(f32)}.items():
            yield honest(f"coarse/{name}_{narrow}_{count}", "the whole dump is of 16 bits in float32 files",
                         pair(base, lambda d, _, change=change: {k: change(x) for k, x in d.items()}))
    for name, rounded in COARSE.items():
        if name != "eighths":
            yield trap(f"coarse/{name}_alone", "nor is it alone",
                       pair(lambda rng: rng.standard_normal((8, 64)).astype(f32) * 20, lambda x, _, rounded=rounded: rounded(x).astype(f32)), "fail")
    for parts, largest in itertools.product((1, 2, 4), (40, 60, 100)):
        boxes = lambda rng, parts=parts, largest=largest: (rng.integers(parts, parts * largest, (64, 4)) / parts).astype(f32)
        yield trap(f"coarse/boxes_{parts}_{largest}", "boxes on a grid, moved by less than a pixel, are no float16",
                   pair(boxes, None, lambda x, _: (x - f32(0.37)).astype(f32)), "fail")


# ---- what the user says of the target's arithmetic ---------------------------------------------------------

COMPUTED = {"tf32": (5e-3, 1.03), "float16": (5e-3, 1.03), "bfloat16": (5e-2, 1.1)}  # noise that passes, scale that does not


def computed(trap, honest):
    """A word for a precision lets its noise pass, and nothing else."""
    base = lambda rng: {f"op{i}": rng.normal(0, 1, (1, 16, 14, 14)).astype(f32) for i in range(4)}
    noisy = lambda size: lambda d, rng: {k: (x + size * rng.standard_normal(x.shape)).astype(f32) for k, x in d.items()}
    for word, (size, scale) in COMPUTED.items():
        options = ("--precision", word)
        yield honest(f"computed/{word}_noise", "as coarse as the user says", pair(base, noisy(size)), *options)
        yield trap(f"computed/{word}_unsaid", "nobody says that it is as coarse", pair(base, noisy(size)), {f"op{i}": "fail" for i in range(4)})
        yield trap(f"computed/{word}_scaled", "all of it is too large", pair(base, lambda d, rng, scale=scale: {k: scale * x for k, x in d.items()}),
                   {f"op{i}": "fail" for i in range(4)}, *options)
        for (tensor, (make, axis, index)), (fault, change) in itertools.product(PARTS.items(), FAULTS.items()):
            def target(x, rng, axis=axis, index=index, change=change):
                y = ROUNDINGS["noise_1e4"](x, rng)  # more of it would drown the slice by design
                change(y, part(y, axis, index), rng)
                return y
            yield trap(f"computed/{word}_{tensor}_{fault}", "coarse arithmetic is no excuse for a lost slice", pair(make, target), "fail", *options)
        for name, make in IDS.items():
            yield trap(f"computed/{word}_{name}", "nor for a wrong id", pair(make, lambda x, rng: ID_FAULTS["one_of_them"](x, rng).astype(f32),
                       lambda x, _: x.astype(f32)), "fail limit:equal_share", *options)


def sample(family, size):
    """All of a family if PLUMB_LONG=1, else some of it, whatever their order."""
    if os.environ.get("PLUMB_LONG") == "1":
        return family
    return sorted(family, key=lambda case: zlib.crc32(case.name.encode()))[:size]


def renamed(case):
    """The same tensors once more, under names and in an order that mean nothing: the verdict must be the same."""
    seed = zlib.crc32(case.name.encode())
    letters = np.random.default_rng(seed + 1)
    names = {}

    def name(old):
        if old not in names:
            names[old] = "".join(letters.choice(list("bcdfgklmnprstvwz"), 7)) + "_" + "".join(letters.choice(list("aeiou"), 3))
        return names[old]

    def side(value):
        items = list(value.items()) if isinstance(value, dict) else [("only", value)]
        letters.shuffle(items)
        return {name(old): x for old, x in items}

    def make(_):
        target, golden, files = case.make(np.random.default_rng(seed))
        return side(target), side(golden), files
    expect = case.expect if isinstance(case.expect, str) else {name(old): e for old, e in case.expect.items()}
    return dataclasses.replace(case, name=f"{case.name}/renamed", make=make, expect=expect)


def make_families(trap, honest):
    twice = [lost_slices(trap), intact_slices(honest), ids(trap, honest), coarse(trap, honest), computed(trap, honest)]
    once = [masked_scores(trap, honest), bands(trap, honest)]
    twice += [family(trap, honest) for module in (unusual, packed, few, layers, tables) for family in module.FAMILIES]
    once += [family(trap, honest) for module in (unusual, packed, few, tables) for family in module.NAMED_FAMILIES]
    cases = [case for family in twice for case in sample(list(family), 6)]
    return [*cases, *map(renamed, cases), *(case for family in once for case in sample(list(family), 6))]
