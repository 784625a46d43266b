#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the npz files of this directory with numpy and zipfile, damaged ones by hand from those.

manifest.json says for each file what is in it: type, shape and row-major little-endian bytes of each
tensor, or the message its damage deserves.
"""
import io
import json
import pathlib
import struct
import zipfile

import numpy as np

here = pathlib.Path(__file__).parent
manifest = []


def good(name, array, dtype):
    little = array.astype(array.dtype.newbyteorder("<"), order="C")
    return {"name": name, "dtype": dtype, "shape": list(array.shape), "hex": little.tobytes().hex()}


def bad(name, error):
    return {"name": name, "error": error}


def add(file, data, tensors=(), warnings=0, error=None):
    (here / file).write_bytes(data)
    entry = {"file": file, "tensors": list(tensors), "warnings": warnings}
    if error:
        entry["error"] = error
    manifest.append(entry)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def archive(members, method=zipfile.ZIP_STORED, comment=b""):
    """A zip of (name, bytes) pairs; the same name may come twice."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.comment = comment
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            z.writestr(info, data)
    return out.getvalue()


a = np.arange(6, dtype="f4").reshape(2, 3) - 2.5
f = np.asfortranarray(np.arange(24, dtype="i2").reshape(2, 3, 4))
b = np.array([1, -2, 300000], ">i8")
scalar = np.array(2.5)
empty = np.zeros((3, 0), "u1")
arrays = {"a": a, "layer/weight": f, "b": b, "scalar": scalar, "empty": empty, "größe": a}
listed = [good("a", a, "float32"), good("layer/weight", f, "int16"), good("b", b, "int64"),
          good("scalar", scalar, "float64"), good("empty", empty, "uint8"),
          good("größe", a, "float32")]

