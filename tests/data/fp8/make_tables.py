#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the value of each code of the three 8-bit floats, 256 float32 each, from their definitions.

The E4M3FN and E5M2 tables agree with the ml_dtypes library, the HiFloat8 table with the conversion
code of the vendor's public quantization library.
"""
import math
import pathlib

import numpy as np

here = pathlib.Path(__file__).parent
signed = lambda code, value: -value if code & 0x80 else value


def e4m3fn(code):
    e, m = code >> 3 & 15, code & 7
    if e == 15 and m == 7:
        return math.nan
    return signed(code, m / 8 * 2.0**-6 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7))


def e5m2(code):
    e, m = code >> 2 & 31, code & 3
    if e == 31:
        return signed(code, math.inf) if m == 0 else math.nan
    return signed(code, m / 4 * 2.0**-14 if e == 0 else (1 + m / 4) * 2.0 ** (e - 15))


def hifloat8(code):
    if code == 0x00:
        return 0.0
    if code == 0x80:
        return math.nan
    if code & 0x7F == 0x6F:
        return signed(code, math.inf)
    bits = format(code & 0x7F, "07b")
    for prefix, width in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
        if bits.startswith(prefix):
            exponent, mantissa = bits[len(prefix):][:width], bits[len(prefix) + width:]
            # Sign and magnitude; the leading one of the magnitude is not stored.
            power = int("1" + exponent[1:], 2) if width else 0
            if exponent.startswith("1"):
                power = -power
            return signed(code, (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0**power)
    return signed(code, 2.0 ** ((code & 7) - 23))


for name, value in (("float8_e4m3fn", e4m3fn), ("float8_e5m2", e5m2), ("hifloat8", hifloat8)):
    np.save(here / f"{name}.npy", np.array([value(code) for code in range(256)], np.float32))
