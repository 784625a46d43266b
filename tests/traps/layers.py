# SPDX-License-Identifier: Apache-2.0
"""Families of layers that are really computed in 16 bits: operands rounded, sums in float32, the result rounded. A fault
that leaves most of a slice is seen by how far it is above the rounding of all others; what cancels in a sum is off by a step
of its operands, and nobody's fault.
"""
import itertools

import numpy as np

from makers import as_bf16, as_safetensors, bf16, f16, f32, pair

HALF = lambda x: x.astype(f16).astype(f32)
# How it is rounded, and how target and golden are written.
TYPES = {"half": (HALF, lambda y: lambda x, rng: y(x, rng).astype(f16), lambda y: y), "brain": (bf16, as_bf16, as_safetensors)}


def layer(rounded, a, b, bias=0):
    return rounded((rounded(rounded(a.astype(f32)) @ rounded(b.astype(f32))) + bias).astype(f32))


def exactly(x):
    return x.astype(f32)


# Operands, from which a maker of the tensor follows: how it is computed is left open.
def rows(count, width):
    return lambda rng: (rng.normal(0, 1, (count, 32)), rng.normal(0, 0.2, (32, width)), rng.normal(0, 3, width))


def maps(channels, size):
    def make(rng):
        y, x = np.mgrid[0:size, 0:size] / size
        waves = [np.sin(2 * np.pi * (f * x + g * y) + p) for f, g, p in zip(rng.uniform(0, 2, 8), rng.uniform(0, 2, 8), rng.uniform(0, 6, 8))]
        return rng.normal(0, 0.5, (channels, 8)), np.stack(waves).reshape(8, -1), rng.normal(0, 1, (channels, 1))
    return make


def as_map(y):
    return y.reshape(1, y.shape[0], *[int(np.sqrt(y.shape[1]))] * 2)


def quiet(y, axis):
    """The third index of an axis is a quarter as large as it was: no number of the whole tensor tells about it."""
    y = y.copy()
    y[(slice(None),) * axis + (2,)] /= 4
    return y


def scaled(v, share):
    return v * f32(1 + share)


def shifted(v, share):
    """By a part of golden's own size: a bias that was lost, say."""
    return v + f32(share * np.sqrt(np.mean(v**2)))


SHARES = (0.07, 0.15, 0.2, 0.28)
DAMAGES = {
    **{f"{name}_sample_{int(100 * share)}": (make, lambda y: y, 0, scaled, share) for (name, make), share in
       itertools.product({"logits": rows(8, 20), "tokens": rows(32, 64), "embeddings": rows(12, 128)}.items(), SHARES)},
    **{f"{name}_channel_{int(100 * share)}": (make, as_map, 1, scaled, -share) for (name, make), share in
       itertools.product({"map": maps(12, 16), "many": maps(64, 8)}.items(), SHARES)},
    **{f"map_{word}_{int(100 * share)}": (maps(12, 16), as_map, axis, shifted, share) for (word, axis), share in
       itertools.product({"bias": 1, "row": 2, "column": 3}.items(), SHARES)},
}  # fmt: skip


def _slightly(y, axis, change):
    y = y.copy()
    at = (slice(None),) * axis + (2,)
    y[at] = change(y[at], f32(0.012))
    return y


def damaged(trap, honest):
    """Most of a slice is still there: no failure, but it must be said."""
    for name, (make, shaped, axis, change, share) in DAMAGES.items():
        golden = lambda x, _, shaped=shaped, axis=axis: quiet(shaped(layer(exactly, *x)), axis)
        computed = lambda x, rng, shaped=shaped, axis=axis: quiet(shaped(layer(HALF, *x)), axis).astype(f16)

        def wrong(x, rng, computed=computed, axis=axis, change=change, share=share):
            y = computed(x, rng).astype(f32)
            at = (slice(None),) * axis + (2,)
            y[at] = change(y[at], share)
            return y.astype(f16)
        yield honest(f"damaged/{name}", "a slice is off by less than a third", pair(make, wrong, golden), expect="pass warning:slice_rel_euclid")
        little = lambda x, rng, exact=golden, axis=axis, change=change: _slightly(exact(x, rng), axis, change)
        if name.startswith(("tokens", "many", "map_row", "map_column")):  # of few slices one may break a limit
            yield honest(f"damaged/{name}_float32", "no rounding of float32 is that large", pair(make, little, golden), expect="pass warning:slice_rel_euclid")
        yield honest(f"damaged/{name}_quantized", "the same by a profile for eight bits", pair(make, wrong, golden), "--profile", "quantized",
                     expect="pass warning:slice_rel_euclid" if share > 0.1 else "pass")
        yield honest(f"damaged/{name}_not", "rounding alone", pair(make, computed, golden), expect="pass")


def massive(trap, honest):
    """Hidden states of which one channel is large and one value huge; what nearly cancels in the quiet ones is rounding."""
    for tokens, width, k, (word, (rounded, written, as_golden)) in itertools.product((9, 12, 24), (32, 64), range(6), TYPES.items()):
        def before(rng, tokens=tokens, width=width):
            x = rng.normal(0, 1, (tokens, width))
            x[:, 5] += 60
            x[0, 7] = 1500
            return x, rng.normal(0, 1, (tokens, width)), rng.normal(0, width**-0.5, (width, width))

        def hidden(x, how):
            return how((how(x[0].astype(f32)) + layer(how, x[1], x[2])).astype(f32))
        computed = lambda x, rng, rounded=rounded, hidden=hidden: hidden(x, rounded)

        def lost(x, rng, computed=computed):
            y = computed(x, rng).copy()
            y[rng.integers(1, len(y)), 8:] = 0
            return y
        golden = lambda x, _, hidden=hidden: hidden(x, exactly)
        name = f"massive/{tokens}x{width}_{word}_{k}"
        yield honest(name, "sums that nearly cancel", pair(before, written(computed), as_golden(golden)), expect="pass")
        yield trap(f"{name}_lost", "the quiet channels of one token are zero", pair(before, written(lost), as_golden(golden)), "fail limit:slice_rel_euclid")


FAMILIES = (damaged, massive)
