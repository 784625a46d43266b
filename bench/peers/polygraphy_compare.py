#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Polygraphy's comparison of outputs, through its Python interface: saved arrays have no other way in.

usage: polygraphy_compare.py TARGET.npz GOLDEN.npz
"""
import sys

import numpy as np
from polygraphy.comparator import Comparator, CompareFunc, IterationResult, RunResults


def main():
    results = RunResults()
    for side, path in zip(("target", "golden"), sys.argv[1:3]):
        with np.load(path) as arrays:
            outputs = {name: arrays[name] for name in arrays.files}
        results.append((side, [IterationResult(outputs=outputs, runner_name=side)]))
    agree = Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(rtol=1e-2, atol=1e-2))
    print("agree" if agree else "differ")


if __name__ == "__main__":
    main()
