#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Collects what msaccucmp printed as KullbackLeiblerDivergence: writes kl_vectors.json.

usage: make_kl_vectors.py DIR     DIR holds npu/ (Ascend dumps), golden/ (npy), expected/full/result.csv
"""
import csv
import json
import pathlib
import sys

import numpy as np

WANTED = ("noise negated scaled2 zero_left zero_right golden_has_zeros const_diff const_vs_var const_neg scalar_1x1_diff "
          "uint8_wrap int8_vs_f32 float64 huge_1e20 tiny_1e-20 below_eps_right fp16_vs_fp32 bool_vs_f32").split()

root = pathlib.Path(sys.argv[1])
vectors = []
for row in csv.reader((root / "expected/full/result.csv").open()):
    name = row[2]
    if name not in WANTED:
        continue
    golden = np.load(next((root / "golden").glob(name + ".0.*.npy")))
    target_type = np.dtype(row[3])
    # The only output of a dump is its end.
    dump = next((root / "npu").glob(f"Op.{name}.*")).read_bytes()
    target = dump[len(dump) - golden.size * target_type.itemsize:]
    vectors.append({"name": name, "target": {"dtype": str(target_type), "bytes": target.hex()},
                    "golden": {"dtype": str(golden.dtype), "bytes": golden.tobytes().hex()}, "kl": float(row[13])})
assert len(vectors) == len(WANTED)
with open("kl_vectors.json", "w") as f:
    f.write('{"vectors": [\n' + ",\n".join(map(json.dumps, vectors)) + "\n]}\n")