for name, save in (("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)):
    out = io.BytesIO()
    save(out, **arrays)
    add(name, out.getvalue(), listed)

out = io.BytesIO()
np.savez(out)
add("empty.npz", out.getvalue())

one = [("a.npy", npy(a))]
both = one + [("b.npy", npy(b))]
two = [good("a", a, "float32"), good("b", b, "int64")]
stored, deflated = archive(both), archive(both, zipfile.ZIP_DEFLATED)
add("comment.npz", archive(both, comment=b"made by hand, PK\5\6 and all"), two)
for name, method in (("slashes.npz", zipfile.ZIP_STORED), ("slashes_deflated.npz", zipfile.ZIP_DEFLATED)):
    add(name, archive([("layer1/conv/out", npy(a)), ("layer1/data.pkl", npy(b)), ("plain", npy(f))], method),
        [good("layer1/conv/out", a, "float32"), good("layer1/data.pkl", b, "int64"), good("plain", f, "int16")])
add("slashes_text.npz", archive([("run/notes", b"hello"), ("layer1/conv/out", npy(a))]),
    [good("layer1/conv/out", a, "float32")], warnings=1)
add("other_members.npz", archive([("readme.txt", b"hello"), ("folder/", b""), ("x", npy(a))] + both),
    [good("x", a, "float32")] + two, warnings=1)
add("no_arrays.npz", archive([("readme.txt", b"hello")]), error="zip archive holds no npy file")
add("trailing.npz", archive([("a.npy", npy(a) + b"tail")], zipfile.ZIP_DEFLATED),
    [good("a", a, "float32")])
add("trailing_stored.npz", archive([("a.npy", npy(a) + b"tail")]), [good("a", a, "float32")])

# One member is bad, the other is not.
add("objects.npz", archive([("a.npy", npy(np.array([None, {}], object)))] + both[1:]),
    [bad("a", "npy file holds Python objects"), two[1]])
add("not_npy.npz", archive([("a.npy", b"no array at all")] + both[1:]),
    [bad("a", "not an npy file"), two[1]])
add("short.npz", archive([("a.npy", npy(a)[:-4])] + both[1:]),
    [bad("a", "archive member holds less data than its header promises"), two[1]])
add("short_deflated.npz", archive([("a.npy", npy(a)[:-4])] + both[1:], zipfile.ZIP_DEFLATED),
    [bad("a", "archive member holds less data than its header promises"), two[1]])
add("bzip2.npz", archive(both, zipfile.ZIP_BZIP2),
    [bad("a", "zip member is compressed by an unknown method"),
     bad("b", "zip member is compressed by an unknown method")])
add("twice.npz", archive(one + one + both[1:]),
    [bad("a", "zip archive holds two members of this name"),
     bad("a", "zip archive holds two members of this name"), two[1]])


# Patches of the two-member archives. Offsets within a central directory entry: 8 flags, 16 crc,
# 20 packed, 24 size, 28 name length, 30 extra length, 42 local header.
def central(data, index=0):
    end = data.rindex(b"PK\5\6")
    at = struct.unpack_from("<I", data, end + 16)[0]
    for _ in range(index):
        at += 46 + sum(struct.unpack_from("<HHH", data, at + 28))
    return at


def patched(data, at, fmt, *numbers):
    data = bytearray(data)
    struct.pack_into("<" + fmt, data, at, *numbers)
    return bytes(data)


def flipped(data, at):
    return patched(data, at, "B", data[at] ^ 0x10)


end = stored.rindex(b"PK\5\6")
first = stored.index(b"\x93NUMPY")
add("crc_stored.npz", flipped(stored, first + 128), [bad("a", "checksum does not match"), two[1]])
add("crc_deflated.npz", patched(deflated, central(deflated) + 16, "I", 12345),
    [bad("a", "checksum does not match"), two[1]])
fortran = archive([("a.npy", npy(f))] + both[1:], zipfile.ZIP_DEFLATED)
add("crc_deflated_fortran.npz", patched(fortran, central(fortran) + 16, "I", 12345),
    [bad("a", "checksum does not match"), two[1]])
nothing = archive([("a.npy", npy(empty))] + both[1:])
add("crc_empty.npz", patched(nothing, central(nothing) + 16, "I", 12345),
    [bad("a", "checksum does not match"), two[1]])
nothing = archive([("a.npy", npy(empty))] + both[1:], zipfile.ZIP_DEFLATED)
add("crc_empty_deflated.npz", patched(nothing, central(nothing) + 16, "I", 12345),
    [bad("a", "checksum does not match"), two[1]])
add("encrypted.npz", patched(stored, central(stored) + 8, "H", 1),
    [bad("a", "zip member is encrypted"), two[1]])
add("overlap.npz", patched(patched(stored, central(stored) + 20, "II", 200, 200), 18, "II", 200, 200),
    [bad("a", "zip members overlap"), bad("b", "zip members overlap")])
add("outside.npz", patched(stored, central(stored) + 20, "II", 0x7FFFFFFF, 0x7FFFFFFF),
    [bad("a", "zip member lies outside the archive"), two[1]])
add("elsewhere.npz", patched(stored, central(stored) + 42, "I", 4),
    [bad("a", "zip member is not where the directory says"), two[1]])
add("sizes_differ.npz", patched(stored, central(stored) + 24, "I", 99),
    [bad("a", "zip member's sizes are impossible"), two[1]])
add("bomb.npz", patched(deflated, central(deflated) + 24, "I", 0x7FFFFFFF),
    [bad("a", "zip member's sizes are impossible"), two[1]])
at = central(stored)
add("nul_name.npz",
    patched(patched(stored, at + 46, "B", 0), 30, "B", 0),
    [bad("\0", "zip member's name holds a zero byte"), two[1]])


def zip64(size, packed, offset):
    """The archive with the first member's numbers in a zip64 field."""
    data = patched(stored, at + 20, "II", 0xFFFFFFFF, 0xFFFFFFFF)
    data = patched(data, at + 42, "I", 0xFFFFFFFF)
    data = patched(data, at + 30, "H", 28)
    extra = struct.pack("<HHQQQ", 1, 24, size, packed, offset)
    data = data[:at + 46 + 5] + extra + data[at + 46 + 5:]
    new_end = data.rindex(b"PK\5\6")
    return patched(data, new_end + 12, "I", new_end - at)


size = len(npy(a))
add("zip64_fields.npz", zip64(size, size, 0), two)
huge = 2**64 - 8
add("huge_size.npz", zip64(huge, huge, 0), [bad("a", "zip member lies outside the archive"), two[1]])
add("huge_offset.npz", zip64(size, size, huge),
    [bad("a", "zip member lies outside the archive"), two[1]])

# PyTorch's writer always adds the zip64 end record.
wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 2, 2, end - at, at)
locator = struct.pack("<IIQI", 0x07064B50, 0, end, 1)
add("zip64_end.npz", stored[:end] + wide + locator + stored[end:], two)
add("zip64_end_only.npz",
    stored[:end] + wide + locator +
    struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0),
    two)
add("zip64_end_lost.npz", stored[:end] + wide + locator.replace(struct.pack("<Q", end),
    struct.pack("<Q", huge)) + stored[end:],
    error="zip archive's zip64 end record is not where it should be")
add("zip64_end_differs.npz",
    stored[:end] + patched(wide, 32, "Q", 3) + locator + stored[end:],
    error="zip archive's two end records disagree")
add("zip64_field_missing.npz", patched(stored, at + 20, "I", 0xFFFFFFFF),
    error="zip archive's directory is damaged")

# The archive itself is bad.
add("no_end.npz", stored[:-1], error="zip archive has no end record")
add("prefix.npz", b"junk" + stored, error="zip archive's directory is not where its end record says")
add("count_high.npz", patched(stored, end + 8, "HH", 3, 3),
    error="zip archive's directory has another length than promised")
add("count_low.npz", patched(stored, end + 8, "HH", 1, 1),
    error="zip archive's directory has another length than promised")
add("split.npz", patched(stored, end + 4, "HH", 1, 0),
    error="zip archive is split over several files")
add("directory_far.npz", patched(stored, end + 16, "I", 0xFFFFFF00),
    error="zip archive's directory is not where its end record says")
add("entry_damaged.npz", flipped(stored, at + 2), error="zip archive's directory is damaged")
add("entry_long_name.npz", patched(stored, central(stored, 1) + 28, "H", 60000),
    error="zip archive's directory is damaged")

(here / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
