#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a gt folder of Pulsar whose joint/ has exactly the cosine asked for to its onnx/, and the files of a board
that gives the same bytes.

usage: make_gt.py DIR COSINE      writes DIR/input, DIR/onnx, DIR/joint and DIR_board
"""
import math
import pathlib
import struct
import sys


def save(path, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {len(values)}), }}".ljust(117) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + packed(values))


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


root, cosine = pathlib.Path(sys.argv[1]), float(sys.argv[2])
golden = [math.sin(1 + i) for i in range(64)]
other = [math.cos(3 + 2 * i) for i in range(64)]
# What of it is orthogonal to golden, made as long as that: cos(a) golden + sin(a) other has the cosine cos(a).
part = sum(g * o for g, o in zip(golden, other)) / sum(g * g for g in golden)
other = [o - part * g for g, o in zip(golden, other)]
length = math.sqrt(sum(g * g for g in golden) / sum(o * o for o in other))
target = [cosine * g + math.sqrt(1 - cosine * cosine) * length * o for g, o in zip(golden, other)]
save(root / "input" / "data.npy", [0.0] * 4)
save(root / "onnx" / "prob.npy", golden)
save(root / "joint" / "prob.npy", target)
board = pathlib.Path(f"{root}_board")
board.mkdir(exist_ok=True)
(board / "prob.bin").write_bytes(packed(target))
