# SPDX-License-Identifier: Apache-2.0
"""Plumbline: does a converted model still compute the same thing, where does it first go wrong, and why.

    import plumbline as plumb

    result = plumb.compare("npu_dump/", "onnx_npy/", graph="resnet50.om")
    print(result)                              # the table that `plumb compare` prints
    result.rows[0].metrics["cosine"]
    for finding in result.findings:
        print(finding.cause, finding.operator, finding.advice)

Sides are paths, or arrays in memory: ``{"conv1": array}`` or ``{("conv1", "output:0"): array}``. numpy arrays, torch
tensors on the CPU and anything with ``__dlpack__`` are compared where they lie, without a copy.
"""
from __future__ import annotations

import importlib as _importlib
import os as _os

from . import _core
from ._core import Dump, Finding, Result, Row, Rows, Side, Tensor, load_result
from ._errors import Mismatch, PlumbError

__version__ = _core.__version__
__all__ = [
    "Dump", "Finding", "Mismatch", "PlumbError", "Result", "Row", "Rows", "Side", "Tensor", "assert_close", "compare",
    "diagnose", "load_result", "open_dump", "reduce", "run", "torch",
]  # fmt: skip


def __getattr__(name):
    if name == "torch":  # PyTorch takes a second to import: only who asks for it waits
        return _importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'plumbline' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | {"torch"})


def _path(value):
    return None if value is None else _os.fspath(value)


def _words(value):
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


class _Progress:
    """What is called with the progress of a job: nothing, a bar, or the caller's own function (total, done)."""

    def __init__(self, progress):
        from ._progress import Bar

        self.bar = Bar() if progress is True else None
        self.call = self.bar or progress or None

    def __enter__(self):
        return self.call

    def __exit__(self, *_):
        if self.bar:
            self.bar.end()


def compare(target, golden, graph=None, golden_graph=None, quant=None, map=None, mode=None, op=None, profile=None,
            metrics=None, floor=None, baseline=None, atol=None, rtol=None, jobs=0, progress=False, *, details=False,
            precision=None):
    """Compare two sets of tensors, operator by operator, as ``plumb compare`` does.

    target, golden: a path (a file or directory of any known kind), ``{name: array}`` (operator = name, slot
        output:0), ``{(operator, slot): array}``, or a single array.
    graph, golden_graph: files that describe the two models; quant: the json of the quantization tool; map: pairs that
        only you know; mode: the kind of comparison, if it is not told rightly.
    op: only operators whose name matches this pattern, or one of a list.
    profile: limits that decide pass or fail, a name or a .toml file; atol, rtol: limits by element, as
        ``numpy.allclose`` has them, alone unless a profile is named, too. precision: what the target computes in.
    metrics: the numbers to compute, a list or "all"; floor: a second golden run, whose noise sets the limits;
        baseline: an earlier result that this one is held against.
    jobs: threads, 0 for one on each core. progress: True shows a bar on stderr; a function is called with
        (total, done). details: keep histograms and worst elements, which the page shows.
    """
    with _Progress(progress) as call:
        return _core.compare(
            target, golden, graph=_path(graph), golden_graph=_path(golden_graph), quant=_path(quant), map=_path(map),
            mode=mode, op=_words(op), profile=_path(profile), metrics=[name for word in _words(metrics) for name in word.split(",")], floor=_path(floor),
            baseline=_path(baseline), atol=atol, rtol=rtol, jobs=jobs, progress=call, details=details,
            precision=precision)  # fmt: skip


def assert_close(target, golden, profile="standard", atol=None, rtol=None, **options):
    """For test suites: raises Mismatch, an AssertionError with the report, unless every tensor agrees.

    Takes what compare() takes. With ``atol`` or ``rtol`` both these and the profile have to hold; ``profile=None``
    leaves the tolerances alone.
    """
    __tracebackhide__ = True
    result = compare(target, golden, profile=profile, atol=atol, rtol=rtol, **options)
    if not result._agrees():
        raise Mismatch(result)


def open_dump(path):
    """The tensors of a dump of any known kind: ``open_dump("npu/")["conv1", "output:0"].numpy()``."""
    return _core.open_dump(path)


def run(target, golden, inputs=None, layers="outputs", op=None, profile=None, atol=None, rtol=None, precision=None,
        config=None, seed=None, labels=None, keep=None, target_optimization="disabled",
        golden_optimization="disabled", threads=1, jobs=0, progress=False, *, details=False):
    """Run two models on the same input and compare what they give, or every layer, as ``plumb run`` does.

    target, golden: models (.onnx, .prototxt) or directories of results.
    inputs: ``{name: array}``, an array or a path for the only input, or a list of these, one for each sample; without
        any the models are fed random numbers (seed).
    layers: "outputs" or "all"; op: only layers of operators whose name matches.
    config: how pictures become tensors; labels: the right classes; keep: a directory for the tensors of both sides.
    """
    with _Progress(progress) as call:
        return _core.run(
            target, golden, inputs=inputs, layers=layers, op=_words(op), profile=_path(profile), atol=atol, rtol=rtol,
            precision=precision, config=_path(config), seed=seed, labels=_path(labels), keep=_path(keep),
            target_optimization=target_optimization, golden_optimization=golden_optimization, threads=threads,
            jobs=jobs, progress=call, details=details)  # fmt: skip


def diagnose(result, target=None, golden=None, target_model=None, golden_model=None, jobs=0):
    """Explain a result anew, with the tensors and models if they are still there: a Result with other findings.

    result: a Result, or the path of a saved one. target, golden: where the tensors are now; golden_model: the original
        model, with which each operator is replayed.
    """
    if not isinstance(result, Result):
        result = load_result(result)
    return _core.diagnose(result, target=_path(target), golden=_path(golden), target_model=_path(target_model),
                          golden_model=_path(golden_model), jobs=jobs)  # fmt: skip


def reduce(path, keep=False, sketch=False, jobs=0):
    """Put statistics in the place of the dump files below a directory, as ``plumb reduce`` does.

    A file is deleted only after its replacement is on the disk and was read back; keep=True keeps it. Gives a dict:
    files, bytes_before, bytes_after, and left, why files are as they were.
    """
    return _core.reduce(path, keep=keep, sketch=sketch, jobs=jobs)
