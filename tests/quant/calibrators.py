# SPDX-License-Identifier: Apache-2.0
"""How ONNX Runtime's quantization tools find ranges of activations (onnxruntime/python/tools/quantization/calibrate.py, version
1.21): MinMaxCalibrater, EntropyCalibrater and PercentileCalibrater with the settings that they have by default, in numpy. One array
for each sample, as if each were a batch."""
import json

import numpy

LEVELS, SMOOTHING = 128, 1e-4  # of the entropy search


class Collected:
    """A histogram around zero, which grows by whole bins when a sample reaches further."""

    def __init__(self, bins):
        self.bins, self.counts, self.reach, self.low, self.high = bins, None, 0.0, numpy.inf, -numpy.inf

    def add(self, values):
        values = values.ravel()
        self.low, self.high = min(self.low, values.min()), max(self.high, values.max())
        reach = max(abs(float(values.min())), abs(float(values.max())))
        if self.counts is None or self.reach == 0:
            size = self.bins if self.counts is None else len(self.counts)
            self.counts, self.reach = numpy.histogram(values, size, range=(-reach, reach))[0], reach
            return
        more = 0
        if reach > self.reach:
            width = 2 * self.reach / len(self.counts)
            more = int((reach - self.reach) // width + 1)
            self.reach += more * width
        counts = numpy.histogram(values, len(self.counts) + 2 * more, range=(-self.reach, self.reach))[0]
        counts[more : len(counts) - more] += self.counts
        self.counts = counts

    def edges(self):
        return numpy.linspace(-self.reach, self.reach, len(self.counts) + 1)

    def clamped(self, low, high):
        return max(low, self.low), min(high, self.high)


def percentile_range(collected, percent=99.999):
    shares = numpy.cumsum(collected.counts / collected.counts.sum())
    cut = (1 - percent / 100) / 2
    edges = collected.edges()
    return collected.clamped(edges[numpy.searchsorted(shares, cut)], edges[numpy.searchsorted(shares, 1 - cut)])


def smoothed(counts):
    """Nothing is impossible; None if there is too little to take from."""
    empty = counts == 0
    if empty.all():
        return None
    taken = SMOOTHING * empty.sum() / (~empty).sum()
    return None if taken >= 1 else counts + numpy.where(empty, SMOOTHING, -taken)


def divergence(p, q):
    p, q = p / p.sum(), q / q.sum()
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(p > 0, p * numpy.log(p / q), 0).sum()


def spread_over_levels(inside, used):
    """Each level holds as many numbers as its bins, where these are not empty."""
    width = len(inside) // LEVELS
    spread = numpy.zeros(len(inside))
    for level in range(LEVELS):
        own = slice(level * width, (level + 1) * width)
        total = inside[own].sum() + (inside[LEVELS * width :].sum() if level == LEVELS - 1 else 0)
        if used[own].sum() > 0:
            spread[own] = total / used[own].sum()
    return spread


def entropy_range(collected):
    counts, edges, middle = collected.counts.astype(numpy.float64), collected.edges(), len(collected.counts) // 2
    best = (numpy.inf, None)
    for half in range(LEVELS // 2, middle + 1):
        start, end = middle - half, min(middle + half + 1, len(counts))
        inside = counts[start:end]
        p = inside.copy()
        p[0] += counts[:start].sum()
        p[-1] += counts[end:].sum()
        q = smoothed(spread_over_levels(inside, p != 0))
        p = smoothed(p)
        loss = divergence(p, q) if p is not None and q is not None else numpy.inf
        if best[1] is None or loss < best[0]:
            best = (loss, (edges[start], edges[end]))
    return collected.clamped(*best[1])


CALIBRATORS = {"MinMax": (128, lambda collected: (collected.low, collected.high)), "Entropy": (128, entropy_range),
               "Percentile": (2048, percentile_range)}  # fmt: skip


def write_table(file, method, samples):
    """`samples`: tensors by name, sample by sample. As write_calibration_table() writes its JSON."""
    bins, range_of = CALIBRATORS[method]
    collected = {}
    for sample in samples:
        for name, values in sample.items():
            collected.setdefault(name, Collected(bins)).add(values)
    file.write_text(json.dumps({name: dict(zip(("lowest", "highest"), map(float, range_of(own)))) for name, own in collected.items()}))
