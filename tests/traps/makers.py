# SPDX-License-Identifier: Apache-2.0
"""What the cases are made of: tensors from a seeded generator, files by hand, and the two sides on disk.

A side is an array (one npy file), a File (one file of another format), a dict from names to these (a
directory), or None (a path that does not exist). Formats are written here from their public descriptions
or by numpy, never by plumb.
"""
import dataclasses
import io
import json
import pathlib
import struct
import warnings
import zipfile

import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
NAN, INF = float("nan"), float("inf")
f16, f32, f64 = np.float16, np.float32, np.float64
i8, i32, i64, u8, u64 = np.int8, np.int32, np.int64, np.uint8, np.uint64


# ---- a case ---------------------------------------------------------------------------------------

def pair(base, target=None, golden=None, **files):
    """Both sides from one `base`: each is f(base, rng), or the base itself. `files` lie beside them."""
    def make(rng):
        x = base(rng) if callable(base) else base
        use = lambda f: x if f is None else f(x, rng) if callable(f) else f
        return use(target), use(golden), {name: use(f) for name, f in files.items()}
    return make


# ---- tensors --------------------------------------------------------------------------------------

def normal(*shape, mean=0, std=1, dtype=f32):
    return lambda rng: rng.normal(mean, std, shape).astype(dtype)


def uniform(*shape, low=0, high=1, dtype=f32):
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def integers(low, high, *shape, dtype=i64):
    return lambda rng: rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def logits(*shape):
    return lambda rng: rng.normal(0, 4, shape).astype(f32)


def put(value, *places):
    """These flat positions of a copy set to a value (or to values, one for each)."""
    def change(x, _):
        x = x.copy()
        x.reshape(-1)[list(places)] = value
        return x
    return change


def nudge(place, by):
    """One element off by this much."""
    return lambda x, rng: put(x.reshape(-1)[place] + x.dtype.type(by), place)(x, rng)


def all_of(value):
    return lambda x, _: np.full_like(x, value)


def channel(number, k):
    """One channel (axis 1) times k."""
    def change(x, _=None):
        x = x.copy()
        x[:, number] *= x.dtype.type(k)
        return x
    return change


def times(k):
    return lambda x, _: (x * x.dtype.type(k)).astype(x.dtype)


def plus(k):
    return lambda x, _: (x + x.dtype.type(k)).astype(x.dtype)


def noise(relative, dtype=None):
    """Each element off by N(0, relative) of itself."""
    return lambda x, rng: (x * (1 + rng.normal(0, relative, x.shape))).astype(dtype or x.dtype)


def blurred(absolute):
    """Each element off by N(0, absolute)."""
    return lambda x, rng: (x + rng.normal(0, absolute, x.shape)).astype(x.dtype)


def to(dtype):
    def change(x, _):
        with np.errstate(over="ignore"):
            return x.astype(dtype)
    return change


def zeros(x, _):
    return np.zeros_like(x)


