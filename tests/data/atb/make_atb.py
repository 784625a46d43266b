#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the ATB tensor files here and, with numpy, the arrays they hold.

A file is lines of text, name=value, up to `$End=1`, then the elements; types have the graph engine's
numbers. Run in this folder.
"""
import numpy as np


def save(name, dtype_number, dims, raw, expected, extra=""):
    header = (f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(raw)}\nformat=2\n"
              f"dtype={dtype_number}\ndims={dims}\n{extra}$Object.data=0,{len(raw)}\n$End=1\n")
    with open(name + ".bin", "wb") as out:
        out.write(header.encode() + raw)
    np.save(name + ".npy", expected)


rng = np.random.default_rng(20240501)
half = rng.standard_normal((2, 3)).astype(np.float16)
save("float16", 1, "2,3", half.tobytes(), half)
wide = rng.integers(-2**62, 2**62, (4, 1, 2), dtype=np.int64)
save("int64", 9, "4,1,2", wide.tobytes(), wide)
flags = rng.integers(0, 2, 7).astype(bool)
save("bool", 12, "7", flags.tobytes(), flags, extra="$Object.other=12,34\n")
words = rng.integers(0, 2**16, (5, 5)).astype(np.uint16)
words &= 0xBFFF  # no infinities, no NaN
save("bfloat16", 27, "5,5", words.tobytes(), (words.astype(np.uint32) << 16).view(np.float32))
