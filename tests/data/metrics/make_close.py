#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes close.json: pairs of arrays, tolerances, and how many elements numpy's isclose calls close (in float64; 64-bit
integers by Python's own, which have no limit). Complex numbers count as two values, as in the sums."""
import json
import pathlib

import numpy as np

rng = np.random.default_rng(3)
NAN, INF = np.nan, np.inf
cases = []


def add(name, target, golden, atol, rtol):
    t, g = np.asarray(target), np.asarray(golden)
    if t.dtype.kind in "iu" and t.dtype.itemsize == 8:
        close = sum(abs(int(a) - int(b)) <= atol + rtol * abs(int(b)) for a, b in zip(t, g))
    else:
        wide = np.complex128 if t.dtype.kind == "c" else np.float64
        close = int(np.isclose(t.astype(wide), g.astype(wide), rtol=rtol, atol=atol, equal_nan=True).sum())
        close *= 2 if t.dtype.kind == "c" else 1
    cases.append({"name": name, "atol": atol, "rtol": rtol, "close": close, "count": t.size * (1 + (t.dtype.kind == "c")),
                  "target": {"dtype": str(t.dtype), "bytes": t.tobytes().hex()},
                  "golden": {"dtype": str(g.dtype), "bytes": g.tobytes().hex()}})


f4 = np.float32
add("one element, at the limit", np.array([1.5], f4), np.array([1.0], f4), 0.5, 0)
add("just beyond", np.array([1.5000001], f4), np.array([1.0], f4), 0.5, 0)
add("golden is zero", np.array([1e-9, 0, 1e-7], f4), np.array([0, 0, 0], f4), 1e-8, 0.5)
add("relative to golden, not to target", np.array([2.0, 1.0], f4), np.array([1.0, 2.0], f4), 0, 0.5)
add("NaN and infinities", np.array([NAN, 1, INF, -INF, INF, 1], f4), np.array([NAN, NAN, INF, INF, 1, INF], f4), 1e30, 1e30)
add("no tolerance at all", np.array([1, 2, 3], f4), np.array([1, 2, 3.0000002], f4), 0, 0)
add("differences that overflow", np.array([1e308, 1.0]), np.array([-1e308, 1.0]), 1e300, 0)
add("integers that a double does not hold", np.array([2**62 + 1, 2**62 + 3, -5], np.int64),
    np.array([2**62, 2**62, -4], np.int64), 1, 0)
add("unsigned ones", np.array([2**64 - 1, 0], np.uint64), np.array([2**64 - 3, 2], np.uint64), 2, 0)
add("bytes", np.array([0, 255, 7], np.uint8), np.array([255, 0, 8], np.uint8), 1, 0)
add("complex numbers by their size", np.array([3 + 4j, 1 + 1j], np.complex64), np.array([0j, 1 + 1.9j], np.complex64), 1, 0.1)
golden = rng.normal(0, 1, 300)
for dtype in (np.float16, np.float32, np.float64):
    g = golden.astype(dtype)
    t = (golden + rng.normal(0, 0.01, 300) * (1 + np.abs(golden))).astype(dtype)
    for atol, rtol in ((0.01, 0), (0, 0.01), (0.01, 0.01), (0.005, 0.02)):
        add(f"noise in {np.dtype(dtype)}, {atol} and {rtol}", t, g, atol, rtol)
path = pathlib.Path(__file__).with_name("close.json")
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
