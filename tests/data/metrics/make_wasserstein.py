#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes wasserstein.json: pairs as quantization leaves them, and the 1-Wasserstein distance of their values over golden's range.

By definition, in float64: the mean distance between the sorted values. Nothing is rounded to steps here, so the
program may be off by one step, 1/2048.
"""
import json
import pathlib

import numpy as np

rng = np.random.default_rng(20240611)
COUNT = 400
normal = rng.standard_normal(COUNT).astype("f4")
relu = np.maximum(normal, 0)
tailed = rng.standard_t(2, COUNT).astype("f4")


def quantized(values, low, high, bits=8):
    """Rounded to the steps of an unsigned integer between two numbers, and back."""
    step = (high - low) / (2**bits - 1)
    return (low + step * np.clip(np.round((values - low) / step), 0, 2**bits - 1)).astype("f4")


shuffled = normal.copy()
rng.shuffle(shuffled)
with_nan = (normal * 1.25).astype("f4")
with_nan[[3, 77]] = np.nan
outlier = normal.copy()
outlier[5] = 1e6

CASES = [  # name, target, golden
    ("int8 over the whole range", quantized(normal, normal.min(), normal.max()), normal),
    ("int4 over the whole range", quantized(normal, normal.min(), normal.max(), 4), normal),
    ("calibrated too narrow", quantized(normal, -1, 1), normal),
    ("calibrated too wide", quantized(normal, -100, 100), normal),
    ("zero point off", quantized(normal, normal.min(), normal.max()) + np.float32(0.2), normal),
    ("half of the values cut off", relu, normal),
    ("zeros", quantized(relu, 0, relu.max()), relu),
    ("heavy tails", quantized(tailed, -5, 5), tailed),
    ("scale off, NaN left out", with_nan, normal),
    ("noise", normal + (0.05 * rng.standard_normal(COUNT)).astype("f4"), normal),
    ("another order", shuffled, normal),
    ("one value far away", outlier, normal),
    ("another sign", -tailed, tailed),
    ("float16", normal.astype("f2"), normal),
    ("int8 codes", np.clip(np.round(normal * 60), -128, 127).astype("i1"), np.clip(np.round(normal * 50), -128, 127).astype("i1")),
]


def distance(target, golden):
    finite = np.isfinite(target) & np.isfinite(golden)
    t, g = target[finite].astype("f8"), golden[finite].astype("f8")
    return np.mean(np.abs(np.sort(t) - np.sort(g))) / (g.max() - g.min())


def tensor(array):
    return {"dtype": array.dtype.name, "bytes": array.tobytes().hex()}


lines = [json.dumps({"name": name, "target": tensor(t), "golden": tensor(g), "distance": distance(t, g)}) for name, t, g in CASES]
path = pathlib.Path(__file__).parent / "wasserstein.json"
path.write_text('{"cases": [\n' + ",\n".join(lines) + "\n]}\n", encoding="ascii")
