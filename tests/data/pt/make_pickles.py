#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pickles.json: plain Python values pickled with every protocol, and what they are.

The description is written by `describe` below from the values themselves, not from the pickles.
"""
import collections
import fractions
import json
import pathlib
import pickle

here = pathlib.Path(__file__).parent


def describe(value, protocol):
    go = lambda v: describe(v, protocol)
    if value is None or isinstance(value, (bool, int)):
        return repr(value) if value is None or -2**63 <= value < 2**63 else "other"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, bytes):
        if protocol >= 3:
            return f"b'{value.decode('latin1')}'"
        if not value:
            return "__builtin__.bytes()"
        return f"_codecs.encode('{value.decode('latin1')}', 'latin1')"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(go, value)) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(go, value)) + "]"
    if isinstance(value, collections.OrderedDict):
        return "collections.OrderedDict()" + entries(value, protocol)
    if isinstance(value, dict):
        return entries(value, protocol)
    if isinstance(value, (set, frozenset)):
        items = ", ".join(map(go, value))
        if protocol >= 4:
            return "{" + items + "}"
        name = type(value).__name__
        return f"__builtin__.{name}([{items}])" if protocol < 3 else f"builtins.{name}([{items}])"
    if isinstance(value, fractions.Fraction):
        return f"fractions.Fraction({value.numerator}, {value.denominator})"
    raise TypeError(value)


def entries(value, protocol):
    pairs = (f"{describe(k, protocol)}: {describe(v, protocol)}" for k, v in value.items())
    return "{" + ", ".join(pairs) + "}"


shared = ["x", 1.5]
VALUES = [
    None, True, False, 0, 1, -1, 255, 256, 65535, 65536, -2**31, 2**31, 2**62, 2**63 - 1, -2**63, 2**63,
    10**30, 2.5, "", "text", "tensor.weight" * 30, b"", b"raw", b"raw" * 100, (), (1,), (1, 2), (1, 2, 3),
    (1, 2, 3, 4), [], [1], [1, [2, [3]]], {}, {"a": 1}, {"a": {"b": (1, None)}, 2: [True]}, {7},
    frozenset([8]), collections.OrderedDict([("k", 1), ("l", [2])]), [shared, shared, {"again": shared}],
    fractions.Fraction(1, 3),
]
LONG = [[0] * 1001, {i: 0 for i in range(1001)}]  # picklers work in batches of 1000

cases = [{"protocol": protocol, "hex": pickle.dumps(value, protocol).hex(),
          "value": describe(value, protocol)}
         for value in VALUES + LONG for protocol in ([2] if value in LONG else range(6))]
(here / "pickles.json").write_text(json.dumps(cases, indent=0) + "\n")
