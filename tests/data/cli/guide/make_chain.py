#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes two dumps of a chain of twenty operators and its graph, as atc writes it: every operator adds as much
error as the one before, so that after k of them it is the root of k times as large, and nobody is to blame.

usage: make_chain.py DIR SHARE    writes DIR/target, DIR/golden, DIR/chain.json; SHARE: what one operator adds
"""
import json
import math
import pathlib
import struct
import sys

COUNT, ELEMENTS = 20, 512


def numbers(seed):
    state, values = seed * 2654435761 % 2**32, []
    for _ in range(ELEMENTS):
        total = 0
        for _ in range(12):
            state = (state * 1664525 + 1013904223) % 2**32
            total += state / 2**32
        values.append(total - 6)
    return values


def save(path, values, letter, size):
    header = f"{{'descr': '<f{size}', 'fortran_order': False, 'shape': (1, 8, 8, 8), }}".ljust(117) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = struct.pack(f"<{len(values)}{letter}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def operator(index):
    name = f"layer{index}"
    origin = {"key": "_datadump_origin_name", "value": {"s": name}}, {
        "key": "_datadump_origin_output_index",
        "value": {"i": 0},
    }
    return {
        "name": name,
        "type": "Conv2D" if index else "Data",
        "id": index + 1,
        "input": [f"layer{index - 1}:0"] if index else [],
        "attr": [{"key": "_datadump_original_op_names", "value": {"list": {"val_type": 1, "s": [name]}}}],
        "output_desc": [
            {"dtype": "DT_FLOAT16", "layout": "NCHW", "shape": {"dim": [1, 8, 8, 8]}, "attr": list(origin)}
        ],
    }


root, share = pathlib.Path(sys.argv[1]), float(sys.argv[2])
for index in range(COUNT + 1):
    golden, noise = numbers(index + 1), numbers(index + 1001)
    error = share * math.sqrt(index)
    file = f"layer{index}.0.{1682931000 + index}.npy"
    save(root / "golden" / file, golden, "f", 4)
    save(root / "target" / file, [g + error * n for g, n in zip(golden, noise)], "e", 2)
graph = [operator(index) for index in range(COUNT + 1)]
graph.append({"name": "out", "type": "NetOutput", "id": COUNT + 2, "input": [f"layer{COUNT}:0"], "attr": []})
(root / "chain.json").write_text(json.dumps({"name": "chain", "graph": [{"name": "chain", "op": graph}]}))
