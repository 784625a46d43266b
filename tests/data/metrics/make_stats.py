#!/usr/bin/python3
"""Expected statistics for tests/metrics/tensor_stats_test.cpp, from numpy in long double.

Writes stats.txt: one line per case, `name dtype count seed min max mean std l2 zeros`.
The values are regenerated in C++ from the seed by the same 64-bit generator (splitmix64).
"""
import numpy as np


def splitmix(seed, n):
    out = np.empty(n, np.uint64)
    state = np.uint64(seed)
    with np.errstate(over="ignore"):
        for i in range(n):
            state = state + np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            out[i] = z ^ (z >> np.uint64(31))
    return out


def uniform(seed, n):  # [-1, 1), exact in double
    return (splitmix(seed, n) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def line(name, dtype, seed, n, scale, shift):
    x = uniform(seed, n) * scale + shift
    x = (x.astype(np.float32) if dtype == "float16" else x).astype(dtype)  # as the test rounds
    w = x.astype(np.longdouble)
    mean = w.mean()
    std = np.sqrt(((w - mean) ** 2).mean())
    l2 = np.sqrt((w * w).sum())
    return " ".join(map(str, [name, dtype, n, seed, repr(float(scale)), repr(float(shift)), x.min(), x.max(),
                              repr(float(mean)), repr(float(std)), repr(float(l2)), int((x == 0).sum())]))


cases = [
    ("one", "float32", 1, 1, 1.0, 0.0),
    ("tail", "float32", 2, 2049, 1.0, 0.0),
    ("plain", "float32", 3, 100003, 3.0, 0.5),
    ("far-from-zero", "float32", 4, 50000, 1.0, 30000.0),
    ("tiny", "float32", 5, 4097, 1e-38, 0.0),
    ("double", "float64", 6, 70001, 1.0, 1e9),
    ("bytes", "int8", 7, 33333, 127.0, 0.0),
    ("words", "int32", 8, 33333, 2e9, 0.0),
    ("half", "float16", 9, 33333, 1000.0, 0.0),
    ("long", "int64", 10, 5000, 9e18, 0.0),
]
with open("stats.txt", "w") as f:
    for c in cases:
        f.write(line(c[0], c[1], c[2], c[3], c[4], c[5]) + "\n")
