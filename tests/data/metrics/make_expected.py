#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pairs of small tensors and what every metric must say about them: writes expected.json.

Sums are exact (fractions), roots and logarithms are taken in 60 decimal digits, types are decoded by
listing all their values. Nothing here shares a formula with the program beyond the definitions in
docs/metrics.md. A value is a number, "inf", "-inf", or an object with the reason why there is none.
"""
import bisect
import json
import math
import struct
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np

getcontext().prec = 60
NAN, INF = math.nan, math.inf
EPS32 = Fraction(float(np.finfo(np.float32).eps))
EPS64 = Decimal(2) ** -52


def dec(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def root(x):
    return dec(x).sqrt()


def undefined(reason):
    return {"undefined": reason}


# ---- types -----------------------------------------------------------------------------------------


def e4m3fn(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return None
    return Fraction(mantissa, 8) * Fraction(2) ** -6 if exponent == 0 else (1 + Fraction(mantissa, 8)) * Fraction(2) ** (exponent - 7)


def half(code):
    exponent, mantissa = code >> 10 & 31, code & 1023
    if exponent == 31:
        return None
    return Fraction(mantissa, 1024) * Fraction(2) ** -14 if exponent == 0 else (1 + Fraction(mantissa, 1024)) * Fraction(2) ** (exponent - 15)


def bfloat16(code):
    exponent, mantissa = code >> 7 & 255, code & 127
    if exponent == 255:
        return None
    return Fraction(mantissa, 128) * Fraction(2) ** -126 if exponent == 0 else (1 + Fraction(mantissa, 128)) * Fraction(2) ** (exponent - 127)


# The finite values from zero up, and one more.
ORDERED = {}
for name, decode, codes in [("float8_e4m3fn", e4m3fn, range(128)), ("float8_e5m2", lambda c: half(c << 8), range(128)),
                            ("float16", half, range(1 << 15)), ("bfloat16", bfloat16, range(1 << 15))]:
    finite = [v for v in map(decode, codes) if v is not None]
    assert finite == sorted(finite)
    ORDERED[name] = finite + [2 * finite[-1] - finite[-2]]


def place(dtype, x):
    """How many steps of the type x is away from zero, with its sign."""
    sign = -1 if x < 0 else 1
    x = abs(x)
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return sign * struct.unpack("<i", np.float32(float(x)).tobytes())[0]
    if dtype == "float64":
        return sign * struct.unpack("<q", np.float64(float(x)).tobytes())[0]
    if dtype not in ORDERED:
        return sign * int(x)
    values = ORDERED[dtype]
    i = min(bisect.bisect_left(values, x), len(values) - 1)
    if i > 0:
        down, up = x - values[i - 1], values[i] - x
        if down < up or (down == up and i % 2):
            i -= 1
    return sign * i


def limits(dtype):
    """The smallest and the largest finite value, where a value there tells something."""
    if dtype in ORDERED:
        return -ORDERED[dtype][-2], ORDERED[dtype][-2]
    if dtype in ("float32", "float64"):
        return Fraction(float(np.finfo(dtype).min)), Fraction(float(np.finfo(dtype).max))
    if dtype in ("int8", "uint8", "int16", "uint16"):
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return -INF, None


def at_limit(dtype, values):
    low, high = limits(dtype)
    return 0 if high is None else sum(1 for v in values if v == v and (v <= low or v >= high))


RELATIVE = {"float8_e5m2": -2, "float8_e4m3fn": -3, "bfloat16": -7, "float16": -10, "float32": -23, "float64": -52}
SMALLEST = {"float8_e5m2": -14, "float8_e4m3fn": -6, "bfloat16": -126, "float16": -14, "float32": -126, "float64": -1022}


def coarser(a, b):
    return b if RELATIVE.get(b, -9999) > RELATIVE.get(a, -9999) else a


def resolution(dtype):
    if dtype not in RELATIVE:
        return Fraction(0), Fraction(1) - Fraction(1, 2**53)
    return Fraction(2) ** RELATIVE[dtype], Fraction(2) ** SMALLEST[dtype]


def shown(dtype, values, others_side):
    """Float data that all fits a smaller type was widened from it; zeros show nothing, nor do few others among them."""
    others = sum(1 for v in values if v)
    if dtype not in ("float32", "float64") or others == 0 or (others < 8 and 2 * others < len(values)):
        return dtype
    if len(set(values)) == 1 and len(set(others_side)) > 1:  # a constant shows nothing
        return dtype
    for small in ("bfloat16", "float16"):
        table = ORDERED[small][:-1]
        if all(table[min(bisect.bisect_left(table, abs(v)), len(table) - 1)] == abs(v) for v in values):
            return small
    return dtype


# ---- metrics ---------------------------------------------------------------------------------------


def bulk(t, g, t_type, g_type):
    if t == g:
        return 0
    relative, smallest = resolution(coarser(shown(t_type, t, g), shown(g_type, g, t)))
    absolute = max(dec(smallest), dec(relative) * root(sum(x * x for x in g) / len(g)))
    largest = max(map(abs, t + g))
    # As the first pass scales float64 data that would overflow or vanish when squared.
    scale = Fraction(2) ** -math.frexp(float(largest))[1] if largest and not 1e-100 < largest < 1e100 else 1
    buckets = {}
    for x, y in zip(t, g):
        with np.errstate(over="ignore", under="ignore"):
            size = np.float32(min(float(abs(y) * scale), 3.4028234663852886e38))
        bucket = buckets.setdefault(int(size.view(np.uint32)) >> 20, [0, 0, 0])
        ignored = dec(abs(x - y)) <= max(dec(relative * abs(y)), absolute)
        bucket[0] += 1
        bucket[1] += y * y
        bucket[2] += 0 if ignored else (x - y) ** 2
    n = len(t)
    left = n if n < 8 else n * 99 // 100
    gg = dd = Fraction(0)
    for key in sorted(buckets):
        count, more_gg, more_dd = buckets[key]
        taken = min(left, count)
        gg += more_gg * Fraction(taken, count)
        dd += more_dd * Fraction(taken, count)
        left -= taken
    if dd == 0:
        return 0
    if gg > 0:
        return root(dd / gg)
    others = [y for y in g if y]
    kept = n if n < 8 else n * 99 // 100
    return root(dd / kept) / root(sum(y * y for y in others) / len(others)) if others else INF


def off(t, g, t_type, g_type):
    """The share of non-zero golden values that the target misses by more than half."""
    others = sum(1 for y in g if y)
    if not others or not any(y and abs(x - y) > abs(y) / 2 for x, y in zip(t, g)):
        return 0
    kind = coarser(shown(t_type, t, g), shown(g_type, g, t))
    step = resolution(kind)[1] if kind in SMALLEST else 1
    absolute = max(dec(step), dec(Fraction(2) ** -21) * root(sum(x * x for x in g) / len(g)))
    return Fraction(sum(1 for x, y in zip(t, g) if y and abs(x - y) > abs(y) / 2 and dec(abs(x - y)) > absolute), others)


def divergence(t, g):
    def shares(values):
        low, width = min(values), max(values) - min(values)
        u = [max((v - low) / width if width else v, EPS32) for v in values]
        total = sum(u)
        return [dec(x / total) for x in u]

    result = sum(p * (p / q).ln() for p, q in zip(shares(t), shares(g)))
    return 0 if abs(result) < EPS64 else result


def wasserstein(t, g):
    """Sorted values against each other, those within golden's range rounded to 2048 steps of it."""
    most, low, width = sum(abs(x - y) for x, y in zip(t, g)) / len(t), min(g), max(g) - min(g)
    if not width:
        return most / abs(low) if low else INF if most else 0
    step = width / 2048
    placed = lambda v: low + step * math.floor((v - low) / step + Fraction(1, 2)) if low <= v <= low + width else v
    moved = sum(abs(x - y) for x, y in zip(sorted(map(placed, t)), sorted(map(placed, g)))) / len(t)
    return min(moved, most) / width


