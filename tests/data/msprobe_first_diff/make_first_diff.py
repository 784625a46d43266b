#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Dumps of several ranks in which the first difference is before, between and behind communication.

write_case() makes DIRECTORY/{target,golden}/step0/rankR/dump.json with statistics or checksums, and a stack.json.
What msprobe itself finds in them (`msprobe compare -da`) is kept here: CASE/expected.json is its
diff_analyze_*.json, and expected_rankR.json the `is_same` of every call in its compare_result_rankR_*.json.

usage: make_first_diff.py PYTHONPATH   runs the msprobe found there and writes the expected files
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent


def tensor(value, md5):
    leaf = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 8]}
    leaf |= {"Max": value, "Min": -value / 2, "Mean": value / 8, "Norm": value * 3, "requires_grad": False}
    if md5:
        leaf["md5"] = f"{zlib.crc32(repr(value).encode()):08x}"
    return leaf


def number(kind, value):
    return {"type": kind, "value": value}


GROUP = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "tp"}

# The calls of each rank: name, what it reads and gives, and other arguments by name.
CALLS = [
    ("Functional.conv2d.0.forward", 1.0, 2.0, {}),
    ("Torch.empty.0.forward", 1.0, 5.0, {}),
    ("Functional.relu.0.forward", 2.0, 2.5, {}),
    ("Distributed.all_reduce.0.forward", 2.5, 3.0, {"group": GROUP}),
    ("Torch.matmul.0.forward", 3.0, 4.0, {}),
    ("Torch.add.0.forward", 4.0, 4.5, {}),
    ("Distributed.broadcast.0.forward", 4.5, 4.75, {"src": number("int", 1)}),
    ("Functional.softmax.0.forward", 4.75, 1.5, {}),
    ("Tensor.mul.0.forward", 1.5, 1.25, {}),
]

# case -> (ranks, with checksums, {rank: {call: factor on the outputs of target}})
CASES = {
    "before": (2, False, {0: {"Functional.relu.0.forward": 1.6, "Torch.matmul.0.forward": 2.0}, 1: {"Torch.matmul.0.forward": 3.0}}),
    "ignored": (2, False, {0: {"Torch.empty.0.forward": 9.0}, 1: {"Functional.relu.0.forward": 1.4}}),
    "between": (2, False, {0: {"Torch.add.0.forward": 2.0}, 1: {"Torch.matmul.0.forward": 2.0, "Tensor.mul.0.forward": 2.0}}),
    "inside": (2, False, {0: {"Distributed.all_reduce.0.forward": 2.0}, 1: {"Distributed.all_reduce.0.forward": 2.0, "Tensor.mul.0.forward": 7.0}}),
    "directed": (2, False, {0: {"Distributed.broadcast.0.forward": 2.0}, 1: {"Functional.softmax.0.forward": 7.0}}),
    "behind": (3, False, {1: {"Tensor.mul.0.forward": 2.0}, 2: {"Functional.softmax.0.forward": 0.25, "Tensor.mul.0.forward": 4.0}}),
    "same": (2, False, {}),
    "checksums": (2, True, {0: {"Torch.add.0.forward": 1.0001}, 1: {"Torch.matmul.0.forward": 1.0001}}),
}


def call(given, result, others, md5):
    return {"input_args": [tensor(given, md5)], "input_kwargs": others, "output": [tensor(result, md5)]}


def write(directory, changes, md5):
    directory.mkdir(parents=True, exist_ok=True)
    data = {
        name: call(given, result * changes.get(name, 1.0), others, md5) for name, given, result, others in CALLS
    }
    dump = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}
    (directory / "dump.json").write_text(json.dumps(dump, indent=0) + "\n")
    stack = {str(i): [[name], [f"File train.py, line {10 + i}, in step, \n {name}()"]] for i, name in enumerate(data)}
    (directory / "stack.json").write_text(json.dumps(stack, indent=0) + "\n")
    (directory / "construct.json").write_text("{}\n")


def write_case(directory, case):
    ranks, md5, changes = CASES[case]
    for rank in range(ranks):
        write(directory / f"target/step0/rank{rank}", changes.get(rank, {}), md5)
        write(directory / f"golden/step0/rank{rank}", {}, md5)


def main():
    for case, (ranks, _, _) in CASES.items():
        expected = HERE / case
        expected.mkdir(exist_ok=True)
        for old in expected.glob("expected*.json"):
            old.unlink()  # a link to another case's must not be written through
        with tempfile.TemporaryDirectory() as scratch:
            data, out = pathlib.Path(scratch) / "data", pathlib.Path(scratch) / "out"
            write_case(data, case)
            command = [sys.executable, "-m", "msprobe.msprobe", "compare", "-da", "-o", str(out)]
            command += ["-tp", str(data / "target/step0"), "-gp", str(data / "golden/step0")]
            subprocess.run(command, check=True, env={"PYTHONPATH": sys.argv[1], "PATH": "/usr/bin:/bin"})
            found = [json.loads(path.read_text()) for path in out.glob("diff_analyze_*.json")]
            (expected / "expected.json").write_text(json.dumps(found[0] if found else {}, indent=1) + "\n")
            for rank in range(ranks):
                (result,) = out.glob(f"compare_result_rank{rank}_*.json")
                same = {name: each["is_same"] for name, each in json.loads(result.read_text()).items()}
                (expected / f"expected_rank{rank}.json").write_text(json.dumps(same, indent=1) + "\n")


if __name__ == "__main__":
    main()
