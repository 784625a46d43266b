#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Details of rows against numpy: histograms, errors by channel, heat map, worst elements; and that no
number of threads changes a byte of the result.

usage: tests/compare/check_details.py DIRECTORY_OF_PLUMB
"""
import base64
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np


def heat_axes(shape):
    """How many axes are the lines of the heat map."""
    split = min(2, len(shape) - 1)
    while split + 1 < len(shape) and all(n == 1 for n in shape[:split]):
        split += 1
    return split


def pairs():
    random = np.random.default_rng(3)
    def noisy(golden, size=0.01):
        return golden + size * random.standard_normal(golden.shape).astype(golden.dtype)
    picture = random.standard_normal((2, 19, 33, 35)).astype(np.float32)
    spoiled = noisy(picture)
    spoiled[1, 7] *= 1.5
    spoiled[0, 2, 3, 4] = np.nan
    tokens = (random.standard_normal((1, 70, 700)) * np.exp2(random.integers(-20, 20, (1, 70, 700)))).astype(np.float32)
    large = random.standard_normal((1, 64, 256, 160)).astype(np.float32)  # several chunks
    spot = large.copy()
    spot[0, 3, 100, 7] += 2
    yield "picture", spoiled, picture
    yield "tokens", noisy(tokens, 1), tokens
    yield "halves", noisy(picture).astype(np.float16), picture.astype(np.float16)
    yield "large", noisy(large, 1e-3), large
    yield "spot", spot, large
    yield "vector", np.arange(100, dtype=np.float64), np.arange(100, dtype=np.float64)[::-1].copy()
    yield "whole", random.integers(-9, 9, (40, 300)), random.integers(-9, 9, (40, 300))
    yield "same", picture, picture
    yield "constant", np.full((8, 8), 3.0), np.full((8, 8), 3.0)


class Details(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.scratch.name)
        cls.pairs = {name: (target, golden) for name, target, golden in pairs()}
        for side in ("target", "golden"):
            (root / side).mkdir()
        for name, (target, golden) in cls.pairs.items():
            np.save(root / "target" / f"{name}.npy", target)
            np.save(root / "golden" / f"{name}.npy", golden)
        cls.texts = {}
        for jobs in ("1", "5"):
            subprocess.run([PLUMB, "compare", "target", "golden", "--details", "--no-diagnose", "--quiet", "--jobs", jobs,
                            "--json", f"{jobs}.json"], cwd=root, stdout=subprocess.DEVNULL, check=False)
            cls.texts[jobs] = re.sub(r'"elapsed_s": [0-9.]+', "", (root / f"{jobs}.json").read_text())
        cls.rows = {row["target"]["operator"]: row for row in json.loads((root / "1.json").read_text())["rows"]}
        subprocess.run([PLUMB, "compare", "target", "golden", "--quiet", "--json", "plain.json"], cwd=root,
                       stdout=subprocess.DEVNULL, check=False)
        cls.plain = json.loads((root / "plain.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def each(self):
        for name, (target, golden) in self.pairs.items():
            with self.subTest(name):
                yield self.rows[name]["details"], target.astype(np.float64), golden.astype(np.float64)

    def test_threads_change_nothing(self):
        self.assertEqual(self.texts["1"], self.texts["5"])

    def test_nobody_else_pays(self):
        self.assertTrue(all("details" not in row for row in self.plain["rows"]))

    def test_histograms(self):
        for details, target, golden in self.each():
            found = details["histogram"]
            edges = np.linspace(found["low"], found["high"], len(found["target"]) + 1)
            width = math.log2(edges[1] - edges[0])
            self.assertEqual(width, round(width))
            for side, values in (("target", target), ("golden", golden)):
                finite = values[np.isfinite(values)]
                bins = np.floor((finite - found["low"]) / (edges[1] - edges[0])).astype(int)
                self.assertEqual(found[side], np.bincount(bins, minlength=len(found[side])).tolist())
            if len(found["target"]) > 1:  # no narrower bins would do
                values = np.concatenate([target.ravel(), golden.ravel()])
                values = values[np.isfinite(values)]
                half = 2.0 ** (width - 1)
                self.assertGreaterEqual(np.floor(values.max() / half) - np.floor(values.min() / half), 64)

    def test_channels(self):
        for details, target, golden in self.each():
            found, shape = details["channels"], golden.shape
            axis = 1 if len(shape) >= 4 else len(shape) - 1
            self.assertEqual((found["axis"], found["size"]), (axis, shape[axis]))
            self.assertEqual(found["each"], -(-shape[axis] // 256))
            finite = np.isfinite(target) & np.isfinite(golden)
            for name, values in (("error", target - golden), ("golden", golden)):
                squares = np.moveaxis(np.where(finite, values, 0) ** 2, axis, 0)
                for group, rms in enumerate(found[name]):
                    part = squares[group * found["each"]:(group + 1) * found["each"]]
                    self.assertAlmostEqual(rms, math.sqrt(part.mean()), delta=0.006 * rms + 1e-300)

    def test_heat(self):
        for details, target, golden in self.each():
            error = np.abs(target - golden)
            error = np.where(np.isnan(error), np.where(np.isnan(target) & np.isnan(golden), 0, np.inf), error)
            if not error.any():
                self.assertNotIn("heat", details)
                continue
            found, shape = details["heat"], golden.shape
            outer = int(np.prod(shape[:heat_axes(shape)], dtype=int))
            lines = error.reshape(outer, -1)
            rows, columns = min(32, outer), min(32, lines.shape[1])
            self.assertEqual((found["rows"], found["columns"]), (rows, columns))
            cells = np.zeros((rows, columns))
            where = (np.arange(outer) * rows // outer)[:, None], (np.arange(lines.shape[1]) * columns // lines.shape[1])[None, :]
            np.maximum.at(cells, where, lines)
            largest = cells[np.isfinite(cells)].max()
            self.assertEqual(found["largest"], largest)
            levels = np.frombuffer(base64.b64decode(found["levels"]), np.uint8).reshape(rows, columns)
            with np.errstate(divide="ignore"):
                exact = 63 + 10.5 * np.log10(np.minimum(cells, largest) / largest)
            for level, cell, want in zip(levels.ravel(), cells.ravel(), exact.ravel()):
                if cell == 0:
                    self.assertEqual(level, 0)
                else:
                    self.assertLessEqual(abs(int(level) - max(want, 1)), 0.51)

    def test_worst(self):
        for details, target, golden in self.each():
            error = np.abs(target - golden).ravel()
            error = np.where(np.isnan(error), np.inf, error)
            order = np.argsort(-error, kind="stable")[:8]
            expected = [[int(i) for i in np.unravel_index(k, golden.shape)] for k in order if error[k] > 0]
            found = details.get("worst", [])
            self.assertEqual([w["index"] for w in found], expected)
            for w in found:
                for side, values in (("target", target), ("golden", golden)):
                    value = values[tuple(w["index"])]
                    self.assertEqual(w[side], "nan" if math.isnan(value) else value)


if __name__ == "__main__":
    PLUMB = str(pathlib.Path(sys.argv.pop(1)).resolve() / "plumb")
    unittest.main()
