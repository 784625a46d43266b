#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How the files here were made: small arrays that differ in one way each, for the transcripts of
`plumb compare`."""
import pathlib

import numpy

here = pathlib.Path(__file__).resolve().parent
golden = numpy.arange(1, 13, dtype=numpy.float32).reshape(3, 4)

close = golden.copy()
close[1, 2] += 0.0005
with_nan = golden.copy()
with_nan[1, 2] = numpy.nan
moved = golden.copy()
moved[2] += 1

numpy.save(here / "golden.npy", golden)
numpy.save(here / "close.npy", close)
numpy.save(here / "with_nan.npy", with_nan)
numpy.save(here / "moved.npy", moved)
numpy.save(here / "transposed.npy", numpy.ascontiguousarray(golden.T))
numpy.save(here / "same_in_float64.npy", golden.astype(numpy.float64))
numpy.savez(here / "before.npz", weight=golden, bias=golden[0], ids=numpy.arange(4))
numpy.savez(here / "after.npz", weight=close, bias=golden[0], ids=numpy.array([0, 1, 3, 2]))
