#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes TensorProto messages field by field, and beside each the array that numpy says it holds
(for types that numpy lacks, the codes). If the onnx package is there, it checks what it understands.

With an argument it prints what the test data of the ONNX project hold instead, as read by the onnx
package: make_onnx_tensor.py /usr/share/libonnx-testdata (Debian's libonnx-testdata)."""
import os
import struct
import sys
import zlib

import numpy as np

try:
    import onnx
    from onnx import numpy_helper
except ImportError:
    onnx = None

here = os.path.dirname(os.path.abspath(__file__))
FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, HALF = range(1, 11)
DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128, BFLOAT16, E4M3FN, E4M3FNUZ, E5M2 = range(11, 20)
UINT4, INT4 = 21, 22


def varint(value):
    value &= (1 << 64) - 1  # negative numbers take ten bytes
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, payload):
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def packed(field, values):
    return data(field, b"".join(varint(int(v)) for v in values))


def message(dims, kind, *fields, name=b"x"):
    return b"".join([number(1, d) for d in dims] + [number(2, kind)] + list(fields)) + data(8, name)


def save(name, content, expected=None, check=True):
    with open(os.path.join(here, name + ".pb"), "wb") as f:
        f.write(content)
    if expected is None:
        return
    np.save(os.path.join(here, name + ".npy"), expected)
    if onnx and check:
        tensor = onnx.TensorProto.FromString(content)
        theirs = numpy_helper.to_array(tensor)
        assert theirs.dtype == expected.dtype and theirs.shape == expected.shape, name
        assert theirs.tobytes() == expected.tobytes(), name


