#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the safetensors files of this directory from the description of the format alone.

manifest.json says for each file what is in it: type, shape and bytes of each tensor, or the message
its damage deserves.
"""
import json
import pathlib
import struct

import numpy as np

here = pathlib.Path(__file__).parent
manifest = []


def add(file, header, data=b"", tensors=(), error=None, length=None, properties=None):
    text = header if isinstance(header, bytes) else json.dumps(header, ensure_ascii=False).encode()
    length = len(text) if length is None else length
    (here / file).write_bytes(struct.pack("<Q", length) + text + data)
    entry = {"file": file, "tensors": list(tensors), "properties": properties or {}}
    if error:
        entry["error"] = error
    manifest.append(entry)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# Every type, in one file without any alignment.
TYPES = [("BOOL", "bool", 1), ("F64", "float64", 8), ("U8", "uint8", 1), ("I8", "int8", 1),
         ("U16", "uint16", 2), ("I16", "int16", 2), ("U32", "uint32", 4), ("I32", "int32", 4),
         ("U64", "uint64", 8), ("I64", "int64", 8), ("F16", "float16", 2), ("BF16", "bfloat16", 2),
         ("F32", "float32", 4), ("F8_E4M3", "float8_e4m3fn", 1), ("F8_E5M2", "float8_e5m2", 1),
         ("C64", "complex64", 8)]
header, data, tensors = {"__metadata__": {"format": "pt", "größe": "2"}}, b"", []
for word, dtype, size in TYPES:
    raw = bytes((i * 37 + size) % 251 for i in range(3 * size))
    header[f"as.{word}"] = tensor(word, [3, 1], len(data), len(data) + len(raw))
    tensors.append({"name": f"as.{word}", "dtype": dtype, "shape": [3, 1], "hex": raw.hex()})
    data += raw
add("types.safetensors", header, data, tensors, properties=header["__metadata__"])

# Types that exist there and cannot be decoded here: kept as bytes.
raw = bytes(range(20))
add("opaque.safetensors",
    {"e8": tensor("F8_E8M0", [2, 2], 0, 4), "f4": tensor("F4", [4], 4, 6),
     "f6": tensor("F6_E2M3", [8], 6, 12), "new": tensor("I128", [4], 12, 20)}, raw,
    [{"name": "e8", "dtype": "F8_E8M0", "shape": [2, 2], "hex": raw[:4].hex()},
     {"name": "f4", "dtype": "F4", "shape": [2], "hex": raw[4:6].hex()},
     {"name": "f6", "dtype": "F6_E2M3", "shape": [6], "hex": raw[6:12].hex()},
     {"name": "new", "dtype": "I128", "shape": [8], "hex": raw[12:].hex()}])

# Header order is not data order; scalars, empty tensors, odd names, padding.
floats = np.array([1.5, -2, 3], "<f4").tobytes()
add("order.safetensors",
    json.dumps({"b": tensor("F32", [2], 4, 12), "empty": tensor("F32", [0, 5], 12, 12),
                "": tensor("F32", [], 0, 4)}).encode() + b"   ", floats,
    [{"name": "b", "dtype": "float32", "shape": [2], "hex": floats[4:].hex()},
     {"name": "empty", "dtype": "float32", "shape": [0, 5], "hex": ""},
     {"name": "", "dtype": "float32", "shape": [], "hex": floats[:4].hex()}])
add("nothing.safetensors", {})

one = {"x": tensor("F32", [3], 0, 12)}
text = json.dumps(one).encode()
damaged = "safetensors header is damaged"
long = "safetensors header is cut off or too long"
short = "safetensors file holds less data than its header promises"
add("length_zero.safetensors", one, floats, length=0, error=long)
add("length_one.safetensors", one, floats, length=1, error=long)
add("length_past_end.safetensors", one, floats, length=len(text) + 13, error=long)
add("length_huge.safetensors", one, floats, length=2**64 - 4, error=long)
add("length_cut.safetensors", one, floats, length=len(text) - 1, error=damaged)
add("leading_space.safetensors", b" " + text, floats, error=damaged)
add("not_an_object.safetensors", b"[1, 2]", error=damaged)
add("two_objects.safetensors", text + b"{}", floats, error=damaged)
add("not_utf8.safetensors", text.replace(b"x", b"\xff"), floats, error=damaged)
add("nested.safetensors", b'{"x":' * 2000, error=damaged)
add("nested_lists.safetensors", b'{"x":{"shape":' + b"[" * 2000, error=damaged)
add("number.safetensors", b'{"x":1}', error=damaged)
add("null.safetensors", b'{"x":null}', error=damaged)
add("metadata_number.safetensors", b'{"__metadata__":{"a":1}}', error=damaged)
add("metadata_nested.safetensors", b'{"__metadata__":{"a":{}}}', error=damaged)
add("unknown_key.safetensors",
    {"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12], "more": "x"}}, floats,
    error=damaged)
add("no_dtype.safetensors", {"x": {"shape": [3], "data_offsets": [0, 12]}}, floats, error=damaged)
add("no_shape.safetensors", {"x": {"dtype": "F32", "data_offsets": [0, 12]}}, floats, error=damaged)
add("no_offsets.safetensors", {"x": {"dtype": "F32", "shape": [3]}}, floats, error=damaged)
add("one_offset.safetensors", {"x": {"dtype": "F32", "shape": [3], "data_offsets": [0]}}, floats,
    error=damaged)
add("three_offsets.safetensors", {"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12, 12]}},
    floats, error=damaged)
add("dtype_twice.safetensors",
    b'{"x":{"dtype":"F32","dtype":"F32","shape":[3],"data_offsets":[0,12]}}', floats, error=damaged)
add("shape_twice.safetensors",
    b'{"x":{"dtype":"F32","shape":[1],"shape":[3],"data_offsets":[0,12]}}', floats, error=damaged)
add("shape_negative.safetensors", {"x": tensor("F32", [-3], 0, 12)}, floats, error=damaged)
add("shape_fraction.safetensors", {"x": tensor("F32", [3.0], 0, 12)}, floats, error=damaged)
add("shape_beyond_int64.safetensors", {"x": tensor("F32", [2**63], 0, 12)}, floats, error=damaged)
add("shape_beyond_uint64.safetensors", {"x": tensor("F32", [2**64], 0, 12)}, floats, error=damaged)
add("shape_overflow.safetensors", {"x": tensor("F32", [2**40, 2**40], 0, 12)}, floats,
    error="safetensors entry is impossibly large")
add("shape_overflow_empty.safetensors", {"x": tensor("F32", [2**40, 2**40, 0], 0, 0)},
    error="safetensors entry is impossibly large")
add("wrong_size.safetensors", {"x": tensor("F32", [4], 0, 12)}, floats,
    error="safetensors entry has the wrong size")
add("backwards.safetensors", {"x": tensor("F32", [3], 12, 0)}, floats,
    error="safetensors entry ends before it begins")
add("wrapped.safetensors", {"x": tensor("F32", [3], 2**64 - 12, 2**64 - 0)}, floats, error=damaged)
add("far.safetensors", {"x": tensor("F32", [3], 2**64 - 100, 2**64 - 88)}, floats, error=short)
add("truncated.safetensors", one, floats[:-1], error=short)
add("surplus.safetensors", one, floats + b"x",
    error="safetensors file has bytes that belong to no tensor")
add("gap.safetensors", {"x": tensor("F32", [1], 0, 4), "y": tensor("F32", [1], 8, 12)}, floats,
    error="safetensors file has a gap between tensors")
add("gap_at_start.safetensors", {"x": tensor("F32", [2], 4, 12)}, floats,
    error="safetensors file has a gap between tensors")
add("overlap.safetensors", {"x": tensor("F32", [2], 0, 8), "y": tensor("F32", [2], 4, 12)}, floats,
    error="safetensors entries overlap")
add("same_data.safetensors", {"x": tensor("F32", [3], 0, 12), "y": tensor("F32", [3], 0, 12)}, floats,
    error="safetensors entries overlap")
add("same_name.safetensors",
    b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
    b'"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}', floats,
    error="safetensors file holds two tensors of the same name")

(here / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
