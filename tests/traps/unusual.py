# SPDX-License-Identifier: Apache-2.0
"""Families of what networks give out and tools write that is no plain map of features: rows of detections, caches of
keys and values, masks, ids, complex numbers, eight bits, strides, odd shapes, names and archives. Every fault in every
one must be found, every rounding must pass.
"""
import io
import itertools
import pickle
import zipfile

import numpy as np

from containers import Tensor, pt, tar
from makers import BF16, File, ascend, bf16, bf16_codes, f16, f32, f64, i8, i32, i64, image, layer_norm, nc1hwc0, npy, npz, pair, safetensors, softmax, timed, u8

NO_GOLDEN, NO_TARGET, EARLIER = "not_compared no_golden", "not_compared no_target", "not_compared superseded"


def noise(relative, dtype=f32):
    return lambda x, rng: (x * (1 + relative * rng.standard_normal(x.shape))).astype(dtype)


LAST_BITS, HALF = noise(1e-7), lambda x, _: x.astype(f16)
SAME = lambda x, _: x


def changed(change, rounded=SAME):
    """A target: the base with a fault in it, then rounded."""
    return lambda x, rng: rounded(change(x.copy(), rng), rng)


# ---- rows of detections ------------------------------------------------------------------------------------

def nms_rows(count, size=640, classes=80):
    """x1, y1, x2, y2, score, class."""
    def make(rng):
        corner = rng.uniform(0, size * 0.7, (count, 2))
        extent = rng.uniform(size * 0.02, size * 0.3, (count, 2))
        score = np.sort(rng.uniform(0.26, 0.97, count))[::-1]
        return np.column_stack([corner, corner + extent, score, rng.integers(0, classes, count)]).astype(f32)
    return make


def ssd_rows(count, classes=21):
    """image, label, score, corners between 0 and 1: [1, 1, N, 7]."""
    def make(rng):
        corner = rng.uniform(0, 0.7, (count, 2))
        rows = np.column_stack([np.zeros(count), rng.integers(1, classes, count), rng.uniform(0.2, 1, count), corner,
                                corner + rng.uniform(0.05, 0.3, (count, 2))])
        return rows.astype(f32)[None, None]
    return make


def batch_rows(rng):
    """image, box, class, score of a batch of four: [N, 7], as newer detectors give it."""
    corner = rng.uniform(0, 400, (64, 2))
    rows = [np.sort(rng.integers(0, 4, 64)), corner, corner + rng.uniform(10, 200, (64, 2)), rng.integers(0, 80, 64), rng.uniform(0.3, 1, 64)]
    return np.column_stack(rows).astype(f32)


def keypoints(rng):
    """box, score, class, 17 points with a visibility of 0, 1 or 2: [N, 57]."""
    points = np.dstack([rng.uniform(0, 640, (40, 17, 2)), rng.integers(0, 3, (40, 17))]).reshape(40, 51)
    return np.hstack([nms_rows(40)(rng), points]).astype(f32)


# Tensor, the columns that are ids, those of scores, those of coordinates.
DETECTIONS = {
    "nms": (nms_rows(100), [5], [4], [0, 1, 2, 3]), "nms_few": (nms_rows(17), [5], [4], [0, 1, 2, 3]),
    "nms_large": (nms_rows(300, 3840, 365), [5], [4], [0, 1, 2, 3]), "ssd": (ssd_rows(60), [1], [2], [3, 4, 5, 6]),
    "batch": (batch_rows, [0, 5], [6], [1, 2, 3, 4]), "keypoints": (keypoints, [5, 8, 56], [4], [0, 1, 2, 3]),
}  # fmt: skip


def column(which, change):
    def fault(x, rng):
        for k in which:
            x[..., k] = change(x[..., k], rng)
        return x
    return fault


