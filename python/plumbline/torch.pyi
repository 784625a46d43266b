# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import AbstractContextManager
from os import PathLike
from typing import Any

def record(model: Any, directory: str | PathLike[str], inputs: bool = True) -> AbstractContextManager[None]: ...
def dump_fx(
    model: Any, args: tuple[Any, ...] | list[Any], directory: str | PathLike[str], step: int | None = None,
) -> Any: ...
