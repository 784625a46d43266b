# SPDX-License-Identifier: Apache-2.0
"""What the module raises."""


class PlumbError(Exception):
    """Something cannot be done: what is wrong, where, and what to try.

    ``result`` is what was known until then, or None.
    """

    def __init__(self, what, where="", try_="", result=None):
        super().__init__(what, where, try_)
        self.what, self.where, self.try_, self.result = what, where, try_, result

    def __str__(self):
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.try_:
            lines.append(f"  try:   {self.try_}")
        return "\n".join(lines)


class Mismatch(AssertionError):
    """The two sides do not agree; ``result`` says where and why."""

    def __init__(self, result):
        super().__init__("\n" + result.table())
        self.result = result

    def __reduce__(self):  # from a process of a pool to its parent
        return Mismatch, (self.result,)
