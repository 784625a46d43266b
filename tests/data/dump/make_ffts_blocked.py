#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ffts_blocked/: an operator that ran as three FFTS+ slices in the layout NC1HWC0, and its output
in plain order. The header is encoded by hand from the public dump schema; numpy does the layout."""
import json
import os
import struct

import numpy as np


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape(dims):
    return field(1, b"".join(varint(d) for d in dims))


here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ffts_blocked")
os.makedirs(here, exist_ok=True)
plain = np.random.default_rng(7).standard_normal((1, 20, 5, 3)).astype(np.float16)  # NCHW
padded = np.zeros((1, 32, 5, 3), np.float16)
padded[:, :20] = plain
blocked = padded.reshape(1, 2, 16, 5, 3).transpose(0, 1, 3, 4, 2)  # N C1 H W C0
cuts = [(0, 2), (2, 4), (4, 5)]
regions = [[[{"lower": 0, "higher": 1}, {"lower": 0, "higher": 2}, {"lower": a, "higher": b},
             {"lower": 0, "higher": 3}, {"lower": 0, "higher": 16}]] for a, b in cuts]
attribute = json.dumps({"threadMode": True, "slice_instance_num": 3, "outputCutList": [[1, 1, 3, 1, 1]],
                        "input_tensor_slice": [], "output_tensor_slice": regions}).encode()
for thread, (a, b) in enumerate(cuts):
    data = np.ascontiguousarray(blocked[:, :, a:b]).tobytes()
    output = (field(1, 2) + field(2, 3) + field(3, shape(blocked.shape)) + field(6, len(data)) +
              field(7, shape(plain.shape)))
    header = (field(1, b"2.0") + field(2, 1700000000000030 + thread) + field(3, output) +
              field(6, b"net/conv") + field(7, field(1, b"slices") + field(2, attribute)))
    name = f"Conv2D.net_conv.9.7.{1700000000000030 + thread}.4.3.{thread}.0"
    with open(os.path.join(here, name), "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + data)
np.save(os.path.join(here, "expected.npy"), plain)