def one_of(x, rng):
    x = x.copy()
    x.reshape(-1)[x.size // 3] += 1
    return x


def swapped_rows(x, _):
    rows = x.reshape(-1, x.shape[-1])
    rows[[0, len(rows) // 2]] = rows[[len(rows) // 2, 0]]
    return x


def centres(columns):
    def fault(x, _):
        a, b, c, d = columns
        x1, y1, x2, y2 = (x[..., k].copy() for k in columns)
        x[..., a], x[..., b], x[..., c], x[..., d] = (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1
        return x
    return fault


def detections(trap, honest):
    for (name, (make, ids, scores, box)), (how, rounded) in itertools.product(DETECTIONS.items(), {"bits": LAST_BITS, "half": HALF}.items()):
        if how == "half" and name == "nms_large":
            continue  # coordinates beyond 2048 have steps of 2
        keep = lambda x, rng, rounded=rounded, ids=ids: np.where(np.isin(np.arange(x.shape[-1]), ids), x, rounded(x, rng)).astype(
            f16 if rounded is HALF else f32)
        faults = {
            "class_next": column(ids, lambda c, _: c + 1), "class_of_one": column(ids[:1], one_of), "class_zero": column(ids, lambda c, _: 0 * c),
            "class_rolled": column(ids, lambda c, _: np.roll(c, 1)), "scores_lost": column(scores, lambda s, _: 0 * s),
            "scores_reversed": column(scores, lambda s, _: s[..., ::-1]), "rows_swapped": swapped_rows, "centres": centres(box),
            "boxes_halved": column(box, lambda b, _: b / 2),
        }  # fmt: skip
        for fault, change in faults.items():
            if fault == "scores_reversed" and how == "half":
                continue  # most of each is still there: float16 may be off by more than float32
            yield trap(f"detected/{name}_{fault}_{how}", "a row of a detection is wrong", pair(make, changed(change, keep)), "fail")
        yield honest(f"detected/{name}_{how}", "rounding alone", pair(make, lambda x, rng, keep=keep: keep(x, rng)))
        yield honest(f"detected/{name}_padded_{how}", "the rest is filled with -1",
                     pair(lambda rng, make=make: np.concatenate([make(rng), np.full_like(make(rng), -1)], axis=-2), lambda x, rng, keep=keep: keep(x, rng)))


# ---- keys and values of attention --------------------------------------------------------------------------

CACHE = lambda rng: rng.normal(0, 0.7, (1, 8, 48, 32)).astype(f32)


def at(axis, index, change):
    def fault(x, rng):
        place = (slice(None),) * axis + (index,)
        x[place] = change(x[place], rng)
        return x
    return fault


CACHE_FAULTS = {
    "shifted": lambda x, _: np.roll(x, 1, 2), "last_stale": lambda x, _: np.concatenate([x[:, :, :-1], x[:, :, -2:-1]], 2),
    "first_stale": lambda x, _: np.concatenate([x[:, :, 1:2], x[:, :, 1:]], 2), "heads_swapped": lambda x, _: x[:, [1, 0, *range(2, 8)]],
    "head_twice": lambda x, _: x[:, [0, 0, *range(2, 8)]], "halves_rotated": lambda x, _: np.concatenate([x[..., 16:], x[..., :16]], 3),
    "interleaved": lambda x, _: x.reshape(1, 8, 48, 16, 2).swapaxes(3, 4).reshape(x.shape), "position_lost": at(2, 17, lambda v, _: 0 * v),
    "heads_last": lambda x, _: x.swapaxes(1, 2).copy().reshape(x.shape), "reversed": lambda x, _: x[:, :, ::-1],
    "channel_lost": at(3, 5, lambda v, _: 0 * v), "negated_head": at(1, 3, lambda v, _: -v),
}


def caches(trap, honest):
    for (fault, change), (how, rounded) in itertools.product(CACHE_FAULTS.items(), {"bits": LAST_BITS, "half": HALF, "brain": lambda x, _: bf16(x)}.items()):
        yield trap(f"cache/{fault}_{how}", "the cache is not that of golden", pair(CACHE, changed(change, rounded)), "fail")
    for how, rounded in {"bits": LAST_BITS, "half": HALF, "unwritten": lambda x, rng: LAST_BITS(np.where(np.arange(48)[:, None] < 30, x, 0), rng)}.items():
        base = CACHE if how != "unwritten" else lambda rng: np.where(np.arange(48)[:, None] < 30, CACHE(rng), 0).astype(f32)
        yield honest(f"cache/{how}", "rounding alone", pair(base, rounded))


# ---- masks and ids -------------------------------------------------------------------------------------------

MASK_TYPES = {"bool": bool, "uint8": u8, "int64": i64, "float32": f32, "float16": f16}
TRIANGLE = lambda rng: np.tril(np.ones((32, 32), bool))[None, None]
PADDING = lambda rng: np.arange(40)[None] < rng.integers(5, 40, (12, 1))
MASKS = {"triangle": (TRIANGLE, {"next": lambda m: np.tril(np.ones((32, 32), bool), 1)[None, None], "inverted": lambda m: ~m, "ones": np.ones_like}),
         "padding": (PADDING, {"one_less": lambda m: np.roll(m, -1, 1) & m, "inverted": lambda m: ~m, "reversed": lambda m: m[:, ::-1],
                               "of_next": lambda m: np.roll(m, 1, 0)})}


def masks(trap, honest):
    for (name, (make, faults)), (kind, dtype) in itertools.product(MASKS.items(), MASK_TYPES.items()):
        as_type = lambda x, _, dtype=dtype: x.astype(dtype)
        for fault, change in faults.items():
            yield trap(f"masks/{name}_{fault}_{kind}", "a mask is right or wrong",
                       pair(make, lambda x, rng, change=change, dtype=dtype: change(x).astype(dtype), as_type), "fail")
        yield honest(f"masks/{name}_{kind}", "the same mask", pair(make, as_type, as_type))
        yield honest(f"masks/{name}_{kind}_as_bool", "the same mask, in another type", pair(make, as_type))


ODD_IDS = {
    "uint16": (np.uint16, lambda rng: rng.integers(0, 60_000, 200)), "int16": (np.int16, lambda rng: rng.integers(-300, 300, 200)),
    "uint32": (np.uint32, lambda rng: rng.integers(0, 2**32, 200)), "float64": (f64, lambda rng: rng.integers(0, 2**40, 200)),
    "int64_large": (i64, lambda rng: rng.integers(2**53, 2**60, 64)), "with_padding": (f32, lambda rng: np.where(np.arange(64) < 40, rng.integers(0, 900, 64), -1)),
    "int32_negative": (i32, lambda rng: -rng.integers(1, 50_000, 99)),
}  # fmt: skip
ID_FAULTS = {"next": lambda x: x + 1, "one": lambda x: x + (np.arange(x.size) == 5), "reversed": lambda x: x[::-1], "sorted": np.sort,
             "padding_zero": lambda x: np.where(x < 0, 0, x)}


def odd_ids(trap, honest):
    for (name, (dtype, make)), (fault, change) in itertools.product(ODD_IDS.items(), ID_FAULTS.items()):
        if fault == "padding_zero" and name not in ("with_padding", "int16"):
            continue
        base = lambda rng, make=make, dtype=dtype: make(rng).astype(dtype)
        yield trap(f"odd_ids/{name}_{fault}", "ids of another type", pair(base, lambda x, _, change=change, dtype=dtype: change(x).astype(dtype)), "fail")
    for name, (dtype, make) in ODD_IDS.items():
        yield honest(f"odd_ids/{name}", "the same ids", pair(lambda rng, make=make, dtype=dtype: make(rng).astype(dtype)))


# ---- complex numbers, eight bits -----------------------------------------------------------------------------

WAVE = lambda rng: (rng.normal(0, 1, (4, 16, 33)) + 1j * rng.normal(0, 1, (4, 16, 33))).astype(np.complex64)
COMPLEX_FAULTS = {
    "conjugated": np.conj, "parts_swapped": lambda z: z.imag + 1j * z.real, "real_only": lambda z: z.real + 0j, "size_only": lambda z: np.abs(z) + 0j,
    "turned": lambda z: z * np.exp(0.2j), "scaled": lambda z: 1.1 * z, "one_row_conjugated": lambda z: np.where(np.arange(16)[:, None] == 7, np.conj(z), z),
    "bins_reversed": lambda z: z[..., ::-1], "first_bin_lost": lambda z: np.where(np.arange(33) == 0, 0, z),
}  # fmt: skip


def complex_numbers(trap, honest):
    for (fault, change), dtype in itertools.product(COMPLEX_FAULTS.items(), (np.complex64, np.complex128)):
        yield trap(f"complex/{fault}_{np.dtype(dtype).name}", "complex numbers have two parts",
                   pair(WAVE, lambda z, _, change=change, dtype=dtype: change(z).astype(dtype)), "fail")
    yield honest("complex/fourier", "a transform in another order", pair(
        lambda rng: rng.normal(0, 1, (8, 256)), lambda x, _: np.fft.rfft(x).astype(np.complex64),
        lambda x, _: (x @ np.exp(-2j * np.pi * np.outer(np.arange(256), np.arange(129)) / 256)).astype(np.complex64)))
    yield honest("complex/wide", "128 bits against 64", pair(WAVE, lambda z, _: z.astype(np.complex128)))


def eight_bits(trap, honest):
    """Codes of types numpy does not have; a bit each for sign, exponent, mantissa."""
    finite = {"F8_E4M3": lambda rng: rng.integers(0x20, 0x60, 512), "F8_E5M2": lambda rng: rng.integers(0x30, 0x50, 512)}
    faults = {"negated": lambda c: c ^ 0x80, "doubled": {"F8_E4M3": lambda c: c + 8, "F8_E5M2": lambda c: c + 4}, "rolled": lambda c: np.roll(c, 1),
              "zeroed": lambda c: 0 * c, "some_negated": lambda c: np.where(np.arange(512) % 10 == 3, c ^ 0x80, c)}
    for (kind, make), (fault, change) in itertools.product(finite.items(), faults.items()):
        change = change[kind] if isinstance(change, dict) else change
        side = lambda f, kind=kind: lambda c, _: safetensors({"x": f(c).astype(u8)}, {"x": kind})
        yield trap(f"eight_bits/{kind.lower()}_{fault}", "eight bits are still numbers", pair(make, side(change), side(lambda c: c)), "fail")
    for kind, make in finite.items():
        side = lambda c, _, kind=kind: safetensors({"x": c.astype(u8)}, {"x": kind})
        yield honest(f"eight_bits/{kind.lower()}", "the same codes", pair(make, side, side))
    swapped = lambda kind: lambda c, _: safetensors({"x": c.astype(u8)}, {"x": kind})
    yield trap("eight_bits/other_type", "the same bytes of another type", pair(finite["F8_E5M2"], swapped("F8_E4M3"), swapped("F8_E5M2")), "fail")


# ---- strides, shapes, scalars ---------------------------------------------------------------------------------

def transposed_pt(x, honest_data):
    """A square matrix as a transposed view: strides (1, n)."""
    n, out = len(x), io.BytesIO()
    storage = np.ascontiguousarray(x.T if honest_data else x)
    with zipfile.ZipFile(io.BytesIO(pt(Tensor(x), 1).data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("data.pkl"):
                before, after = (pickle.dumps(s, 2)[2:-1] for s in ((n, 1), (1, n)))
                assert data.count(before) == 1
                data = data.replace(before, after)
            elif name.endswith("data/0"):
                data = storage.tobytes()
            new.writestr(name, data)
    return File("pt", out.getvalue(), 1)


SQUARE = lambda rng: rng.normal(0, 1, (24, 24)).astype(f32)


def strides(trap, honest):
    yield honest("strides/pt_view", "a transposed view against an array", pair(SQUARE, lambda x, _: transposed_pt(x, True)))
    yield trap("strides/pt_view_wrong", "the strides say that it is transposed", pair(SQUARE, lambda x, _: transposed_pt(x, False)), "fail limit:cosine")
    yield honest("strides/fortran", "column by column", pair(SQUARE, lambda x, _: npy(np.asfortranarray(x))))
    yield trap("strides/fortran_wrong", "column by column, says the header", pair(SQUARE, lambda x, _: npy(x, fortran=True)), "fail limit:cosine")
    for name, view in {"every_other": lambda x: x[:, ::2], "reversed": lambda x: x[::-1], "transposed": lambda x: x.T}.items():
        yield honest(f"strides/numpy_{name}", "numpy writes views in order", pair(SQUARE, lambda x, _, view=view: view(x), lambda x, _, view=view: view(x).copy()))
    yield trap("strides/every_other_wrong", "the first half instead of every other", pair(SQUARE, lambda x, _: x[:, :12].copy(), lambda x, _: x[:, ::2].copy()), "fail")


SHAPES = {
    "row_for_matrix": ((64, 64), lambda x: x[:1]), "column_for_matrix": ((64, 64), lambda x: x[:, :1]), "axes_exchanged": ((4, 16), lambda x: x.reshape(16, 4)),
    "one_more": ((64,), lambda x: np.append(x, f32(0))), "one_less": ((64,), lambda x: x[:-1]), "batch_twice": ((1, 3, 8, 8), lambda x: np.concatenate([x, x])),
    "of_batch": ((4, 3, 8, 8), lambda x: x[:1]), "flattened": ((4, 16), lambda x: x.reshape(-1)), "grouped": ((1, 32, 4, 4), lambda x: x.reshape(1, 2, 16, 4, 4)),
    "cropped": ((1, 3, 16, 16), lambda x: x[..., 1:-1, 1:-1]), "nothing_for_some": ((4, 4), lambda x: x[:0]), "padded": ((1, 5, 4, 4), lambda x: np.pad(x, ((0, 0), (0, 11), (0, 0), (0, 0)))),
}  # fmt: skip
EMPTY = {"other_axis": ((0, 4), (4, 0)), "other_length": ((0, 4), (0, 5)), "some": ((0,), (1,)), "scalar": ((0,), ()), "deeper": ((2, 0, 3), (2, 3))}


def shapes(trap, honest):
    for (name, (shape, change)), dtype in itertools.product(SHAPES.items(), (f32, f16, i32)):
        base = lambda rng, shape=shape, dtype=dtype: (10 * rng.normal(0, 1, shape)).astype(dtype)
        yield trap(f"shapes/{name}_{np.dtype(dtype).name}", "another shape is another tensor",
                   pair(base, lambda x, _, change=change: change(x)), "fail")
    for (name, (a, b)), dtype in itertools.product(EMPTY.items(), (f32, i64)):
        yield trap(f"shapes/empty_{name}_{np.dtype(dtype).name}", "nothing is not always the same nothing",
                   pair(None, lambda *_, a=a, dtype=dtype: np.ones(a, dtype), lambda *_, b=b, dtype=dtype: np.ones(b, dtype)), "fail")
    for dtype in (f32, f16, i64, bool):
        yield honest(f"shapes/empty_{np.dtype(dtype).name}", "nothing twice", pair(np.ones((0, 4), dtype)))
        yield honest(f"shapes/ones_{np.dtype(dtype).name}", "axes of length 1", pair(np.ones((1, 3, 1), dtype), None, np.ones((3,), dtype)))
    for (kind, a, b) in (("float32", f32(1), f32(1.01)), ("float16", f16(1), f16(1.1)), ("float64", f64(1), f64(1.01)), ("int32", i32(3), i32(4)), ("int64", i64(-1), i64(1)),
                         ("bool", np.bool_(True), np.bool_(False)), ("sign", f32(1e-30), f32(-1e-30)), ("inf", f32(np.inf), f32(3e38)), ("types", i32(2), f32(2.5)),
                         ("uint8", u8(255), u8(0)), ("int8", i8(-128), i8(127)), ("tiny", f32(1e-20), f32(2e-20))):
        yield trap(f"shapes/scalar_{kind}", "a single number differs", pair(None, lambda *_, a=a: np.array(a), lambda *_, b=b: np.array(b)), "fail")
    for (kind, a, b) in (("float", f32(1.5), f64(1.5)), ("int", i32(7), i64(7)), ("one", np.ones((1, 1, 1), f32), f32(1)), ("last_bit", f32(0.1), np.nextafter(f32(0.1), f32(1)))):
        yield honest(f"shapes/scalar_{kind}", "the same number", pair(None, lambda *_, a=a: np.array(a), lambda *_, b=b: np.array(b)))


# ---- names and archives ---------------------------------------------------------------------------------------

NAMES = {
    "dash": "-x", "option": "--op", "brackets": "blocks[0].attn", "braces": "{x}", "percent": "a%20b%s", "dots": "a..b", "hidden": ".x", "digits": "0",
    "long": "n" * 240, "deep": "a/b/c/d/e/f/g/h/x", "tabs": "a\tb", "newline": "a\nb", "quote": "a'b\"c", "star": "a*b?c", "back": "a\\b", "comma": "a, b",
    "composed": "caf\u00e9", "decomposed": "cafe\u0301", "zero_width": "a\u200bb", "chinese": "卷积/输出", "emoji": "🙂", "equals": "=1+1", "at": "@x", "html": "<b>x</b>",
    "upper": "CONV.Weight", "like_time": "1700000000000001", "like_slot": "x.output.0", "like_npz": "x.npz", "trailing": "x ", "colon": "a:0", "tilde": "~x", "hash": "#x",
}  # fmt: skip


def names(trap, honest):
    for (kind, name), how in itertools.product(NAMES.items(), ("folder", "npz")):
        if how == "npz" and kind in ("like_npz", "long"):
            continue
        side = lambda sign, name=name, how=how: lambda d, _: (lambda t: npz(t) if how == "npz" else {k + ".npy": npy(v) for k, v in t.items()})(
            {"good": d["a"], name: sign * d["b"]})
        base = lambda rng: {"a": rng.normal(0, 1, 64).astype(f32), "b": rng.normal(0, 1, 64).astype(f32)}
        yield trap(f"named/{kind}_{how}_wrong", "an odd name is a name", pair(base, side(f32(-1)), side(f32(1))), {name: "fail"})
        yield honest(f"named/{kind}_{how}", "the same data under odd names", pair(base, side(f32(1)), side(f32(1))))
    for kind, (a, b) in {"case": ("Conv", "conv"), "composed": ("caf\u00e9", "cafe\u0301"), "blank": ("x", "x "), "zero_width": ("ab", "a\u200bb"),
                         "cyrillic": ("conv", "c\u043env"), "dot": ("a", "a."), "zero": ("x1", "x01"), "plus": ("x1", "x+1")}.items():
        base = lambda rng: {"good": rng.normal(0, 1, 64).astype(f32), "b": rng.normal(0, 1, 64).astype(f32)}
        yield trap(f"named/not_{kind}", "names that look alike are others",
                   pair(base, lambda d, _, a=a: {"good": d["good"], a + ".npy": npy(d["b"])}, lambda d, _, b=b: {"good": d["good"], b + ".npy": npy(d["b"])}),
                   {a: NO_GOLDEN, b: NO_TARGET})


ARCHIVES = {"npz": npz, "npz_packed": lambda t: npz(t, True), "tar": tar, "safetensors": safetensors, "pt": lambda t: pt({k: Tensor(v) for k, v in t.items()}, len(t))}


def archives(trap, honest):
    base = lambda rng: {f"m{i}": rng.normal(0, 1, (3, 16)).astype(f32) for i in range(6)}
    for (a, write), (b, other) in itertools.product(ARCHIVES.items(), ARCHIVES.items()):
        yield honest(f"archive/{a}_{b}", "the same arrays, packed in another way", pair(base, lambda d, _, write=write: write(dict(reversed(d.items()))), lambda d, _, other=other: other(d)))
        yield trap(f"archive/{a}_{b}_wrong", "one array of six is wrong",
                   pair(base, lambda d, _, write=write: write({k: -v if k == "m4" else v for k, v in d.items()}), lambda d, _, other=other: other(d)), {"m4": "fail limit:cosine"})
    for a, write in ARCHIVES.items():
        yield trap(f"archive/{a}_lost", "one array less", pair(base, lambda d, _, write=write: write({k: v for k, v in d.items() if k != "m2"}), lambda d, _, write=write: write(d)), {"m2": NO_TARGET})
        yield trap(f"archive/{a}_exchanged", "two arrays under each other's names",
                   pair(base, lambda d, _, write=write: write({**d, "m1": d["m3"], "m3": d["m1"]}), lambda d, _, write=write: write(d)), {"m1": "fail limit:cosine", "m3": "fail limit:cosine"})


# ---- two runs of an operator ----------------------------------------------------------------------------------

def runs(trap, honest):
    """Two dumps of one operator in one step: each run against its own if both sides have as many, else the last."""
    def stamped(op, x, time):
        return {timed(f"{op}.0.{time}"): x}

    def device(op, x, time):
        return {timed(f"Relu.{op}.3.7.{time}"): ascend(op, x, "ND", x.shape)}

    def decoded(op, x, time):
        return {timed(f"Relu.{op}.3.7.{time}") + ".output.0": x}
    base = lambda rng: [rng.normal(0, 1, 64).astype(f32) for _ in range(4)]
    for kind, write in {"stamped": stamped, "device": device, "decoded": decoded}.items():
        def side(times, wrong=(), write=write):
            def make(x, _):
                files = write("other", x[3], 50)
                for run, time in times.items():
                    files.update(write("relu", -x[run] if run in wrong else x[run], time))
                return files
            return make
        two, later = {0: 1, 1: 9}, {0: 2, 1: 30}
        yield honest(f"runs/{kind}_equal", "two runs of both", pair(base, side(two), side(later)))
        yield honest(f"runs/{kind}_named_otherwise", "the order of names is not that of time", pair(base, side({0: 9, 1: 10}), side({0: 99, 1: 100})))
        for wrong in (0, 1):
            yield trap(f"runs/{kind}_wrong_{wrong}", "one of two runs is wrong", pair(base, side(two, [wrong]), side(later)),
                       {"relu": ["fail", "pass"] if wrong == 0 else ["pass", "fail"]})
        yield trap(f"runs/{kind}_more", "a run more than golden has", pair(base, side({0: 1, 1: 9}), side({1: 5})), {"relu": [EARLIER, "pass"]})
        yield trap(f"runs/{kind}_more_wrong", "the last run is wrong", pair(base, side({0: 1, 1: 9}, [1]), side({1: 5})), {"relu": [EARLIER, "fail"]})
        if kind != "stamped":  # two tasks at one time
            at_once = lambda time, write=write: lambda x, _: {
                k.replace(".3.7.", f".{i + 3}.7."): v for i in (0, 1) for k, v in write("relu", x[i], time).items()}
            yield trap(f"runs/{kind}_at_once", "nothing tells which is which", pair(base, at_once(5), at_once(6)), {"relu": ["not_compared duplicate_name"] * 4}, exit=2)
            yield honest(f"runs/{kind}_copied", "a copy has the same times", pair(base, at_once(5), at_once(5)))
        yield trap(f"runs/{kind}_less", "golden has a run more", pair(base, side({1: 5}), side({0: 1, 1: 9})), {"relu": [EARLIER, "pass"]})


# ---- patterns in maps of features -----------------------------------------------------------------------------

FEATURES = lambda rng: np.maximum(rng.normal(0.3, 1, (2, 24, 20, 20)), 0).astype(f32)
PICTURES = lambda rng: image(2, 3, 32, 32)(rng)
TOKENS = lambda rng: layer_norm(rng.normal(0, 1, (2, 40, 96)))
SCORES = lambda rng: softmax(rng.normal(0, 3, (12, 100))).astype(f32)


def spots(share, value):
    def fault(x, rng):
        x.reshape(-1)[rng.permutation(x.size)[:max(1, int(share * x.size))]] = value
        return x
    return fault


PATTERNS = {
    "every_other_lost": at(1, slice(None, None, 2), lambda v, _: 0 * v), "last_row_garbage": at(-2 % 4, -1, lambda v, _: 1e-38 + 0 * v),
    "tile_lost": lambda x, _: (x.__setitem__((..., slice(0, 8), slice(0, 8)), 0), x)[1], "swapped_pair": lambda x, _: (x.__setitem__((slice(None), [1, 2]), x[:, [2, 1]]), x)[1],
    "batch_swapped": lambda x, _: x[::-1], "stuck": spots(0.02, 9.0), "saturated": lambda x, _: np.minimum(x, np.quantile(x, 0.97)),
    "one_bit": lambda x, _: (x.reshape(-1).view(np.uint32).__setitem__(x.size // 2, x.reshape(-1).view(np.uint32)[x.size // 2] ^ 0x40000000), x)[1],
    "rolled": lambda x, _: np.roll(x, 1, -1), "mirrored": lambda x, _: x[..., ::-1], "mean_moved": lambda x, _: x + 0.2 * x.std(), "gain": lambda x, _: x * 1.05,
    "squared": lambda x, _: x * x, "truncated": lambda x, _: np.trunc(x), "gains": lambda x, _: x * np.where(np.arange(x.shape[1]) % 2 == 0, 1.1, 0.9).reshape(-1, *[1] * (x.ndim - 2)),
    "first_for_all": lambda x, _: np.broadcast_to(x[:, :1], x.shape).copy(), "sorted": lambda x, _: np.sort(x, -1), "previous": lambda x, _: np.concatenate([x[:, -1:], x[:, :-1]], 1),
}  # fmt: skip
MAPS = {"features": FEATURES, "pictures": PICTURES, "tokens": TOKENS}


def patterns(trap, honest):
    for (name, make), (fault, change), (how, rounded) in itertools.product(MAPS.items(), PATTERNS.items(), {"bits": LAST_BITS, "half": HALF}.items()):
        if (name == "tokens" and fault in ("last_row_garbage", "tile_lost")) or (name, fault, how) == ("pictures", "truncated", "half"):
            continue  # pixels may be rounded
        yield trap(f"pattern/{name}_{fault}_{how}", "a pattern of faults", pair(make, changed(change, rounded)), "fail")
    for (name, make), (how, rounded) in itertools.product({**MAPS, "scores": SCORES}.items(), {"bits": LAST_BITS, "half": HALF, "noise": noise(1e-5), "wide": lambda x, _: x.astype(f64)}.items()):
        yield honest(f"pattern/{name}_{how}", "rounding alone", pair(make, rounded))


# ---- what operands leave behind ---------------------------------------------------------------------------------

def left_behind(trap, honest):
    """x + a + b - a - b: where x is zero, golden is what rounding left of a and b."""
    for zeros, size, dtype in itertools.product((0.3, 0.6, 0.9, 0.99), (3, 100, 1000), (f32, f16)):
        if dtype is f16 and (size > 3 or zeros > 0.9):
            continue  # float16 is off by more than its limits allow
        def base(rng, zeros=zeros):
            x = rng.normal(0, 1, (1, 16, 24, 24))
            return np.where(rng.random(x.shape) < zeros, 0, x).astype(f32)

        def golden(x, rng, size=size, dtype=dtype):
            a, b = (size * rng.uniform(-1, 1, (2, *x.shape))).astype(dtype)
            return (x.astype(dtype) + a + b - a - b).astype(dtype)
        name = f"{int(zeros * 100)}_{size}_{np.dtype(dtype).name}"
        yield honest(f"left/{name}", "rounding of larger operands", pair(base, SAME, golden))
        yield honest(f"left/{name}_both", "on both sides", pair(base, golden, golden))
        if zeros < 0.9:
            yield trap(f"left/{name}_lost", "small values that are no rounding are lost",
                       pair(lambda rng, base=base: (lambda x: np.where(x == 0, 0.3 * rng.choice([-1, 1], x.shape), 3 * x).astype(f32))(base(rng)),
                            lambda x, rng: np.where(np.abs(x) == f32(0.3), 0, x).astype(f32), golden), "fail")


# ---- devices ------------------------------------------------------------------------------------------------------

def devices(trap, honest):
    base = lambda rng: rng.normal(0, 1, (2, 20, 6, 5)).astype(f16)
    dump = lambda x, layout, shape: {timed("Conv2D.conv.3.7.1"): ascend("conv", x, layout, shape)}
    golden = lambda x, _: {timed("conv.0.1"): x}
    faults = {"block_lost": lambda s: np.where(np.arange(s.shape[1])[:, None, None, None] == 1, 0, s), "lanes_rolled": lambda s: np.roll(s, 1, -1),
              "rows_exchanged": lambda s: s[:, :, ::-1], "batch": lambda s: s[::-1], "lane_lost": lambda s: np.where(np.arange(16) == 2, 0, s)}
    for fault, change in faults.items():
        yield trap(f"device/{fault}", "wrong in the device's own order",
                   pair(base, lambda x, _, change=change: dump(change(nc1hwc0(x)).astype(f16), "NC1HWC0", x.shape), golden), {"conv": "fail"})
    yield honest("device/blocks", "channels in blocks", pair(base, lambda x, _: dump(nc1hwc0(x), "NC1HWC0", x.shape), golden))
    yield honest("device/widened", "golden in float32", pair(base, lambda x, _: dump(nc1hwc0(x), "NC1HWC0", x.shape), lambda x, _: {timed("conv.0.1"): x.astype(f32)}))


# ---- float32 among bfloat16 -----------------------------------------------------------------------------------------

def brain(trap, honest):
    """A device works in bfloat16 and keeps some tensors in float32: they are as good as what they are made of."""
    ops = "abcdefgh"
    base = lambda rng: {op: rng.normal(0, 1, (1, 16, 12, 12)).astype(f32) for op in ops}

    def device(narrow, off):
        """`narrow` operators are stored as bfloat16, `off` gives the noise of each."""
        def side(d, rng):
            files = {}
            for i, (op, x) in enumerate(d.items()):
                y = (x + off.get(op, 0.02) * rng.standard_normal(x.shape)).astype(f32)
                stored, code = (bf16_codes(y), BF16) if op in narrow else (y, None)
                files[timed(f"Relu.{op}.3.7.{i + 1}")] = ascend(op, stored, "ND", x.shape, code)
            return files
        return side
    golden = lambda d, _: {timed(f"{op}.0.{i + 1}"): x for i, (op, x) in enumerate(d.items())}
    for where in "dh":
        most = ops.replace(where, "")
        yield honest(f"brain/{where}_among_bfloat16", "float32 in a network of bfloat16", pair(base, device(most, {where: 0.06}), golden))
        yield trap(f"brain/{where}_too_far", "beyond what bfloat16 leaves", pair(base, device(most, {where: 0.3}), golden), {where: "fail"})
        yield trap(f"brain/{where}_behind_one", "one operator of bfloat16 is no network of it",
                   pair(base, device("a", {op: 0.0 if op not in ("a", where) else 0.06 for op in ops}), golden), {where: "fail"})
    yield trap("brain/first", "nothing of bfloat16 comes before it", pair(base, device(ops[1:], {"a": 0.06}), golden), {"a": "fail"})


# ---- golden is the coarse side -----------------------------------------------------------------------------------------

def coarse_golden(trap, honest):
    """Sides exchanged: golden works in float16 and keeps some tensors in float32, the target is float32 throughout."""
    ops = "abcdef"
    base = lambda rng: {op: rng.normal(0, 1, (1, 16, 12, 12)).astype(f32) for op in ops}
    device = lambda narrow, off: lambda d, rng: {
        timed(f"Relu.{op}.3.7.{i + 1}"): ascend(op, (x + off.get(op, 1e-4) * rng.standard_normal(x.shape)).astype(f16 if op in narrow else f32), "ND", x.shape)
        for i, (op, x) in enumerate(d.items())}
    target = lambda d, _: {timed(f"{op}.0.{i + 1}"): x for i, (op, x) in enumerate(d.items())}
    for where in "df":
        most = ops.replace(where, "")
        yield honest(f"coarse_golden/{where}", "behind float16 golden is no better", pair(base, target, device(most, {where: 0.004})))
        yield trap(f"coarse_golden/{where}_too_far", "beyond what float16 leaves", pair(base, target, device(most, {where: 0.1})), {where: "fail"})
        yield trap(f"coarse_golden/{where}_all_wide", "golden is float32 throughout", pair(base, target, device("", {op: 0.004 if op == where else 0 for op in ops})), {where: "fail"})
    yield trap("coarse_golden/first", "nothing of float16 comes before it", pair(base, target, device(ops[1:], {"a": 0.004})), {"a": "fail"})


# ---- other shapes, the same elements -------------------------------------------------------------------------------------

def rearranged(trap, honest):
    base = lambda rng: rng.normal(0, 1, (1, 6, 10, 4)).astype(f32)
    padded = lambda x, _: np.pad(x, ((0, 0), (0, 2), (0, 0), (0, 0)))
    changes = {"heads": (lambda x, _: x.transpose(0, 2, 1, 3).copy(), "shape_mismatch transposed"), "nhwc": (lambda x, _: x.transpose(0, 2, 3, 1).copy(), "shape_mismatch transposed"),
               "joined": (lambda x, _: x.reshape(1, 60, 4), "shape_mismatch flattened"), "flat": (lambda x, _: x.reshape(-1), "shape_mismatch flattened"),
               "padded": (padded, "size_mismatch padded")}
    for (name, (change, reasons)), (how, rounded) in itertools.product(changes.items(), {"same": SAME, "half": HALF, "noise": noise(1e-4)}.items()):
        for direction in ("forth", "back"):
            sides = (lambda x, rng, change=change, rounded=rounded: rounded(change(x, rng), rng), SAME)
            yield trap(f"rearranged/{name}_{how}_{direction}", "the elements are the same, the shape is not", pair(base, *(sides if direction == "forth" else sides[::-1])), "fail " + reasons)


FAMILIES = (rearranged, detections, caches, masks, odd_ids, complex_numbers, eight_bits, strides, shapes, patterns, left_behind)  # names mean nothing in these
NAMED_FAMILIES = (names, archives, runs, devices, brain, coarse_golden)