def metrics_of(t_type, t_all, g_type, g_all):
    n_all = len(t_all)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(t_all, g_all)
             if not (isinstance(x, float) and not math.isfinite(x) or isinstance(y, float) and not math.isfinite(y))]
    agree = sum(1 for x, y in zip(t_all, g_all) if x == y or (x != x and y != y))
    t, g = [x for x, _ in pairs], [y for _, y in pairs]
    d = [abs(x - y) for x, y in pairs]
    n = len(pairs)
    out = {}
    for side, values, finite in (("target", t_all, t), ("golden", g_all, g)):
        out[side + "_nan"] = sum(1 for v in values if v != v)
        out[side + "_inf"] = sum(1 for v in values if v in (INF, -INF))
        out[side + "_at_limit"] = at_limit(t_type if side == "target" else g_type, values)
        out[side + "_zeros"] = sum(1 for v in finite if v == 0)
    empty = undefined("tensor is empty") if n_all == 0 else None
    below = lambda limit: agree + sum(1 for x, y in pairs if x != y and abs(x - y) < Fraction(limit) * abs(y))
    out["equal_share"] = empty or Fraction(agree, n_all)
    out["rel_below_1e3"] = empty or Fraction(below(0.001), n_all)
    out["rel_below_5e3"] = empty or Fraction(below(0.005), n_all)
    rest = ("cosine pearson max_abs mean_abs rmse max_rel mean_rel acc_rel euclid rel_euclid kl sqnr_db max_ulp wasserstein "
            "max_err_to_range norm_ratio bulk_rel_euclid off_share").split()
    rest += [f"{side}_{what}" for side in ("target", "golden") for what in ("min", "max", "mean", "std", "l2")]
    if n == 0:
        why = empty or undefined("no pair of finite values")
        return out | {name: why for name in rest}

    tt, gg, tg, dd = sum(x * x for x in t), sum(y * y for y in g), sum(x * y for x, y in pairs), sum(x * x for x in d)
    t_mean, g_mean = sum(t) / n, sum(g) / n
    ctt, cgg = sum((x - t_mean) ** 2 for x in t), sum((y - g_mean) ** 2 for y in g)
    ctg = sum((x - t_mean) * (y - g_mean) for x, y in pairs)
    for side, values, mean, squares, centred in (("target", t, t_mean, tt, ctt), ("golden", g, g_mean, gg, cgg)):
        out[side + "_min"], out[side + "_max"], out[side + "_mean"] = min(values), max(values), mean
        out[side + "_std"], out[side + "_l2"] = root(centred / n), root(squares)

    golden_zero = undefined("golden is all zeros")
    if dd == 0:
        out["cosine"], out["pearson"] = 1, 1
    else:
        out["cosine"] = (undefined("target is all zeros") if tt == 0 else golden_zero if gg == 0
                         else dec(tg) / root(tt) / root(gg))
        out["pearson"] = (undefined("both sides are constant") if ctt == 0 and cgg == 0
                          else undefined("target is constant") if ctt == 0
                          else undefined("golden is constant") if cgg == 0 else dec(ctg) / root(ctt) / root(cgg))
    out["max_abs"], out["mean_abs"], out["rmse"], out["euclid"] = max(d), sum(d) / n, root(dd / n), root(dd)
    relative = [x / abs(y) for x, y in zip(d, g) if y]
    out["max_rel"] = INF if any(x and not y for x, y in pairs) else max(relative, default=0)
    out["acc_rel"] = golden_zero if gg == 0 and tt else sum(relative)
    out["mean_rel"] = golden_zero if gg == 0 and tt else sum(relative) / n
    out["rel_euclid"] = 0 if dd == 0 else golden_zero if gg == 0 else root(dd / gg)
    out["sqnr_db"] = INF if dd == 0 else golden_zero if gg == 0 else 10 * dec(gg / dd).log10()
    out["norm_ratio"] = 1 if dd == 0 else golden_zero if gg == 0 else root(tt / gg)
    width = max(g) - min(g) or max(map(abs, g))
    out["max_err_to_range"] = max(d) / width if width else 0 if dd == 0 else INF
    out["kl"] = divergence(t, g)
    out["wasserstein"] = wasserstein(t, g)
    out["bulk_rel_euclid"] = bulk(t, g, t_type, g_type)
    out["off_share"] = off(t, g, t_type, g_type)
    ulp_type = coarser(t_type, g_type)
    out["max_ulp"] = min(max(abs(place(ulp_type, x) - place(ulp_type, y)) for x, y in pairs), 2**63 - 1)
    return out


