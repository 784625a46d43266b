#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes promotion.txt: the type of an array that numpy makes of numbers of two types, for every pair."""
import itertools
import pathlib

import numpy as np

TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
with open(pathlib.Path(__file__).parent / "promotion.txt", "w", encoding="ascii") as out:
    for a, b in itertools.product(TYPES, TYPES):
        rows = [[np.dtype(a).type(0), np.dtype(a).type(1)], [np.dtype(b).type(0), np.dtype(b).type(1)]]
        out.write(f"{a} {b} {np.array(rows).dtype}\n")
