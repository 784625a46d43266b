# SPDX-License-Identifier: Apache-2.0
"""Families of tables: columns of units of their own, some small beside others, really computed in the target's type; grey
pictures beside labels; and numbers on a grid in a dump of widened bfloat16.
"""
import itertools

import numpy as np

from layers import HALF, exactly, layer
from makers import as_bf16, as_safetensors, bf16, f16, f32, pair, u8

# What each column is in the middle, and by how much it varies; which column is wrong.
TABLES = {
    "boxes_and_score": ([300, 250, 340, 290, 0.6], [90, 80, 90, 80, 0.12], 4),
    "points_and_share": ([320, 240, 0.7], [60, 50, 0.1], 2),
    "weather": ([15, 1013, 0.6, 3, 180, 12], [5, 10, 0.15, 1, 60, 4], 2),
    "box_of_lidar": ([90, -60, 1.5, 42, 18, 16, 0.3], [9, 9, 0.4, 3, 2, 2, 0.07], 6),
    "flat_and_deep": ([1000, 1, 900, 800], [100, 0.2, 90, 100], 1),
}
TYPES = {
    "half": (HALF, lambda y: lambda x, rng: y(x, rng).astype(f16), lambda y: y),
    "wide": (exactly, lambda y: lambda x, rng: (y(x, rng) * f32(1 + 2**-22)).astype(f32), lambda y: y),
    "brain": (bf16, as_bf16, as_safetensors),
}
# A quarter is said, and no failure: most of the column is still there.
WRONG = {
    "quarter": (lambda v: v * f32(0.75), "pass warning:slice_rel_euclid"),
    "third_more": (lambda v: v * f32(1.28), "pass warning:slice_rel_euclid"),
    "lost": (lambda v: 0 * v, "fail limit:slice_rel_euclid"),
}


def table(rounded, x, middle, spread):
    y = rounded(layer(rounded, *x) * np.array(spread, f32))
    return rounded((y + np.array(middle, f32)).astype(f32))


def columns(trap, honest):
    """Noise of pixels says nothing about a score: a column is measured by itself, however few rows there are."""
    for (name, (middle, spread, which)), rows, (word, (rounded, written, as_golden)), is_turned in itertools.product(
            TABLES.items(), (4, 8, 20, 60, 300), TYPES.items(), (False, True)):
        def make(rng, rows=rows, width=len(middle)):
            return np.clip(rng.normal(0, 1, (rows, 32)), -2, 2), rng.normal(0, 32**-0.5, (32, width))

        def computed(x, rng, how=rounded, middle=middle, spread=spread, is_turned=is_turned):
            y = table(how, x, middle, spread)
            return y.T.copy() if is_turned else y
        golden = lambda x, rng, computed=computed: computed(x, rng, exactly)
        case = f"columns/{name}_{rows}_{word}" + ("_turned" if is_turned else "")
        yield honest(case, "rounding alone", pair(make, written(computed), as_golden(golden)), expect="pass")
        for fault, (change, expected) in WRONG.items():
            if word == "brain" and fault != "lost":
                continue  # a quarter may be within what bfloat16 leaves

            def wrong(x, rng, computed=computed, change=change, which=which, is_turned=is_turned):
                y = computed(x, rng).copy()
                column = y[which] if is_turned else y[:, which]
                column[...] = change(column)
                return y
            kind = trap if expected.startswith("fail") else honest
            yield kind(f"{case}_{fault}", "one column is wrong", pair(make, written(wrong), as_golden(golden)), expect=expected)


def grey(height, width):
    """A smooth picture with a little noise, not yet rounded."""
    def make(rng):
        y, x = np.mgrid[0:height, 0:width]
        waves = sum(np.sin(a * x + b * y + c) for a, b, c in rng.uniform(-0.4, 0.4, (5, 3)))
        return 127.5 + 100 * waves / np.abs(waves).max() + rng.normal(0, 1.5, (height, width))
    return make


def labels(rng):
    return np.kron(rng.permutation(60)[:36].reshape(6, 6), np.ones((8, 8))) + 1


PICTURES = {"plain": lambda v: v, "channel": lambda v: v[None, None], "last": lambda v: v[..., None]}
PIXELS = {"bytes": u8, "floats": f32}


