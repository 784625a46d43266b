#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison that people write when they have no tool: every file of two directories of npy
through numpy, one expression per number, a CSV at the end. Formulas as in docs/metrics.md; NaN and
zeros are left to chance, as such scripts do.

usage: numpy_compare.py TARGET GOLDEN OUT.csv [--all]
  --all   also what `plumb compare` computes only when asked
"""
import csv
import pathlib
import sys
import zlib

import numpy as np


def one_pass_metrics(target, golden):
    t, g = target.ravel().astype(np.float32), golden.ravel().astype(np.float32)
    d = t - g
    error = np.abs(d)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(g != 0, error / np.abs(g), 0)
    t_norm, g_norm, d_norm = np.linalg.norm(t), np.linalg.norm(g), np.linalg.norm(d)
    row = {
        "cosine": np.dot(t, g) / (t_norm * g_norm),
        "pearson": np.corrcoef(t, g)[0, 1],
        "max_abs": error.max(),
        "mean_abs": error.mean(),
        "rmse": np.sqrt(np.mean(d * d)),
        "max_rel": relative.max(),
        "euclid": d_norm,
        "rel_euclid": d_norm / g_norm,
        "sqnr_db": 20 * np.log10(g_norm / d_norm),
        "max_err_to_range": error.max() / (g.max() - g.min()),
        "norm_ratio": t_norm / g_norm,
        "equal_share": np.mean(t == g),
    }
    for side, x, norm in (("target", t, t_norm), ("golden", g, g_norm)):
        row |= {
            f"{side}_min": x.min(),
            f"{side}_max": x.max(),
            f"{side}_mean": x.mean(),
            f"{side}_std": x.std(),
            f"{side}_l2": norm,
            f"{side}_nan": np.isnan(x).sum(),
            f"{side}_inf": np.isinf(x).sum(),
            f"{side}_zeros": np.sum(x == 0),
        }
    return row


def distribution(x):
    low, high = x.min(), x.max()
    u = np.maximum((x - low) / (high - low) if high > low else x, 1.1920929e-07)
    return u / u.sum()


def steps(x):
    """Numbers floats in their order, so that neighbours differ by one."""
    bits = x.view(np.int16 if x.dtype == np.float16 else np.int32)
    magnitude = (bits & np.iinfo(bits.dtype).max).astype(np.int64)
    return np.where(bits < 0, -magnitude, magnitude)


def other_metrics(target, golden):
    t, g = target.ravel().astype(np.float32), golden.ravel().astype(np.float32)
    error = np.abs(t - g)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(g != 0, error / np.abs(g), 0)
    p, q = distribution(t), distribution(g)
    coarser = np.float16 if np.float16 in (target.dtype, golden.dtype) else np.float32
    small = np.abs(g) <= np.quantile(np.abs(g), 0.99)
    return {
        "mean_rel": relative.mean(),
        "acc_rel": relative.sum(),
        "rel_below_1e3": np.mean(relative < 1e-3),
        "rel_below_5e3": np.mean(relative < 5e-3),
        "bulk_rel_euclid": np.linalg.norm(error[small]) / np.linalg.norm(g[small]),
        "kl": np.sum(p * np.log(p / q)),
        "max_ulp": np.abs(steps(t.astype(coarser)) - steps(g.astype(coarser))).max(),
        "target_crc32": zlib.crc32(target),
        "golden_crc32": zlib.crc32(golden),
    }


def main():
    target_folder, golden_folder, out = (pathlib.Path(argument) for argument in sys.argv[1:4])
    rows = []
    for file in sorted(target_folder.iterdir()):
        target, golden = np.load(file), np.load(golden_folder / file.name)
        row = {"file": file.name} | one_pass_metrics(target, golden)
        if "--all" in sys.argv:
            row |= other_metrics(target, golden)
        rows.append(row)
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