# ---- cases -----------------------------------------------------------------------------------------

FORMATS = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int8": "<i1", "uint8": "<u1", "int16": "<i2",
           "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "bool": "?"}


def stored(dtype, values):
    """The bytes of the tensor and its values after rounding to the type, non-finite ones as floats."""
    if dtype in FORMATS:
        array = np.array(values, FORMATS[dtype])
        return array.tobytes(), [v.item() for v in array]
    if dtype == "bfloat16":  # given exactly
        raw = np.array(values, "<f4").view(np.uint32)
        assert not (raw & 0xFFFF).any()
        return (raw >> 16).astype("<u2").tobytes(), [float(v) for v in values]
    decode = e4m3fn if dtype == "float8_e4m3fn" else lambda c: half(c << 8)  # values are codes
    return bytes(values), [(-1 if c & 128 else 1) * decode(c & 127) for c in values]


def written(value):
    if isinstance(value, dict) or isinstance(value, int):
        return value
    if value in (INF, -INF):
        return "inf" if value > 0 else "-inf"
    try:
        number = float(str(dec(value) if isinstance(value, Fraction) else value))
    except OverflowError:
        number = INF
    return number if math.isfinite(number) else "inf" if number > 0 else "-inf"


rng = np.random.default_rng(20240501)
plain = rng.standard_normal(40)
noise = plain + 0.01 * rng.standard_normal(40)
F64, F32, F16 = "float64", "float32", "float16"
FLT_MAX, DBL_MAX = float(np.finfo(F32).max), float(np.finfo(F64).max)
BF_MAX = float(ORDERED["bfloat16"][-2])

