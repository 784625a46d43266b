#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Results of two ranks as msprobe writes them (results/*.xlsx), and what its merge_result makes of them.

expected_NAME.json has the sheets of the workbook that `msprobe merge_result -config NAME.yaml` wrote: for each
its rows, cells as openpyxl reads them.

usage: make_merge.py PYTHONPATH   runs the msprobe found there and writes the files
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import openpyxl

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "msprobe_first_diff"))
sys.dont_write_bytecode = True
import make_first_diff  # noqa: E402


def msprobe(*arguments):
    command = [sys.executable, "-m", "msprobe.msprobe", *map(str, arguments)]
    subprocess.run(command, check=True, env={"PYTHONPATH": sys.argv[1], "PATH": "/usr/bin:/bin"})


def sheets_of(path):
    return {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in openpyxl.load_workbook(path)}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        data, out = pathlib.Path(scratch) / "data", pathlib.Path(scratch) / "out"
        make_first_diff.write_case(data, "between")
        msprobe("compare", "--xlsx", "-o", HERE / "results", "-tp", data / "target/step0", "-gp", data / "golden/step0")
        for config in HERE.glob("*.yaml"):
            msprobe("merge_result", "-i", HERE / "results", "-o", out / config.stem, "-config", config)
            (merged,) = (out / config.stem).glob("*.xlsx")
            (HERE / f"expected_{config.stem}.json").write_text(json.dumps(sheets_of(merged), indent=0) + "\n")


if __name__ == "__main__":
    main()
