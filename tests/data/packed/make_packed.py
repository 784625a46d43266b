#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the gzip, tar and text files of this folder with Python's own modules, and their manifests."""
import gzip
import io
import json
import pathlib
import tarfile

import numpy as np

here = pathlib.Path(__file__).parent
x = (np.arange(6, dtype="<f4") - 2.5).reshape(2, 3)
ids = np.array([[3, -1], [2, 7]], "<i8")


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def good(name, array, dtype):
    return {"name": name, "dtype": dtype, "shape": list(array.shape), "hex": array.tobytes().hex()}


def bad(name, error):
    return {"name": name, "error": error}


def packed(data, name=""):
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", 9, out, mtime=0) as f:
        f.write(data)
    return out.getvalue()


def tar(members, form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def write(kind, files):
    manifest = []
    for name, (data, tensors, error) in files.items():
        (here / name).write_bytes(data)
        manifest.append({"file": name, "tensors": tensors, **({"error": error} if error else {})})
    (here / f"{kind}.json").write_text(json.dumps(manifest, indent=1) + "\n")


whole = packed(npy(x))
inside = "a file of format {} inside of another is not read"
write("gzip", {
    "array.npy.gz": (whole, [good("", x, "float32")], None),
    "named.npy.gz": (packed(npy(x), "array.npy"), [good("", x, "float32")], None),
    "checksum.npy.gz": (whole[:-8] + b"\0\0\0\0" + whole[-4:], [bad("", "checksum does not match")], None),
    "short.npy.gz": (packed(npy(x)[:-4]), [], "archive member holds less data than its header promises"),
    "cut.npy.gz": (whole[:15], [], "gzip file is cut off"),
    "text.csv.gz": (packed(b"1,2\n3,4\n"), [], inside.format("text")),
    "notes.gz": (packed(b"no tensor"), [], None),
})
long = "d" * 120 + "/" + "f" * 110
write("tar", {
    "arrays.tar": (tar([("a.npy", npy(x)), ("notes.txt", b"no tensor"), ("b/ids.npy", npy(ids))], tarfile.USTAR_FORMAT),
                   [good("a", x, "float32"), good("b/ids", ids, "int64")], None),
    "gnu.tar": (tar([(long + ".npy", npy(x))], tarfile.GNU_FORMAT), [good(long, x, "float32")], None),
    "pax.tar": (tar([(long + ".npy", npy(x)), ("b.npy", npy(ids))], tarfile.PAX_FORMAT),
                [good(long, x, "float32"), good("b", ids, "int64")], None),
    "other.tar": (tar([("n.csv", b"1,2\n3,4\n"), ("cut.npy", npy(x)[:-4])], tarfile.USTAR_FORMAT),
                  [bad("n.csv", inside.format("text")), bad("cut", "archive member holds less data than its header promises")], None),
    "cut.tar": (tar([("a.npy", npy(x))], tarfile.USTAR_FORMAT)[:600], [], "tar archive is damaged"),
})
wide = x.astype("<f8")
write("text", {
    "comma.csv": (b"# a remark\n-2.5,-1.5,-0.5\n5e-1,1.5,2.5\n", [good("", wide, "float64")], None),
    "blanks.txt": (b"  -2.5 -1.5\t-0.5\r\n\r\n+0.5 1.5 2.5", [good("", wide, "float64")], None),
    "whole.csv": (b"3;-1\n2;7\n", [good("", ids, "int64")], None),
    "column.txt": (b"1\n2.5\nnan\n-inf\n", [good("", np.array([1, 2.5, np.nan, -np.inf]), "float64")], None),
    "range.txt": (b"1e999 -1e999 1e-999 0.5\n", [good("", np.array([np.inf, -np.inf, 0, 0.5]), "float64")], None),
    "row.txt": (b"1 2 3\n", [good("", np.array([1, 2, 3], "<i8"), "int64")], None),
    "frame.csv": (b",0,1\n0,3,-1\n1,2,7\n", [good("", np.array([[0, 3, -1], [1, 2, 7]], "<i8"), "int64")], None),
    "ragged.csv": (b"1,2,3\n4,5\n", [], "lines of numbers have different lengths"),
})