def bf16(x, _=None):
    """float32 values rounded to bfloat16, to nearest even."""
    bits = np.ascontiguousarray(x, f32).view(np.uint32).astype(u64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(f32)


def tf32(x):
    """float32 with ten bits of mantissa, as matrix units use it."""
    return ((np.ascontiguousarray(x, f32).view(np.uint32) + 0x1000) & 0xFFFFE000).view(f32)


def softmax(x, dtype=f64):
    e = np.exp((x - x.max(-1, keepdims=True)).astype(dtype))
    return (e / e.sum(-1, keepdims=True)).astype(dtype)


def layer_norm(x, _=None):
    x = x.astype(f64)
    return ((x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)).astype(f32)


def gelu(x):
    return x / (1 + np.exp(-1.702 * x))


def matmul(m, k, n):
    """Operands of a product; `product` and its relatives turn them into results."""
    return lambda rng: (rng.normal(0, 1, (m, k)).astype(f32), rng.normal(0, 1, (k, n)).astype(f32))


def product(ab, _=None):
    return (ab[0].astype(f64) @ ab[1].astype(f64)).astype(f32)


def product_in_order(ab, _=None):
    """One running sum in float32, the way a naive kernel adds."""
    total = np.zeros((ab[0].shape[0], ab[1].shape[1]), f32)
    for i in range(ab[0].shape[1]):
        total += ab[0][:, i:i + 1] * ab[1][i:i + 1]
    return total


def product_in(rounded):
    """Operands rounded first, sums in float32."""
    return lambda ab, _: product((rounded(ab[0]).astype(f32), rounded(ab[1]).astype(f32)))


def image(*shape):
    """Smooth pictures of 0..255, channels alike but not equal."""
    def make(rng):
        n, c, h, w = shape
        y, x = np.mgrid[0:h, 0:w]
        phase = rng.uniform(0, 6, (n, c, 1, 1))
        wave = np.sin(x / 7 + phase) + np.cos(y / 5 + 2 * phase)
        return np.clip(127 + 50 * wave + rng.normal(0, 8, shape), 0, 255).astype(f32)
    return make


def yolo(rng):
    """Boxes and scores in one tensor, 84 x 2100: four rows of pixels, eighty of probabilities."""
    head = np.empty((1, 84, 2100), f32)
    head[:, :4] = rng.uniform(0, 640, (1, 4, 2100))
    head[:, 4:] = rng.beta(0.05, 4, (1, 80, 2100))
    return head


def with_outliers(count, outliers, size):
    """N(0, 1) with a few huge values among them."""
    def make(rng):
        x = rng.normal(0, 1, count).astype(f32)
        x[rng.choice(count, outliers, replace=False)] = size
        return x
    return make


def only_outliers(x, _):
    return np.where(np.abs(x) > 100, x, 0).astype(x.dtype)


def one_hot(rows, classes):
    return lambda rng: np.eye(classes, dtype=f32)[rng.integers(0, classes, rows)]


def attention(masked):
    """Scores of 64 tokens, those to come masked."""
    return lambda rng: np.where(np.triu(np.ones((64, 64)), 1) > 0, masked, rng.normal(0, 1, (64, 64))).astype(f32)


def quantize(x, scale, zero=0, low=-128, high=127):
    return np.clip(np.rint(x / scale) + zero, low, high)


def ops(names, *shape):
    """A directory of operators, each N(0, 1)."""
    return lambda rng: {name: rng.normal(0, 1, shape or (64,)).astype(f32) for name in names.split()}


def several(count):
    return lambda rng: [rng.normal(0, 1, 64).astype(f32) for _ in range(count)]


def each(change, *names):
    """The change made to those operators of a directory, or to all."""
    return lambda d, rng: {k: change(v, rng) if not names or k in names else v for k, v in d.items()}


def without(*names):
    return lambda d, _: {k: v for k, v in d.items() if k not in names}


def replacing(**files):
    """Files made from the arrays of the same name instead of them."""
    return lambda d, _: {k: files[k](v) if k in files else v for k, v in d.items()}


def adding(**more):
    return lambda d, _: {**d, **more}


def renamed(names):
    """Operators under other names: {"old": "new"}."""
    return lambda d, _: {names.get(k, k): v for k, v in d.items()}


def saved(*names, wrong=()):
    """A side: x under each name "operator.slot.time", negated where wrong; a list x gives one for each."""
    def side(x, _):
        arrays = x if isinstance(x, list) else [x] * len(names)
        return {timed(name): -v if name in wrong else v for name, v in zip(names, arrays)}
    return side


def with_times(time=1):
    """A directory's operators as golden runs save them."""
    return lambda d, _: {timed(f"{name}.0.{time}"): x for name, x in d.items()}


def timed(name):
    """"relu.0.1" with a time stamp of real length."""
    front, time = name.rsplit(".", 1)
    return f"{front}.{1700000000000000 + int(time)}"


# ---- files ----------------------------------------------------------------------------------------

@dataclasses.dataclass
class File:
    extension: str  # "" for none
    data: bytes
    tensors: int = 1  # rows this file must be in; None: any number


@dataclasses.dataclass
class Link:
    to: str


@dataclasses.dataclass
class Locked:
    """A file that may not be read."""
    array: np.ndarray


def note(text="no tensor"):
    return File("txt", text.encode(), 0)


def npy_bytes(x, descr=None, fortran=None, version=(1, 0)):
    """An npy file; `descr` and `fortran` lie about the bytes if given."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(x), version=version, allow_pickle=True)
    data = out.getvalue()
    if descr is None and fortran is None:
        return data
    header = (f"{{'descr': '{descr or np.asarray(x).dtype.str}', 'fortran_order': {bool(fortran)}, "
              f"'shape': {np.shape(x)}, }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + np.asarray(x).tobytes()


def npy(x, **lies):
    return File("npy", npy_bytes(x, **lies))


def npz(tensors, compressed=False):
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **tensors)
    return File("npz", out.getvalue(), len(tensors))


def npz_with_key_twice(key, first, second):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the name is there already
        archive.writestr(key + ".npy", npy_bytes(first))
        archive.writestr(key + ".npy", npy_bytes(second))
    return File("npz", out.getvalue(), 2)


SAFETENSORS_TYPES = {"<f4": "F32", "<f8": "F64", "<f2": "F16", "<i8": "I64", "<i4": "I32", "|i1": "I8",
                     "|u1": "U8", "|b1": "BOOL"}


def safetensors(tensors, types=None):
    """`types` names the type of raw codes: {"x": "BF16"} with uint16 codes."""
    header, data = {}, b""
    for name, x in tensors.items():
        dtype = (types or {}).get(name) or SAFETENSORS_TYPES[x.dtype.str]
        header[name] = {"dtype": dtype, "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return File("safetensors", struct.pack("<Q", len(text)) + text + data, len(tensors))


def bf16_codes(x):
    return (bf16(x).view(np.uint32) >> 16).astype(np.uint16)


def codes(dtype, *values):
    """A side: these 8-bit codes of a type that numpy does not have."""
    return lambda _, rng: safetensors({"x": np.array(values, u8)}, {"x": dtype})


# Sides made of a directory's arrays (of one array: called x), changed first if need be.

def _arrays(x, rng, change):
    x = change(x, rng) if change else x
    return x if isinstance(x, dict) else {"x": x}


def as_npz(change=None, compressed=False):
    return lambda x, rng: npz(_arrays(x, rng, change), compressed)


def as_safetensors(change=None):
    return lambda x, rng: safetensors(_arrays(x, rng, change))


def as_bf16(change=None):
    def side(x, rng):
        arrays = {k: bf16_codes(v) for k, v in _arrays(x, rng, change).items()}
        return safetensors(arrays, dict.fromkeys(arrays, "BF16"))
    return side


def raw(x, _):
    return File("bin", x.tobytes())


def beside(side):
    """A directory of one good tensor, k, and that side, z."""
    return lambda d, rng: {"k": d["a"], "z": side(d, rng)}


def cut(file, size):
    """A file whose last bytes are missing (size < 0), or all but the first ones."""
    return dataclasses.replace(file, data=file.data[:size], tensors=None)


def flipped(file, at):
    """One bit wrong, checksums left alone. `at` is a place, or the data whose first byte it is."""
    at = at if isinstance(at, int) else file.data.index(at)
    return dataclasses.replace(file, data=file.data[:at] + bytes([file.data[at] ^ 1]) + file.data[at + 1:])


def toml(text):
    return File("toml", text.encode())


def csv(text):
    return File("csv", text.encode())


def rules(*pairs):
    """A rule file: (operator, profile) in this order."""
    return toml("".join(f"[[rule]]\nop = '{op}'\nprofile = '{profile}'\n" for op, profile in pairs))


def committed(path, tensors=1):
    """A file of tests/data."""
    full = DATA / path
    return File(full.suffix[1:], full.read_bytes(), tensors)


def folder(path, only=None):
    """A directory of tests/data; `only` says which files by name."""
    return {str(f.relative_to(DATA / path)): File("", f.read_bytes(), None)
            for f in sorted((DATA / path).rglob("*")) if f.is_file() and (only is None or only(f.name))}


STATE_DICT = {key: DATA / f"pt/state_dict.{key}.npy" for key in ("fc.bias", "fc.weight", "u8")}


def state_dict(_=None):
    """What tests/data/pt/state_dict.pt holds, as PyTorch saved it."""
    return {key: np.load(path) for key, path in STATE_DICT.items()}


# The header of an Ascend dump is a protobuf message; the data follow it.

def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


ASCEND_TYPES = {f32: 1, f16: 2}
ASCEND_LAYOUTS = {"ND": 2, "NC1HWC0": 3, "FRACTAL_NZ": 29}


BF16 = 27


def ascend(op, stored, layout, logical, code=None):
    """One output, `stored` as the device keeps it, of the plain shape `logical`; `code` is that of a type numpy does not have."""
    dims = lambda shape: field(1, b"".join(varint(d) for d in shape))
    record = (field(1, code or ASCEND_TYPES[stored.dtype.type]) + field(2, ASCEND_LAYOUTS[layout]) +
              field(3, dims(stored.shape)) + field(6, stored.nbytes) + field(7, dims(logical)))
    header = field(1, b"2.0") + field(2, 1700000000000001) + field(3, record) + field(6, op.encode())
    return File("", struct.pack("<Q", len(header)) + header + np.ascontiguousarray(stored).tobytes())


def nc1hwc0(x, fill=0):
    """Channels in blocks of sixteen; what pads the last block is `fill`."""
    n, c, h, w = x.shape
    padded = np.full((n, -(-c // 16) * 16, h, w), fill, x.dtype)
    padded[:, :c] = x
    return padded.reshape(n, -1, 16, h, w).transpose(0, 1, 3, 4, 2)


def fractal_nz(x, fill=0):
    m, n = x.shape
    padded = np.full((-(-m // 16) * 16, -(-n // 16) * 16), fill, x.dtype)
    padded[:m, :n] = x
    return padded.reshape(padded.shape[0] // 16, 16, -1, 16).transpose(2, 0, 1, 3)


def feature_map(change=None, fill=0, time=1):
    """A side: the map as an Ascend dump in NC1HWC0."""
    return lambda x, rng: {timed(f"Conv2D.conv.3.7.{time}"):
                           ascend("conv", nc1hwc0(change(x, rng) if change else x, fill), "NC1HWC0", x.shape)}


def matrix(change=None, fill=0):
    return lambda x, rng: {timed("MatMulV2.mm.3.7.1"):
                           ascend("mm", fractal_nz(change(x, rng) if change else x, fill), "FRACTAL_NZ", x.shape)}


def as_golden(op):
    """A side: one golden file, as Caffe and TensorFlow runs are saved."""
    return lambda x, _: {timed(f"{op}.0.1"): x}


def ffts_slices(*threads):
    """A side: a committed operator that ran as three FFTS+ slices, or some of them."""
    wanted = [f".4.3.{thread}.0" for thread in threads or range(3)]
    return lambda *_: folder("dump/ffts_blocked", lambda name: name.endswith(tuple(wanted)))


# msprobe's dump.json

def leaf(x, **more):
    """A tensor as msprobe records it."""
    x = np.asarray(x, f64)
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(x.shape), "Max": x.max(), "Min": x.min(),
            "Mean": x.mean(), "Norm": np.sqrt((x * x).sum()), "requires_grad": False, **more}


def dump_json(arguments=(), task="statistics", **outputs):
    """A side: calls by name with one output each; `arguments` go into every call."""
    inputs = [{"type": type(value).__name__, "value": value} for value in arguments]
    data = {f"Functional.{name}.0.forward": {"input_args": inputs, "input_kwargs": {}, "output": [record]}
            for name, record in outputs.items()}
    text = json.dumps({"task": task, "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data})
    return {"dump": File("json", text.encode(), len(outputs) * (1 + len(inputs)))}


def stats(change=None, arguments=(), **more):
    """A side: the statistics of x as the output of one call."""
    return lambda x, rng: dump_json(arguments, relu=leaf(change(x, rng) if change else x, **more))


def recorded_with_data(change=None):
    """A side: the same with the tensor itself."""
    def side(x, rng):
        x = change(x, rng) if change else x
        listing = dump_json(task="tensor", relu=leaf(x, data_name="relu.npy"))["dump"]
        return {"dump": dataclasses.replace(listing, tensors=0), "dump_tensor_data/relu": x}
    return side


# ---- the two sides on disk ------------------------------------------------------------------------

def write_file(path, value):
    """Writes one file; returns its name's ending and how many rows it must be in."""
    if isinstance(value, np.ndarray) or np.isscalar(value):
        value = npy(value)
    if isinstance(value, Link):
        path.symlink_to(value.to)
        return path, 1
    if isinstance(value, Locked):
        path = path.with_name(path.name + ".npy")
        path.write_bytes(npy_bytes(value.array))
        path.chmod(0)
        return path, 1
    if value.extension and not path.name.endswith("." + value.extension):
        path = path.with_name(f"{path.name}.{value.extension}")
    path.write_bytes(value.data)
    return path, value.tensors


def write_side(place, value):
    """Writes a side; returns the path to name and, by file relative to it, the rows it must be in."""
    if value is None:
        return place, {}
    if not isinstance(value, dict):
        path, rows = write_file(place, value)
        return path, {path.name: rows}
    place.mkdir()
    files = {}
    for name, content in value.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path, rows = write_file(path, content)
        files[str(path.relative_to(place))] = rows
    return place, files
