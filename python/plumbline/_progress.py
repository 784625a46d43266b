# SPDX-License-Identifier: Apache-2.0
"""The bar that progress=True shows on stderr."""
import sys


class Bar:
    """Called with the whole and what is done of it."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        self._shown = ""

    def __call__(self, total, done):
        share = min(1.0, done / total) if total else 1.0
        text = f"\r[{'#' * round(30 * share):30}] {100 * share:3.0f} %"
        if text != self._shown:
            self._stream.write(text)
            self._stream.flush()
            self._shown = text

    def end(self):
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._stream.flush()
