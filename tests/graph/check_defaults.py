# SPDX-License-Identifier: Apache-2.0
"""The defaults in src/graph/onnx_defaults.cpp are those of the operator schemas that the onnx library knows."""
import pathlib
import re
import sys

import numpy
from onnx import defs, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Left out by is_idle_attribute; lists, and what newer versions of an operator have as an input.
IDLE = {"momentum", "is_test", "training_mode", "consumed_inputs", "broadcast", "output_sequence"}


def table():
    text = (ROOT / "src/graph/onnx_defaults.cpp").read_text(encoding="utf-8")
    text = text[text.index("kOnnxDefaults[]") : text.index("kMoved[]")]
    return [(kind, name, int(since), value) for kind, name, since, value in
            re.findall(r'\{"(\w+)", "(\w+)", (\d+), "([^"]*)"\}', text)]  # fmt: skip


def default_at(rows, kind, name, version):
    found = [value for row_kind, row_name, since, value in rows if (row_kind, row_name) == (kind, name) and since <= version]
    return found[-1] if found else ""


def is_same(text, value):
    if value is None or isinstance(value, list):
        return True  # nothing to fill in
    if isinstance(value, bytes):
        return text == value.decode() or value == b"foward"  # a slip in the first version of GRU
    if isinstance(value, float):
        return text != "" and numpy.float32(text) == numpy.float32(value)
    return text == str(value)


def main():
    rows = table()
    if rows != sorted(rows, key=lambda row: row[:3]):
        sys.exit("the table is not sorted")
    wrong = checked = 0
    for schema in defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated:
            continue
        for attribute in schema.attributes.values():
            value = helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else None
            if attribute.name in IDLE or value is None:
                continue
            checked += 1
            text = default_at(rows, schema.name, attribute.name, schema.since_version)
            if not is_same(text, value):
                print(f"{schema.name}-{schema.since_version}.{attribute.name}: '{text}' instead of {value!r}")
                wrong += 1
    print(f"{checked} defaults checked, {wrong} wrong")
    return 1 if wrong or checked < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
