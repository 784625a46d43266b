#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes deflated.npz: two chunks and a bit of int8, small once packed. tests/compare/gather_test.cpp
# makes the same numbers again and has the checksums that this prints.
import pathlib
import zlib

import numpy as np

values = (np.arange(2 * 32 * 65536 + 5) % 251 - 125).astype("i1")
np.savez_compressed(pathlib.Path(__file__).with_name("deflated.npz"), values)
print(f"deflated.npz: {zlib.crc32(values.tobytes()):08x}")
print(f"halves: {zlib.crc32((np.arange(1000) * 0.5 - 250).astype('f4').tobytes()):08x}")