CASES = [  # name, target type, target, golden type, golden
    ("empty", F32, [], F32, []),
    ("one element, equal", F32, [3], F32, [3]),
    ("one element, different", F32, [3], F32, [4]),
    ("one element, other sign", F32, [-3], F32, [4]),
    ("only NaN", F32, [NAN, NAN], F32, [NAN, 1]),
    ("NaN and infinity at the same place", F32, [1, NAN, INF, 4], F32, [1, NAN, INF, 5]),
    ("NaN in target", F32, [NAN, 2, 3], F32, [1, 2, 3]),
    ("NaN in golden", F32, [1, 2, 3.5], F32, [NAN, 2, 3]),
    ("infinities of both signs", F32, [INF, -INF, 2, 7], F32, [-INF, -INF, 2.5, INF]),
    ("both zero", F32, [0, -0.0, 0], F32, [0, 0, 0]),
    ("target zero", F32, [0, 0, 0, 0], F32, [1, 2, 3, 4]),
    ("golden zero", F32, [1, 2, 3, 4], F32, [0, 0, 0, 0]),
    ("zeros in golden", F32, [0.5, 0, 3, 4], F32, [0, 0, 3.5, 4]),
    ("both constant and equal", F32, [7, 7, 7], F32, [7, 7, 7]),
    ("both constant and different", F32, [7, 7, 7], F32, [-8, -8, -8]),
    ("target constant", F32, [2, 2, 2], F32, [1, 2, 3.5]),
    ("golden constant", F32, [1, 2, 3.5], F32, [2, 2, 2]),
    ("huge", F64, [1e300, -2e300, 3e299], F64, [1.01e300, -2e300, 2.9e299]),
    ("tiny", F64, [1e-300, -2e-300, 3e-301], F64, [1.01e-300, -2e-300, 2.9e-301]),
    ("huge and equal", F64, [1e300, -2e300], F64, [1e300, -2e300]),
    ("tiny target zero", F64, [0, 0], F64, [1e-300, -2e-300]),
    ("from end to end", F64, [1.7e308, -1.7e308, 1e307], F64, [1.7e308, -1.7e308, 2e307]),
    ("float32 limits", F32, [3.4e38, -3.4e38, 0], F32, [3.4e38, -3.3e38, 0]),  # squares overflow float
    ("float32 denormals", F32, [1e-45, 3e-45, 0], F32, [1e-45, 4e-45, 0]),
    ("identical", F32, plain, F32, plain),
    ("scaled", F32, 2 * plain, F32, plain),
    ("negated", F32, -plain, F32, plain),
    ("offset", F32, plain + 3, F32, plain),
    ("noise", F32, noise, F32, plain),
    ("noise, float64", F64, noise, F64, plain),
    ("far from zero", F64, 1e9 + noise, F64, 1e9 + plain),
    ("far from zero, float32", F32, 30000 + noise, F32, 30000 + plain),
    ("next to the mean", F64, [1 + k * 2**-52 for k in (1, 5, 2, 9)], F64, [1 + k * 2**-52 for k in (1, 4, 3, 9)]),
    ("small errors", F32, [1.0005, 2.008, 3.2, 4], F32, [1, 2, 3, 4]),
    ("float16 against float32", F16, plain, F32, plain),
    ("float32 that was float16", F32, np.float16(noise), F32, plain),
    ("bfloat16 against float32", "bfloat16", [1, 1.5, -2.25, 96], F32, [1.001, 1.498, -2.2, 96.3]),
    ("float8 e4m3fn against float32", "float8_e4m3fn", [0x38, 0x41, 0xB9, 0x7E, 0x01, 0x00], F32, [1, 2.3, -1.1, 470, 0.001, 0.0005]),
    ("float8 e5m2 against itself", "float8_e5m2", [0x3C, 0x40, 0xBD, 0x7B, 0x01], "float8_e5m2", [0x3D, 0x40, 0xC0, 0x79, 0x80]),
    ("int8", "int8", [1, -128, 127, 0], "int8", [1, 127, 127, 3]),
    ("uint8 wraps", "uint8", [0, 255, 7], "uint8", [255, 0, 7]),
    ("int8 against float32", "int8", [127, -128, 3, 0], F32, [127, -127, 3, 0.25]),
    ("int64 beyond float", "int64", [16777217, 1, -9007199254740991], "int64", [16777216, 1, -9007199254740991]),
    ("bool", "bool", [1, 0, 1], "bool", [1, 1, 0]),
    ("bool against float32", "bool", [1, 0, 1], F32, [1, 0, 0.5]),
    ("outlier, the rest zeroed", F32, [1e4] + [0] * 39, F32, [1e4] + list(plain[1:])),
    ("outlier, the rest zeroed, 200 values", F32, [1e4] + [0] * 199, F32, [1e4] + list(rng.standard_normal(199))),
    ("seven elements keep the outlier", F32, [1e4] + [0] * 6, F32, [1e4] + list(plain[1:7])),
    ("bulk of golden zero", F32, [5, 5] + [1] * 8, F32, [5, 5] + [0] * 8),
    ("integers differ by one", "int32", [5, 6, 7, 8] * 3, "int32", [5, 6, 7, 9] * 3),
    ("float16 at its limit", F16, [65504, -65504, 65472, INF, -INF, NAN, 1], F32, [65504, -65504, 65472, 65520, -1e9, 3, 1]),
    ("float32 at its limit", F32, [FLT_MAX, -FLT_MAX, 3.4e38, INF, NAN], F32, [FLT_MAX, 1, 2, INF, -INF]),
    ("float64 at its limit", F64, [DBL_MAX, -DBL_MAX, 1e308, -INF], F64, [1e308, -DBL_MAX, 1e308, -INF]),
    ("bfloat16 at its limit", "bfloat16", [BF_MAX, -BF_MAX, BF_MAX / 2, INF], F32, [BF_MAX, -BF_MAX, BF_MAX / 2, INF]),
    ("float8 e4m3fn at its limit", "float8_e4m3fn", [0x7E, 0xFE, 0x7D, 0x00], "float8_e5m2", [0x7B, 0xFB, 0x7A, 0x80]),
    ("16-bit integers at their limits", "int16", [-32768, 32767, 32766, 0], "uint16", [0, 65535, 65534, 1]),
    ("32-bit integers tell nothing", "int32", [-2**31, 2**31 - 1, 0], "uint32", [0, 2**32 - 1, 1]),
]

