# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

from . import torch as torch
from ._core import Dump as Dump
from ._core import Finding as Finding
from ._core import Result as Result
from ._core import Row as Row
from ._core import Rows as Rows
from ._core import Side as Side
from ._core import Tensor as Tensor
from ._core import load_result as load_result
from ._errors import Mismatch as Mismatch
from ._errors import PlumbError as PlumbError

_Path = str | PathLike[str]
_Tensors = _Path | Mapping[str, Any] | Mapping[tuple[str, str], Any] | Any
_Words = str | Iterable[str] | None
_Progress = bool | Callable[[int, int], object]

__version__: str

def compare(
    target: _Tensors, golden: _Tensors, graph: _Path | None = None, golden_graph: _Path | None = None,
    quant: _Path | None = None, map: _Path | None = None, mode: str | None = None, op: _Words = None,
    profile: _Path | None = None, metrics: _Words = None, floor: _Path | None = None, baseline: _Path | None = None,
    atol: float | None = None, rtol: float | None = None, jobs: int = 0, progress: _Progress = False, *,
    details: bool = False, precision: str | None = None,
) -> Result: ...
def assert_close(
    target: _Tensors, golden: _Tensors, profile: _Path | None = "standard", atol: float | None = None,
    rtol: float | None = None, **options: Any,
) -> None: ...
def open_dump(path: _Path) -> Dump: ...
def run(
    target: _Path, golden: _Path, inputs: Any = None, layers: str = "outputs", op: _Words = None,
    profile: _Path | None = None, atol: float | None = None, rtol: float | None = None, precision: str | None = None,
    config: _Path | None = None, seed: int | None = None, labels: _Path | None = None, keep: _Path | None = None,
    target_optimization: str = "disabled", golden_optimization: str = "disabled", threads: int = 1, jobs: int = 0,
    progress: _Progress = False, *, details: bool = False,
) -> Result: ...
def diagnose(
    result: Result | _Path, target: _Path | None = None, golden: _Path | None = None,
    target_model: _Path | None = None, golden_model: _Path | None = None, jobs: int = 0,
) -> Result: ...
def reduce(path: _Path, keep: bool = False, sketch: bool = False, jobs: int = 0) -> dict[str, Any]: ...