def greys(trap, honest):
    """Grey pixels may be rounded the other way; labels and positions in the same range may not."""
    for (size, shape), (where, placed), (word, dtype) in itertools.product(
            {"small": (28, 28), "page": (64, 48)}.items(), PICTURES.items(), PIXELS.items()):
        stored = lambda v, placed=placed, dtype=dtype: placed(np.clip(np.rint(v), 0, 255).astype(dtype))
        golden = lambda v, _, stored=stored: stored(v)
        other = lambda v, rng, stored=stored: stored(v + rng.normal(0, 0.05, v.shape))
        name = f"greys/{size}_{where}_{word}"
        yield honest(name, "rounded the other way here and there", pair(grey(*shape), other, golden))
        wrong = {"shifted": lambda v, _: np.roll(v, 1, 1), "brighter": lambda v, _: v + 1, "row": lambda v, _: np.where(np.arange(len(v))[:, None] == 9, 0, v)}
        for fault, change in wrong.items():
            yield trap(f"{name}_{fault}", "pixels are wrong", pair(grey(*shape), lambda v, rng, change=change, stored=stored: stored(change(v, rng)), golden), "fail")
        next_label = lambda v, _, stored=stored: stored(np.where(v == v[0, 0], v + 1, v))
        yield trap(f"{name}_labels", "the next label", pair(labels, next_label, golden), "fail limit:equal_share")
        positions = lambda rng, shape=shape: np.add.outer(np.arange(shape[0]), np.arange(shape[1]))
        yield trap(f"{name}_positions", "one position is off", pair(positions, lambda v, _, stored=stored: stored(v + (v == 20)), golden), "fail limit:equal_share")


def grids(trap, honest):
    """A bias of several units leaves a grid: such a tensor shows no type by itself, but the others of its dump do."""
    def make(rng):
        return [(rng.normal(0, 1, (24, 32)), rng.normal(0, 0.2, (32, 40))) for _ in range(5)]

    def dump(how, of_scores=None, change=lambda y: y):
        def side(x, _):
            made = {f"t{k}": layer(how, *operands) for k, operands in enumerate(x[1:])}
            made["scores"] = change(layer(of_scores or how, *x[0], bias=f32(-5)))
            return made
        return side
    for k in range(6):
        yield honest(f"grids/bias_{k}", "bfloat16 in float32 files", pair(make, dump(bf16), dump(exactly)))
        yield trap(f"grids/bias_{k}_scaled", "more than bfloat16 leaves", pair(make, dump(bf16, change=lambda y: bf16(y * f32(1.15))), dump(exactly)), {"scores": "fail"})
        yield trap(f"grids/alone_{k}", "the other tensors are float32", pair(make, dump(exactly, bf16), dump(exactly)), {"scores": "fail"})


def gates(trap, honest):
    """A gate that is nearly closed has an error as large as itself, and its whole map follows it: noise, where all maps have one unit."""
    def make(rng, channels, side):
        return rng.normal(0, 1, (channels, side * side)), rng.normal(0, 1, (channels, 32)), rng.normal(0, 32**-0.5, 32)

    def computed(x, how, opening):
        maps, a, b = x
        sums = layer(how, a, b[:, None])[:, 0]
        exact = layer(exactly, a, b[:, None])[:, 0]
        gate = np.clip(how((sums - exact[3] + opening).astype(f32)), 0, 1)  # the fourth is open by so little
        side = int(len(maps[0]) ** 0.5)
        return how(how(maps.astype(f32)) * gate[:, None]).reshape(1, len(maps), side, side).astype(f32)
    for channels, side, opening in itertools.product((24, 64), (8, 20), (1e-3, 2e-3)):
        shape = lambda rng, channels=channels, side=side: make(rng, channels, side)
        closing = lambda how, opening=opening: lambda x, _: computed(x, how, opening)
        yield honest(f"gates/{channels}_{side}_{opening}", "rounding alone", pair(shape, lambda x, r, c=closing: c(HALF)(x, r).astype(f16), closing(exactly)))


FAMILIES = (columns, greys, gates)
NAMED_FAMILIES = (grids,)