U64 = 2**64 - 1
ULP = [  # name, target type, target, golden type, golden
    ("no value", F32, [], F32, []),
    ("both zeros", F32, [0.0], F32, [-0.0]),
    ("NaN and infinity are left out", F32, [NAN, INF, 1], F32, [1, 1, 1]),
    ("one float32 step", F32, [1], F32, [1 + 2**-23]),
    ("one float32 step down", F32, [1], F32, [1 - 2**-24]),
    ("across zero", F32, [1e-45], F32, [-1e-45]),
    ("from end to end, float32", F32, [3.4028234663852886e38], F32, [-3.4028234663852886e38]),
    ("from end to end, float64", F64, [1.7976931348623157e308], F64, [-1.7976931348623157e308]),
    ("one float64 step", F64, [1], F64, [1 + 2**-52]),
    ("float64 denormals", F64, [5e-324], F64, [-1e-323]),
    ("float64 against float32", F64, [1 + 2**-30, 3.3], F32, [1, 3.3]),
    ("float64 beyond float32", F64, [1e300], F32, [3.4028234663852886e38]),
    ("float16", F16, [1, 2, -65504, 6e-8], F16, [1.001, 2.002, -65472, 0]),
    ("float32 beyond float16", F32, [70000], F16, [65504]),
    ("float32 against float16", F32, [0.1, 0.2], F16, [0.1, 0.2002]),
    ("rounded once, not twice, to float16", F64, [1 + 2**-11 + 2**-40], F16, [1]),
    ("a tie to float16", F64, [1 + 2**-11], F16, [1]),
    ("below the smallest float16", F64, [1e-300, -1e-300], F16, [0, 0]),
    ("float16 against bfloat16", F16, [1.01], "bfloat16", [1.0]),
    ("bfloat16", "bfloat16", [1, -2, 3], "bfloat16", [1.0078125, -2.015625, 3.0625]),
    ("float64 to bfloat16, a near tie", F64, [1 + 2**-8 + 2**-50], "bfloat16", [1]),
    ("e4m3fn, every step", "float8_e4m3fn", list(range(0x7E)), "float8_e4m3fn", list(range(1, 0x7F))),
    ("e4m3fn across zero", "float8_e4m3fn", [0x81], "float8_e4m3fn", [0x01]),
    ("e4m3fn against float32 ties", "float8_e4m3fn", [0x38, 0x39, 0x7E, 0x7E], F32, [1.0625, 1.1875, 464, 465]),
    ("e5m2 against e4m3fn", "float8_e5m2", [0x3C, 0x40], "float8_e4m3fn", [0x39, 0x3B]),
    ("e5m2, largest to beyond", "float8_e5m2", [0x7B], F32, [1e6]),
    ("int8", "int8", [-128], "int8", [127]),
    ("int64 exactly", "int64", [2**62 + 1, -5], "int64", [2**62, -7]),
    ("int64 saturates", "int64", [-(2**63)], "int64", [2**63 - 1]),
    ("uint64 against int64", "uint64", [U64, 0], "int64", [2**63 - 1, -1]),
    ("uint64 against uint8", "uint64", [300, 2**63], "uint8", [0, 0]),
    ("uint64 against uint64", "uint64", [U64], "uint64", [U64 - 2]),
    ("int32 against float32", "int32", [16777217, 100], F32, [16777216, 100.00001]),
    ("bool", "bool", [True], "bool", [False]),
]


