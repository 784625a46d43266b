#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the npy files of this directory with numpy itself, and manifest.json.

For each file the manifest gives type, shape and the elements in row-major order as little-endian
bytes. Text, dates and void are their bytes as stored, which are one more axis. "canonical" marks files that our own writer must reproduce byte for byte.
"""
import json
import pathlib

import numpy as np
from numpy.lib import format as npy

here = pathlib.Path(__file__).parent
manifest = []


def save(name, array, dtype, version=(1, 0), canonical=False):
    with open(here / f"{name}.npy", "wb") as f:
        npy.write_array(f, array, version)
    is_number = array.dtype.kind in "biufc"
    little = array.astype(array.dtype.newbyteorder("<"), order="C") if is_number else array
    shape = list(array.shape) + ([] if is_number else [array.itemsize])
    manifest.append({"file": f"{name}.npy", "canonical": canonical,
                     "tensors": [{"name": "", "dtype": dtype, "shape": shape,
                                  "hex": little.tobytes().hex()}]})


def values(code, shape):
    """Values that use all bytes of an element, with the odd ones first where there are any."""
    count = int(np.prod(shape))
    kind = np.dtype(code).kind
    if kind == "b":
        return (np.arange(count) % 3 == 0).reshape(shape)
    if kind in "iu":
        info = np.iinfo(code)
        odd = [info.min, info.max, 0, 1, 0x0102030405060708 & int(info.max)]
        return np.array([odd[i % 5] for i in range(count)], code).reshape(shape)
    odd = [np.nan, np.inf, -np.inf, -0.0, 1.5, np.finfo(code).tiny]
    flat = np.array([odd[i % 6] for i in range(count)], code)
    if kind == "c":
        flat.imag = np.arange(count) - 1.25
    return flat.reshape(shape)


TYPES = {"?": "bool", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32",
         "u4": "uint32", "i8": "int64", "u8": "uint64", "f2": "float16", "f4": "float32",
         "f8": "float64", "c8": "complex64", "c16": "complex128"}

for code, dtype in TYPES.items():
    word = code.replace("?", "b1")
    save(f"{word}_little", values(code, (2, 3)), dtype, canonical=True)
    save(f"{word}_big", values(code, (5,)).astype(np.dtype(code).newbyteorder(">")), dtype)
    save(f"{word}_fortran", np.asfortranarray(values(code, (2, 3, 2))), dtype)

save("fortran_big", np.asfortranarray(values("f4", (3, 4)).astype(">f4")), "float32")
save("scalar", np.array(-2.5, "f4"), "float32", canonical=True)
save("one_element", np.array([7], "i8"), "int64", canonical=True)
save("empty", np.zeros((0,), "f4"), "float32", canonical=True)
save("empty_inside", np.zeros((2, 0, 3), "f8"), "float64", canonical=True)
save("empty_fortran", np.zeros((2, 0, 3), "f8", order="F"), "float64")
save("many_axes", values("i2", (1, 2, 1, 3, 1, 2)), "int16", canonical=True)
save("version2", values("f4", (3,)), "float32", version=(2, 0))
save("version3", values("f4", (3,)), "float32", version=(3, 0))
save("dates", np.array(["2020-01-01", "NaT"], "M8[s]"), "M8[s]")
save("durations", np.array([1, -5], ">m8[ms]"), "m8[ms]")
save("text", np.array(["one", "zwei"]), "U4")
save("text_big", np.array(["one", "zwei"]).astype(">U4"), "U4")
save("text_fortran", np.asfortranarray([["a", "bc", "d"], ["e", "f", "gh"]]), "U2")
save("text_bytes", np.array([b"one", b"zwei"]), "S4")
save("text_scalar", np.array("word"), "U4")
save("void", np.frombuffer(b"abcdefgh", "V4"), "V4")

# What numpy itself must refuse or what only other writers make is in npy_test.cpp.
(here / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
