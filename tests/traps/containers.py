# SPDX-License-Identifier: Apache-2.0
"""Files that hold tensors under many a guise, and dumps of the tools, written by hand.

What `makers.py` is for tensors and the two sides, this is for what lies in a directory.
"""
import gzip
import io
import json
import pickle
import struct
import tarfile
import zipfile
import zlib

import numpy as np

from makers import File, ascend, f32, npy_bytes, npz, safetensors, timed

# ---- containers of one array ----------------------------------------------------------------------


def gz(x, level=9, name=""):
    """name.npy.gz as gzip writes it, with the name inside if there is one."""
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", level, out, mtime=0) as f:
        f.write(npy_bytes(x))
    return File("npy.gz", out.getvalue())


def tar(members, form=tarfile.USTAR_FORMAT):
    """An archive of these files, by name; arrays as npy."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, x in members.items():
            data = x if isinstance(x, bytes) else npy_bytes(x)
            info = tarfile.TarInfo(name if isinstance(x, bytes) else name + ".npy")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return File("tar", out.getvalue(), len(members))


def table(x, delimiter=",", fmt="%.9e", extension="csv", header=""):
    """As numpy.savetxt writes it."""
    out = io.BytesIO()
    np.savetxt(out, x.reshape(x.shape[0], -1) if x.ndim > 1 else x, fmt, delimiter, header=header)
    return File(extension, out.getvalue())


class Storage:
    def __init__(self, x):
        self.x = x


TORCH_STORAGES = {"<f4": "FloatStorage", "<f2": "HalfStorage", "<f8": "DoubleStorage", "<c8": "ComplexFloatStorage",
                  "<i8": "LongStorage"}


class Tensor:
    """An array as torch.save describes it; `bits` are what newer versions add for lazy views."""
    def __init__(self, x, **bits):
        self.x, self.bits = np.ascontiguousarray(x), bits


def pt(value, tensors=None, protocol=2):
    """The archive torch.save writes: opcodes by hand where classes of torch are named."""
    storages = []
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()
    plain = lambda v: pickle.dumps(v, protocol)[2:-1]  # without the protocol and the end

    def tensor(t):
        key = str(len(storages))
        storages.append(t.x.tobytes())
        strides = tuple(s // t.x.itemsize for s in t.x.strides)
        storage = (b"(" + text("storage") + b"ctorch\n" + TORCH_STORAGES[t.x.dtype.str].encode() + b"\n" + text(key) +
                   text("cpu") + plain(t.x.size) + b"tQ")
        bits = b"}" + b"".join(text(k) + (b"\x88" if v else b"\x89") + b"s" for k, v in t.bits.items()) if t.bits else b""
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + plain(0) + plain(t.x.shape) + plain(strides) +
                b"\x89ccollections\nOrderedDict\n)R" + bits + b"tR")

    def dump(v):
        if isinstance(v, Tensor):
            return tensor(v)
        if isinstance(v, dict):
            return b"}" + b"".join(dump(k) + dump(w) + b"s" for k, w in v.items())
        if isinstance(v, list):
            return b"]" + b"".join(dump(w) + b"a" for w in v)
        return plain(v)

    pickled = b"\x80" + bytes([protocol]) + dump(value) + b"."
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
        for i, data in enumerate(storages):
            archive.writestr(f"archive/data/{i}", data)
    return File("pt", out.getvalue(), tensors)


def pt_of(x):
    return pt(Tensor(x), 1)


def npz_of(x):
    return npz({"x": x})


def safetensors_of(x):
    return safetensors({"x": x})


def tar_of(x):
    return tar({"x": x})


# By name: how one array is written, and what is added to the operator's name for it.
CONTAINERS = {
    "npy": (lambda x: x, ""), "npz": (npz_of, "/x"), "gz": (gz, ""), "tar": (tar_of, "/x"), "csv": (table, ""),
    "txt": (lambda x: table(x, " ", extension="txt"), ""), "pt": (pt_of, ""), "safetensors": (safetensors_of, "/x"),
}


# ---- what plumb reduce leaves ---------------------------------------------------------------------

def reduced(x, op=""):
    """Smallest and largest value, and beside them all statistics, as docs/reduce.md describes it."""
    out = io.BytesIO()
    wide = x.astype(np.float64)
    tensor = {"slot": "output:0", "dtype": str(x.dtype), "shape": list(x.shape), "count": x.size, "min": float(x.min()),
              "max": float(x.max()), "mean": wide.mean(), "std": wide.std(), "l2": float(np.sqrt((wide * wide).sum())),
              "nan": 0, "inf": 0, "negative_inf": 0, "zeros": int((x == 0).sum()),
              "crc32": f"{zlib.crc32(np.ascontiguousarray(x).tobytes()):08x}"}
    details = {"schema": "plumb.reduced/1", "tool": {"name": "plumb", "version": "0"}, "op_name": op, "source_bytes": 0,
               "source_time_ns": 0, "tensors": [tensor]}
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inputs.npy", npy_bytes(np.zeros(0, x.dtype)))
        archive.writestr("outputs.npy", npy_bytes(np.array([[x.min(), x.max()]])))
        archive.writestr("plumb.json", json.dumps(details))
    return File("npz", out.getvalue())


def reduced_npy(x):
    """The same of an FX array: the archive stands behind an npy array."""
    out = io.BytesIO(npy_bytes(np.array([x.min(), x.max()])))
    with zipfile.ZipFile(io.BytesIO(reduced(x).data)) as old, zipfile.ZipFile(out, "a") as new:
        new.writestr("plumb.json", old.read("plumb.json"))
    return File("npy", out.getvalue())


# ---- dumps of the tools ---------------------------------------------------------------------------
# Each takes arrays by operator, in the order they ran, and gives the files of a directory.

def fx_dump(arrays):
    return {f"worldsize1_global_rank0/graph_1/0/{op}-aten.{op}.default.OUTPUT.0.2024010112000000{i:04}": x
            for i, (op, x) in enumerate(arrays.items())}


def stamped_dump(arrays):
    return {timed(f"{op}.0.{i + 1}"): x for i, (op, x) in enumerate(arrays.items())}


def device_dump(arrays):
    """Ascend dumps; the layout is plain."""
    return {f"Relu.{op}.3.7.{1700000000000001 + i}": ascend(op, x, "ND", x.shape) for i, (op, x) in enumerate(arrays.items())}


def tensor_record(x, **more):
    wide = x.astype(np.float64)
    return {"type": "torch.Tensor", "dtype": f"torch.{x.dtype}", "shape": list(x.shape), "Max": wide.max(), "Min": wide.min(),
            "Mean": wide.mean(), "Norm": float(np.sqrt((wide * wide).sum())), "requires_grad": False, **more}


def msprobe_dump(arrays, lost=()):
    """dump.json and its data; of the calls in `lost` only the data."""
    data, files = {}, {}
    for op, x in arrays.items():
        call = f"Functional.{op}.0.forward"
        name = f"{call}.output.0"
        files[f"dump_tensor_data/{name}"] = x
        if op not in lost:
            data[call] = {"input_args": [], "input_kwargs": {}, "output": [tensor_record(x, data_name=name + ".npy")]}
    index = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}
    return {"dump": File("json", json.dumps(index).encode(), 0), **files}


def call_of(op):
    return f"Functional.{op}.0.forward"


def plumb_dump(arrays, edges=None, types=None):
    """dump.json as docs/dump.md describes it. `edges` gives the producers by operator; else a chain. `types` other than Relu."""
    names = list(arrays)
    edges = edges if edges is not None else {b: [a] for a, b in zip(names, names[1:])}
    operators, files = [], {}
    for i, (op, x) in enumerate(arrays.items()):
        file = f"{op}.0.{1700000000000001 + i}.npy"
        files[file] = File("npy", npy_bytes(x))
        operators.append({"name": op, "type": (types or {}).get(op, "Relu"), "timestamp": 1700000000000001 + i,
                          "inputs": [{"producer": p, "output": 0} for p in edges.get(op, [])],
                          "outputs": [{"tensor": op, "dtype": str(x.dtype), "shape": list(x.shape), "file": file}]})
    read = {p for producers in edges.values() for p in producers}
    index = {"schema": "plumb.dump/1", "tool": {"name": "plumb", "version": "0"}, "engine": {"name": "x", "version": "0"},
             "model": {"path": "m.onnx", "format": "onnx"}, "operators": operators,
             "outputs": [{"producer": op, "output": 0} for op in names if op not in read]}
    return {"dump": File("json", json.dumps(index).encode(), 0), **files}


def plain_dump(arrays):
    return dict(arrays)


def npz_dump(arrays):
    return npz(arrays)


# By name: how a dump is written, and how the operators of it are called.
DUMPS = {
    "fx": (fx_dump, lambda op: f"{op}-aten.{op}.default"), "stamped": (stamped_dump, lambda op: op),
    "device": (device_dump, lambda op: op), "msprobe": (msprobe_dump, call_of), "plumb": (plumb_dump, lambda op: op),
}
