#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packs layout conversions done by the vendor's reference tool for tests/tensor.

Input: a directory of Ascend dump test vectors whose expect/<case>/<run>/ holds the npy files that
msprobe's `msaccucmp.py convert` wrote, as stored (run `npy`) and converted (runs `f-<FORMAT>`).
Output: vectors.bin, the raw elements one after the other, and vectors.txt, one line for each pair:

  name layout groups item_bytes stored_shape logical_shape|- order|- stored_offset plain_offset

usage: make_vectors.py DUMP_VECTORS
"""
import pathlib
import sys

import numpy as np

source = pathlib.Path(sys.argv[1]) / "expect"
here = pathlib.Path(__file__).parent

# case, stored file (run/pattern), plain file, layout, groups, is the logical shape given, order
PAIRS = [
    ("02-fp16-nz", "npy/*.input.0.npy", "f-ND/*.input.0.*.npy", "FRACTAL_NZ", 1, True, "-"),
    ("02-fp16-nz", "npy/*.input.1.npy", "f-ND/*.input.1.*.npy", "FRACTAL_NZ", 1, True, "ND"),
    ("02-fp16-nz", "npy/*.output.0.npy", "f-NCHW/*.output.0.*.npy", "FRACTAL_NZ", 1, True, "NCHW"),
    ("03-conv-5hd", "npy/*.input.0.npy", "f-NCHW/*.input.0.*.npy", "NC1HWC0", 1, True, "-"),
    ("03-conv-5hd", "npy/*.input.0.npy", "f-NHWC/*.input.0.*.npy", "NC1HWC0", 1, False, "NHWC"),
    ("03-conv-5hd", "npy/*.output.0.npy", "f-NCHW/*.output.0.*.npy", "NC1HWC0", 1, True, "NCHW"),
    ("03-conv-5hd", "npy/*.input.1.npy", "f-NCHW/*.input.1.*.npy", "FRACTAL_Z", 1, True, "-"),
    ("05-int8-uint8", "npy/*.input.0.npy", "f-NCHW/*.input.0.*.npy", "NC1HWC0", 1, True, "-"),
    ("05-int8-uint8", "npy/*.output.0.npy", "f-NCHW/*.output.0.*.npy", "NC1HWC0", 1, True, "-"),
    ("10-6hd", "npy/*.input.0.npy", "f-NCDHW/*.input.0.*.npy", "NDC1HWC0", 1, True, "NCDHW"),
    ("10-6hd", "npy/*.output.0.npy", "f-ND/*.output.0.*.npy", "NDC1HWC0", 1, True, "ND"),
    ("11-plain-4d", "npy/*.input.0.npy", "f-NCHW/*.input.0.*.npy", "NHWC", 1, False, "NCHW"),
    ("11-plain-4d", "npy/*.input.0.npy", "f-NCHW/*.input.0.*.npy", "NHWC", 1, True, "-"),
    ("11-plain-4d", "npy/*.input.1.npy", "f-NCHW/*.input.1.*.npy", "HWCN", 1, False, "NCHW"),
    ("11-plain-4d", "npy/*.input.1.npy", "f-NHWC/*.input.1.*.npy", "HWCN", 1, False, "NHWC"),
    # Here the tool went the other way: from NCHW to four groups folded into one block.
    ("20-group-fz", "f-FRACTAL_Z/*.output.0.*.npy", "npy/*.output.0.npy", "FRACTAL_Z", 4, True, "-"),
]

data = b""
lines = []


def append(array):
    global data
    offset = len(data)
    data += np.ascontiguousarray(array).tobytes()
    return offset


def text(shape):
    return "x".join(map(str, shape))


for case, stored_file, plain_file, layout, groups, has_logical, order in PAIRS:
    (stored_path,) = (source / case).glob(stored_file)
    (plain_path,) = (source / case).glob(plain_file)
    stored, plain = np.load(stored_path), np.load(plain_path)
    assert stored.dtype == plain.dtype
    name = f"{case}:{stored_path.name.split('.', 5)[-1]}->{plain_path.parent.name}"
    lines.append(f"{name} {layout} {groups} {stored.itemsize} {text(stored.shape)} "
                 f"{text(plain.shape) if has_logical else '-'} {order} "
                 f"{append(stored)} {append(plain)}")

(here / "vectors.bin").write_bytes(data)
(here / "vectors.txt").write_text("\n".join(lines) + "\n")
