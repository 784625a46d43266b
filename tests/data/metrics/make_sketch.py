#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes sketch.txt: the projection of a small tensor, by numpy, bucket by bucket.

The definition is that of src/metrics/sketch.h. Files hold sketches for years: the hash must not change.
"""
import pathlib

import numpy as np

ROWS, BUCKETS, SEED = 3, 512, 0x706C756D626C696E
values = np.array([((i * 7919) % 2003 - 1001) / 64 for i in range(1500)])

index = np.arange(1, len(values) + 1, dtype=np.uint64)
with np.errstate(over="ignore"):
    x = np.uint64(SEED) + index * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
sums = np.zeros((ROWS, BUCKETS))
for row in range(ROWS):
    bits = x >> np.uint64(10 * row)
    sign = np.where(bits & np.uint64(512), -1.0, 1.0)
    np.add.at(sums[row], (bits & np.uint64(511)).astype(int), sign * values)  # exact: all are n/64
projection = (sums / np.sqrt(np.sum(values**2))).astype(np.float32)
with open(pathlib.Path(__file__).parent / "sketch.txt", "w", encoding="ascii") as out:
    out.write("".join(f"{v:.9g}\n" for v in projection.ravel()))