def main():
    cases, ulp = [], []
    for name, t_type, t, g_type, g in CASES:
        (t_bytes, t_values), (g_bytes, g_values) = stored(t_type, t), stored(g_type, g)
        expected = metrics_of(t_type, t_values, g_type, g_values)
        cases.append({"name": name, "target": {"dtype": t_type, "bytes": t_bytes.hex()},
                      "golden": {"dtype": g_type, "bytes": g_bytes.hex()},
                      "expected": {key: written(value) for key, value in expected.items()}})
    for name, t_type, t, g_type, g in ULP:
        (t_bytes, t_values), (g_bytes, g_values) = stored(t_type, t), stored(g_type, g)
        kind = coarser(t_type, g_type)
        steps = [abs(place(kind, Fraction(x)) - place(kind, Fraction(y))) for x, y in zip(t_values, g_values)
                 if not any(isinstance(v, float) and not math.isfinite(v) for v in (x, y))]
        ulp.append({"name": name, "target": {"dtype": t_type, "bytes": t_bytes.hex()},
                    "golden": {"dtype": g_type, "bytes": g_bytes.hex()},
                    "max_ulp": min(max(steps, default=0), 2**63 - 1)})
    with open("expected.json", "w") as f:
        f.write('{"cases": [\n' + ",\n".join(map(json.dumps, cases)) + '\n],\n"max_ulp": [\n' +
                ",\n".join(map(json.dumps, ulp)) + "\n]}\n")


main()