def make():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3)).astype("f4")
    ints = np.array([0, 1, -1, 127, -128], "i1")

    # raw_data
    for code, kind in [("f4", FLOAT), ("u1", UINT8), ("i1", INT8), ("u2", UINT16), ("i2", INT16),
                       ("i4", INT32), ("i8", INT64), ("?", BOOL), ("f2", HALF), ("f8", DOUBLE),
                       ("u4", UINT32), ("u8", UINT64), ("c8", COMPLEX64), ("c16", COMPLEX128)]:
        array = (x * 50).astype(code)
        save("raw_" + array.dtype.name, message((2, 3), kind, data(9, array.tobytes())), array)
    save("raw_scalar", message((), FLOAT, data(9, x[0, 0].tobytes())), x[0, 0])
    save("raw_empty", message((0, 3), FLOAT), np.zeros((0, 3), "f4"))
    codes = np.arange(0, 256, 7, dtype="u1")
    save("raw_bfloat16", message((3,), BFLOAT16, data(9, codes[:6].tobytes())), codes[:6].view("u2"),
         check=False)
    for name, kind in [("float8_e4m3fn", E4M3FN), ("float8_e5m2", E5M2), ("float8_e4m3fnuz", E4M3FNUZ)]:
        save("raw_" + name, message((37,), kind, data(9, codes.tobytes())), codes, check=False)
    # Low nibble first: 1, -1, 7, -8, 3 and four zero bits.
    save("raw_int4", message((5,), INT4, data(9, b"\xf1\x87\x03")), np.array([1, -1, 7, -8, 3], "i1"),
         check=False)
    save("raw_uint4", message((5,), UINT4, data(9, b"\xf1\x87\x03")), np.array([0xF1, 0x87, 3], "u1"),
         check=False)

    # typed fields
    save("float_data", message((2, 3), FLOAT, data(4, x.tobytes())), x)
    save("float_data_pieces", message((2, 3), FLOAT, data(4, x[0].tobytes()), data(4, x[1].tobytes())), x)
    save("float_data_unpacked", message((2, 3), FLOAT, *[varint(4 << 3 | 5) + v.tobytes() for v in x.ravel()]), x)
    # onnx 1.12 stumbles over its own pairs of floats, hence no check.
    z = (x + 1j * x[::-1]).astype("c8")
    save("float_data_complex", message((2, 3), COMPLEX64, data(4, z.tobytes())), z, check=False)
    save("double_data", message((3,), DOUBLE, data(10, x[0].astype("f8").tobytes())), x[0].astype("f8"))
    save("double_data_unpacked", message((3,), DOUBLE, *[varint(10 << 3 | 1) + struct.pack("<d", v) for v in x[0]]),
         x[0].astype("f8"))
    save("double_data_complex", message((2,), COMPLEX128, data(10, z[0, :2].astype("c16").tobytes())),
         z[0, :2].astype("c16"), check=False)
    save("int32_data_int8", message((5,), INT8, packed(5, ints)), ints)
    save("int32_data_uint8", message((5,), UINT8, packed(5, ints.view("u1"))), ints.view("u1"))
    save("int32_data_int16", message((3,), INT16, packed(5, [-32768, 32767, -1])), np.array([-32768, 32767, -1], "i2"))
    save("int32_data_uint16", message((2,), UINT16, packed(5, [65535, 1])), np.array([65535, 1], "u2"))
    save("int32_data_int32", message((3,), INT32, packed(5, [-(2**31), 2**31 - 1, -1])),
         np.array([-(2**31), 2**31 - 1, -1], "i4"))
    save("int32_data_unpacked", message((5,), INT8, *[number(5, int(v)) for v in ints]), ints)
    save("int32_data_bool", message((3,), BOOL, packed(5, [1, 0, 1])), np.array([True, False, True]))
    half = x.astype("f2")
    save("int32_data_float16", message((2, 3), HALF, packed(5, half.view("u2").ravel())), half)
    save("int32_data_bfloat16", message((2,), BFLOAT16, packed(5, [0x3F80, 0xC000])),
         np.array([0x3F80, 0xC000], "u2"), check=False)
    save("int32_data_float8_e4m3fn", message((37,), E4M3FN, packed(5, codes)), codes, check=False)
    save("int32_data_int4", message((5,), INT4, packed(5, [0xF1, 0x87, 0x03])),
         np.array([1, -1, 7, -8, 3], "i1"), check=False)
    save("int64_data", message((3,), INT64, packed(7, [-(2**63), 2**63 - 1, -1])),
         np.array([-(2**63), 2**63 - 1, -1], "i8"))
    save("uint64_data_uint32", message((2,), UINT32, packed(11, [2**32 - 1, 0])), np.array([2**32 - 1, 0], "u4"))
    save("uint64_data_uint64", message((2,), UINT64, packed(11, [2**64 - 1, 0])), np.array([2**64 - 1, 0], "u8"))
    save("packed_dims", packed(1, (2, 3)) + number(2, FLOAT) + data(9, x.tobytes()), x)
    many = np.arange(1500, dtype="f4")  # goes on behind the bytes that are looked at first
    save("long", message((1500,), FLOAT, data(9, many.tobytes())), many)
    counts = (np.arange(3000) % 5).astype("u1")
    save("long_unpacked", message((3000,), UINT8, *[number(5, int(v)) for v in counts]), counts)

    # refused: what is said is in onnx_tensor_test.cpp
    save("text", message((2,), STRING, data(6, b"a"), data(6, b"bc")))
    save("external", message((2,), FLOAT, data(13, data(1, b"location") + data(2, b"weights.bin")), number(14, 1)))
    save("undefined", message((2,), 0, data(9, bytes(8))))
    save("unknown_type", message((2,), 99, data(9, bytes(8))))
    save("too_short", message((3,), FLOAT, data(9, bytes(8))))
    save("too_few", message((3,), INT8, packed(5, [300])))
    save("too_many", message((2,), INT8, packed(5, [1, 2, 3])))
    save("too_wide", message((2,), INT8, packed(5, [1, 300])))
    save("two_kinds", message((1,), FLOAT, data(4, bytes(4)), data(9, bytes(4))))
    save("wrong_field", message((1,), INT64, packed(5, [1])))
    save("negative_shape", message((-1,), FLOAT, data(9, bytes(4))))
    save("huge_shape", message((2**40, 2**40), FLOAT, data(9, bytes(4))))
    # not a tensor: SequenceProto and OptionalProto of ONNX, with and without content
    save("not_sequence", data(1, b"s") + number(2, 1) + data(3, message((1,), FLOAT, data(9, bytes(4)))))
    save("not_sequence_empty", data(1, b"s") + number(2, 1))
    save("not_optional_sequence", data(1, b"opt") + number(2, 3) + data(5, number(2, 1) + data(3, bytes(9))))
    save("not_optional", number(2, 1) + data(3, message((1,), FLOAT, data(9, bytes(4)))))


def survey(root):
    """Counts, and one checksum over every tensor's type, shape and bytes in order of the paths."""
    paths = sorted(os.path.join(folder, f) for folder, _, files in os.walk(root) for f in files
                   if f.endswith(".pb"))
    tensors = refused = crc = 0
    for path in paths:
        with open(path, "rb") as f:
            content = f.read()
        tensor = onnx.TensorProto.FromString(content)
        known = onnx.TensorProto.FromString(content)
        known.DiscardUnknownFields()
        # SequenceProto and OptionalProto have no raw data, and no other data that makes sense.
        is_tensor = tensor == known and (tensor.HasField("raw_data") or 0 in tensor.dims)
        if not is_tensor or tensor.data_type in (0, STRING):
            refused += 1
            continue
        array = numpy_helper.to_array(tensor)
        tensors += 1
        text = f"{array.dtype.name}{list(array.shape)}"
        crc = zlib.crc32(array.tobytes(), zlib.crc32(text.encode(), crc))
    print(f"{len(paths)} files, {tensors} tensors, {refused} refused, crc {crc:08x}")


if len(sys.argv) > 1:
    survey(sys.argv[1])
else:
    make()
