#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes made_*.pt: what torch.save would write, without PyTorch.

Stand-ins for the classes and functions that PyTorch's pickles name are put where Python's own pickler
finds them; storages leave through `persistent_id` as in torch/serialization.py. made.json says what
each file holds: type, shape and row-major little-endian bytes of each tensor, or the message it deserves.
The other files of this directory were written by PyTorch 1.13; see README.md.
"""
import collections
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import types
import zipfile

import numpy as np

here = pathlib.Path(__file__).parent
manifest = []


# ---- stand-ins ----------------------------------------------------------------------------------

def module(name):
    if name not in sys.modules:
        sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]


def make_function(module_name, name):
    def function(*_):
        raise NotImplementedError
    function.__module__, function.__qualname__, function.__name__ = module_name, name, name
    setattr(module(module_name), name, function)
    return function


def make_class(module_name, name, base=object):
    cls = type(name, (base,), {"__module__": module_name})
    setattr(module(module_name), name, cls)
    return cls


for name in ("torch", "torch._utils", "torch._tensor", "torch.storage", "torch.nn.parameter",
             "torch_npu", "torch_npu.utils", "torch_npu.utils.storage", "model"):
    module(name)


class Called:
    """An object that pickles as a call."""

    def __init__(self, function, args, state=None):
        self.function, self.args, self.state = function, args, state

    def __reduce__(self):
        return (self.function, self.args) + ((self.state,) if self.state is not None else ())


STORAGES = {name: make_class("torch", name) for name in (
    "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "IntStorage",
    "ShortStorage", "CharStorage", "ByteStorage", "BoolStorage", "ComplexFloatStorage",
    "ComplexDoubleStorage", "QInt8Storage", "ComplexHalfStorage")}
STORAGES["UntypedStorage"] = make_class("torch.storage", "UntypedStorage")
rebuild_v2 = make_function("torch._utils", "_rebuild_tensor_v2")
rebuild_v1 = make_function("torch._utils", "_rebuild_tensor")
rebuild_v3 = make_function("torch._utils", "_rebuild_tensor_v3")
rebuild_q = make_function("torch._utils", "_rebuild_qtensor")
rebuild_sparse = make_function("torch._utils", "_rebuild_sparse_tensor")
rebuild_parameter = make_function("torch._utils", "_rebuild_parameter")
rebuild_from_type = make_function("torch._tensor", "_rebuild_from_type_v2")
rebuild_npu = make_function("torch_npu.utils.storage", "_rebuild_npu_tensor")
TORCH_DTYPES = {name: make_function("torch", name) for name in (
    "float8_e4m3fn", "float8_e5m2", "uint16", "uint64", "float8_e8m0fnu", "float32")}


class Storage:
    """Elements that several tensors may view; `data` are the bytes as they go into the file."""

    def __init__(self, kind, data, item, count=None, view=None):
        self.kind, self.data, self.item, self.view = kind, data, item, view
        self.count = len(data) // item if count is None else count


class Writer:
    """One file: pickles objects, collects the storages they use."""

    def __init__(self, legacy=False, protocol=2):
        self.storages, self.keys, self.legacy, self.protocol = [], {}, legacy, protocol

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        root = obj.view[0] if obj.view else obj
        if id(root) not in self.keys:
            self.keys[id(root)] = str(len(self.storages) + (1000 if self.legacy else 0))
            self.storages.append(root)
        pid = ("storage", STORAGES[obj.kind], self.keys[id(root)], "cpu", root.count)
        if not self.legacy:
            return pid
        view = ("2000", obj.view[1], obj.view[2]) if obj.view else None
        return pid + (view,)

    def dump(self, obj):
        out = io.BytesIO()
        pickler = pickle.Pickler(out, self.protocol)
        pickler.persistent_id = self.persistent_id
        pickler.dump(obj)
        return out.getvalue()

    def archive(self, obj, method=zipfile.ZIP_STORED, extra=(), drop=(), first=()):
        out = io.BytesIO()
        pickled = self.dump(obj)
        members = list(first) + [("data.pkl", pickled), ("version", b"3\n")] + list(extra)
        members += [(f"data/{self.keys[id(s)]}", s.data) for s in self.storages]
        with zipfile.ZipFile(out, "w") as z:
            for name, data in members:
                if name in drop:
                    continue
                info = zipfile.ZipInfo(f"archive/{name}")
                info.compress_type = method
                z.writestr(info, data)
        return out.getvalue()

    def file(self, obj):
        pickled = self.dump(obj)
        keys = sorted(self.keys.values())
        by_key = {self.keys[id(s)]: s for s in self.storages}
        dump = lambda x: pickle.dumps(x, self.protocol)
        machine = {"protocol_version": 1001, "little_endian": True,
                   "type_sizes": {"short": 2, "int": 4, "long": 4}}
        out = dump(0x1950A86A20F9469CFC6C) + dump(1001) + dump(machine) + pickled + dump(keys)
        for key in keys:
            out += struct.pack("<q", by_key[key].count) + by_key[key].data
        return out


def tensor(storage, first, size, stride, function=rebuild_v2):
    more = {rebuild_v1: (), rebuild_v2: (False, collections.OrderedDict()),
            rebuild_npu: (False, collections.OrderedDict(), [2, (2, 3)])}[function]
    return Called(function, (storage, first, size, stride) + more)


def untyped(dtype, array):
    storage = Storage("UntypedStorage", array.tobytes(), 1)
    strides = tuple(s // array.itemsize for s in array.strides)
    return Called(rebuild_v3, (storage, 0, array.shape, strides, False, collections.OrderedDict(),
                               TORCH_DTYPES[dtype]))


def whole(kind, array):
    """A contiguous tensor with a storage of its own."""
    strides = tuple(s // array.itemsize for s in array.strides)
    return tensor(Storage(kind, array.tobytes(), array.itemsize), 0, array.shape, strides)


def good(name, array, dtype):
    little = array.astype(array.dtype.newbyteorder("<"), order="C")
    return {"name": name, "dtype": dtype, "shape": list(array.shape), "hex": little.tobytes().hex()}


def bad(name, error):
    return {"name": name, "error": error}


def add(file, data, tensors=(), error=None, **more):
    (here / file).write_bytes(data)
    entry = {"file": file, "tensors": list(tensors), **more}
    if error:
        entry["error"] = error
    manifest.append(entry)


# ---- files --------------------------------------------------------------------------------------

base = np.arange(24, dtype="<f4") - 7.5
shared = Storage("FloatStorage", base.tobytes(), 4)
half = np.array([1.5, -2, np.inf], "<f2")
ids = np.array([3, -1], "<i8")


def views():
    return collections.OrderedDict([
        ("plain", tensor(shared, 0, (4, 6), (6, 1))),
        ("slice", tensor(shared, 6, (2, 6), (6, 1))),
        ("transposed", tensor(shared, 0, (6, 4), (1, 6))),
        ("column", tensor(shared, 2, (4,), (6,))),
        ("expanded", tensor(shared, 3, (2, 3), (0, 1))),
        ("scalar", tensor(shared, 23, (), ())),
        ("empty", tensor(shared, 24, (0, 3), (3, 1))),
        ("ones", tensor(shared, 1, (1, 3, 1), (77, 1, 55))),
        ("half", whole("HalfStorage", half)),
        ("ids", whole("LongStorage", ids)),
    ])


def listed():
    m = base.reshape(4, 6)
    return [good("plain", m, "float32"), good("slice", m[1:3], "float32"),
            good("transposed", m.T, "float32"), good("column", m[:, 2], "float32"),
            good("expanded", np.broadcast_to(base[3:6], (2, 3)), "float32"),
            good("scalar", base[23], "float32"), good("empty", np.zeros((0, 3), "<f4"), "float32"),
            good("ones", base[1:4].reshape(1, 3, 1), "float32"), good("half", half, "float16"),
            good("ids", ids, "int64")]


add("made_views.pt", Writer().archive(views()), listed())
add("made_protocol4.pt", Writer(protocol=4).archive(views()), listed())
add("made_deflated.pt", Writer().archive(views(), zipfile.ZIP_DEFLATED), listed())
add("made_legacy_views.pt", Writer(legacy=True).file(views()), listed())
add("made_legacy_protocol4.pt", Writer(legacy=True, protocol=4).file(views()), listed())

# Saved on a big-endian machine.
swapped = [whole("FloatStorage", base.astype(">f4")), whole("LongStorage", ids.astype(">i8")),
           whole("ByteStorage", np.arange(3, dtype="u1"))]
add("made_big.pt", Writer().archive(swapped, extra=[("byteorder", b"big")]),
    [good("0", base, "float32"), good("1", ids, "int64"), good("2", np.arange(3, dtype="u1"), "uint8")])

# Saved with compute_crc32 = False: the checksums are 0, which PyTorch does not mind.
data = bytearray(Writer().archive(views()))
at = data.index(b"PK\1\2")
while data[at:at + 4] == b"PK\1\2":
    data[at + 16:at + 20] = bytes(4)
    at += 46 + sum(struct.unpack_from("<HHH", data, at + 28))
add("made_no_crc.pt", bytes(data), listed())

# A damaged storage: tensors that use much of it say so, the others are read.
data = bytearray(Writer().archive(views()))
data[data.index(half.tobytes()) + 1] ^= 1
add("made_crc.pt", bytes(data),
    [t if t["name"] != "half" else bad("half", "checksum does not match") for t in listed()])

# Every type.
every = collections.OrderedDict()
expected = []
for kind, code, dtype in (
        ("FloatStorage", "<f4", "float32"), ("DoubleStorage", "<f8", "float64"),
        ("HalfStorage", "<f2", "float16"), ("LongStorage", "<i8", "int64"),
        ("IntStorage", "<i4", "int32"), ("ShortStorage", "<i2", "int16"),
        ("CharStorage", "i1", "int8"), ("ByteStorage", "u1", "uint8"), ("BoolStorage", "?", "bool"),
        ("ComplexFloatStorage", "<c8", "complex64"), ("ComplexDoubleStorage", "<c16", "complex128")):
    array = np.arange(4).astype(code)
    every[dtype] = whole(kind, array)
    expected.append(good(dtype, array, dtype))
bits = np.array([0x3FC0, 0xC000, 0x7F80], "<u2")
every["bfloat16"] = whole("BFloat16Storage", bits)
expected.append(good("bfloat16", bits, "bfloat16"))
codes = np.arange(6, dtype="u1").reshape(2, 3)
for name, array in (("float8_e4m3fn", codes), ("float8_e5m2", codes), ("float8_e8m0fnu", codes),
                    ("uint16", bits), ("uint64", np.array([2**64 - 1], "<u8"))):
    every[name] = untyped(name, array)
    expected.append(good(name, array, name))
add("made_types.pt", Writer().archive(every), expected)

# A whole module, its attributes, plain values, subclasses, vendor tensors.
weight = whole("FloatStorage", base[:6].reshape(2, 3))


class Module:
    def __init__(self, **state):
        self.__dict__.update(state)


Module.__module__, Module.__qualname__ = "model", "Module"
sys.modules["model"].Module = Module
Pair = collections.namedtuple("Pair", "left right")
Pair.__module__ = "model"
sys.modules["model"].Pair = Pair
linear = Module(training=True, _parameters=collections.OrderedDict(
    weight=Called(rebuild_parameter, (weight, True, collections.OrderedDict())), bias=None),
    _buffers=collections.OrderedDict(), _modules=collections.OrderedDict())
net = Module(training=False, scale=whole("HalfStorage", half), _parameters=collections.OrderedDict(),
             _buffers=collections.OrderedDict(mean=weight),
             _modules=collections.OrderedDict(fc=linear))
w = base[:6].reshape(2, 3)
add("made_module.pt", Writer().archive(net),
    [good("scale", half, "float16"), good("mean", w, "float32"), good("fc.weight", w, "float32")],
    other_values=2)
subclass = Called(rebuild_from_type, (rebuild_v2, Module, weight.args, {"tag": weight}))
add("made_objects.pt", Writer().archive({
    "sub": subclass, "pair": Pair(weight, 3), "npu": tensor(weight.args[0], 0, (2, 3), (3, 1), rebuild_npu),
    "old": tensor(weight.args[0], 0, (2, 3), (3, 1), rebuild_v1), 7: {(1, 2): weight, "": weight},
    "default": collections.defaultdict(list, k=[weight]), "size": (1, 2.5, "x", b"y", None, True, 2**70),
    "storage": weight.args[0], "set": {1, 2}}),
    [good("sub", w, "float32"), good("sub.tag", w, "float32"), good("pair.0", w, "float32"),
     good("npu", w, "float32"), good("old", w, "float32"), good("7.<key 0>", w, "float32"),
     good("7.<key 1>", w, "float32"), good("default.k.0", w, "float32"),
     good("size.0", np.array(1, "<i8"), "int64"), good("size.1", np.array(2.5), "float64"),
     good("size.5", np.array(True), "bool"), bad("size.6", "an integer beyond 64 bits is not read"),
     good("storage", base[:6], "float32")], other_values=6)

# Numbers of dictionaries and lists are tensors; those by which objects are made are not.
add("made_numbers.pt", Writer().archive(collections.OrderedDict([
    ("epoch", 3), ("lr", 0.25), ("betas", (0.9, 0.999)), ("params", [0, 1, 2]), ("mixed", [True, 2, 0.5]),
    ("flags", [True, False]), ("none", None), ("z", 1 - 2j), ("empty", []), ("name", "x"), ("w", weight)])),
    [good("epoch", np.array(3, "<i8"), "int64"), good("lr", np.array(0.25), "float64"),
     good("betas", np.array([0.9, 0.999]), "float64"), good("params", np.array([0, 1, 2], "<i8"), "int64"),
     good("mixed", np.array([1, 2, 0.5]), "float64"), good("flags", np.array([True, False]), "bool"),
     good("z", np.array(1 - 2j), "complex128"), good("w", w, "float32")], other_values=1)

# Conjugated and negated views keep the elements of what they are views of; a bit says so.
def lazy(function=rebuild_v2, more=(), **bits):
    return Called(function, (weight.args[0], 0, (2, 3), (3, 1), False, collections.OrderedDict(), *more, bits))


view = "tensor is a lazy view, whose elements are stored unchanged"
add("made_lazy.pt", Writer().archive(collections.OrderedDict([
    ("conj", lazy(conj=True)), ("neg", lazy(neg=True)), ("both", lazy(conj=True, neg=True)),
    ("off", lazy(conj=False, neg=False)), ("none", lazy())])),
    [bad("conj", view), bad("neg", view), bad("both", view), good("off", w, "float32"),
     good("none", w, "float32")])

# Tensors that cannot be read are listed all the same.
unknown = make_class("torch", "FancyStorage")
STORAGES["FancyStorage"] = unknown
lost = whole("LongStorage", ids)
small = Storage("FloatStorage", base[:2].tobytes(), 4, count=24)
writer = Writer()
data = writer.archive(collections.OrderedDict([
    ("q", Called(rebuild_q, (Storage("QInt8Storage", b"abcd", 1), 0, (4,), (1,), (), False, {}))),
    ("sparse", Called(rebuild_sparse, ("layout", (weight, weight, (2, 3))))),
    ("fancy", tensor(Storage("FancyStorage", b"abcd", 1), 0, (4,), (1,))),
    ("c32", tensor(Storage("ComplexHalfStorage", b"abcd", 4), 0, (1,), (1,))),
    ("outside", tensor(shared, 0, (5, 6), (6, 1))),
    ("first", tensor(shared, 24, (1,), (1,))),
    ("strides", tensor(shared, 0, (2, 2), (2**62, 2**62))),
    ("huge", tensor(shared, 0, (2**40, 2**40), (0, 0))),
    ("repeated", tensor(shared, 0, (2**50,), (0,))),
    ("rank", tensor(shared, 0, (2, 2), (1,))),
    ("negative", tensor(shared, 0, (2,), (-1,))),
    ("short", tensor(small, 0, (4, 6), (6, 1))),
    ("good", weight),
    ("lost", lost),
]))
key = writer.keys[id(lost.args[0])]
out = io.BytesIO()
with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
    for info in old.infolist():
        if info.filename != f"archive/data/{key}":
            new.writestr(info, old.read(info))
kind = "tensor is of a kind that is not read"
beyond = "tensor lies outside its storage"
add("made_bad_tensors.pt", out.getvalue(),
    [bad("q", kind), bad("sparse", kind), bad("fancy", "tensor's type is not known"),
     bad("c32", "tensor's type is not known"), bad("outside", beyond), bad("first", beyond),
     bad("strides", beyond), bad("huge", "tensor is impossibly large"),
     bad("repeated", "tensor repeats its elements too often"), bad("rank", kind),
     bad("negative", kind), bad("short", beyond), good("good", w, "float32"),
     bad("lost", "tensor's data is missing")])

# Arrays and numbers of numpy have their elements in the pickle itself; objects are never made.
ARRAYS = {"a": base, "t": weight, "s": np.float32(2), "f": np.asfortranarray(base.reshape(4, 6)),
          "big": ids.astype(">i8"), "h": half, "none": np.zeros((0, 3), "<f4"), "o": np.array([{}], object)}
for name, protocol in (("made_numpy.pt", 2), ("made_numpy4.pt", 4)):
    add(name, Writer(protocol=protocol).archive(ARRAYS),
        [good("a", base, "float32"), good("t", w, "float32"), good("s", np.array(2, "<f4"), "float32"),
         good("f", base.reshape(4, 6), "float32"), good("big", ids, "int64"), good("h", half, "float16"),
         good("none", np.zeros((0, 3), "<f4"), "float32"),
         bad("o", "numpy array inside is of a kind that is not read")])

# The older form: a part of another storage, data cut off.
part = Storage("FloatStorage", base.tobytes(), 4, view=(shared, 4, 6))
add("made_legacy_parts.pt",
    Writer(legacy=True).file([tensor(part, 1, (2, 2), (2, 1)), tensor(part, 3, (4,), (1,)),
                              tensor(shared, 0, (4, 6), (6, 1))]),
    [good("0", base[5:9].reshape(2, 2), "float32"), bad("1", beyond),
     good("2", base.reshape(4, 6), "float32")])
data = Writer(legacy=True).file([whole("HalfStorage", half), weight, lost])
add("made_legacy_cut.pt", data[:-16],
    [good("0", half, "float16"), good("1", w, "float32"), bad("2", "storage is cut off")])
add("made_legacy_no_storages.pt", data[:-16 - 8 - 24 - 8 - 3],
    [bad("0", "storage is cut off"), bad("1", "storage is cut off"), bad("2", "storage is cut off")])
data = Writer(legacy=True).file([whole("HalfStorage", half), tensor(
    Storage("FancyStorage", b"abcd", 1), 0, (4,), (1,)), lost])
add("made_legacy_unknown.pt", data,
    [good("0", half, "float16"), bad("1", "tensor's type is not known"),
     bad("2", "storage's type is not known")])
add("made_legacy_version.pt", data.replace(pickle.dumps(1001, 2), pickle.dumps(1002, 2), 1),
    error="PyTorch file is of an unknown version")

# Not files of tensors.
add("made_torchscript.pt", Writer().archive(weight, extra=[("constants.pkl", b"")]),
    error="this is a TorchScript program, not a file of tensors")
add("made_no_pickle.pt", Writer().archive(weight, drop=["data.pkl"]),
    error="zip archive is not a PyTorch file")
add("made_byteorder.pt", Writer().archive(weight, extra=[("byteorder", b"middle")]),
    error="byte order is not known")
add("made_long_word.pt", Writer().archive(weight, extra=[("byteorder", b"l" * 21)]),
    error="archive's description is damaged")
twice = io.BytesIO(Writer().archive(weight))
with zipfile.ZipFile(twice, "a") as z:
    z.writestr(zipfile.ZipInfo("other/data.pkl"), b"")
add("made_two.pt", twice.getvalue(), error="archive holds several PyTorch files")
data = bytearray(Writer().archive(weight))
data[data.index(b"FloatStorage")] ^= 1
add("made_crc_pickle.pt", bytes(data), error="checksum does not match")
tar = io.BytesIO()

with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as t:
    info = tarfile.TarInfo("sys_info")
    info.size = 3
    t.addfile(info, io.BytesIO(b"abc"))
add("made_tar.pt", tar.getvalue()[:1024], error="PyTorch files of version 0.1 are not read")

(here / "made.json").write_text(json.dumps(manifest, indent=1) + "\n")
