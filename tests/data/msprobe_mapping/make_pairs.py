#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the dumps here, and pairs.csv of each: which golden row msprobe itself compares a row with.

Statistics are counters: only what belongs together is of interest. The peer is not installed but imported
from its source, with stand-ins for the libraries that pairing does not need.

usage: PEER=/path/to/msprobe/python ./make_pairs.py      (numpy, pandas and PyYAML are needed)
"""
import csv
import importlib
import json
import os
import pathlib
import sys
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent


def tensor(number, dtype="torch.float32", shape=(2, 3)):
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": number + 1.0, "Min": -1.0,
            "Mean": 0.5, "Norm": number + 2.0, "requires_grad": False}


def scalar(value):
    return {"type": type(value).__name__, "value": value}


class Dump:
    """Calls in the order they are added; numbers make every tensor another one."""

    def __init__(self, framework="pytorch", dtype="torch.float32"):
        self.framework, self.dtype = framework, dtype
        self.data, self.parents, self.number = {}, {}, 0

    def leaf(self, dtype=None):
        self.number += 1
        return tensor(self.number, dtype or self.dtype)

    def forward(self, name, inputs=1, outputs=1, parent=None, kwargs=None, parameters=()):
        entry = {"input_args": [self.leaf() for _ in range(inputs)],
                 "input_kwargs": {key: scalar(value) for key, value in (kwargs or {}).items()},
                 "output": [self.leaf() for _ in range(outputs)]}
        if parameters:
            entry["parameters"] = {key: self.leaf() for key in parameters}
        self.add(name, entry, parent)

    def backward(self, name, inputs=1, outputs=1, parent=None):
        self.add(name, {"input": [self.leaf() for _ in range(inputs)],
                        "output": [self.leaf() for _ in range(outputs)]}, parent)

    def gradients(self, name, *parameters):
        self.add(name, {key: [self.leaf()] for key in parameters}, None)

    def add(self, name, entry, parent):
        self.data[name] = entry
        self.parents[name] = parent

    def write(self, directory):
        if directory.is_symlink():
            directory.unlink()  # to another case's
        directory.mkdir(parents=True, exist_ok=True)
        head = {"task": "statistics", "level": "mix", "framework": self.framework, "dump_data_dir": None}
        (directory / "dump.json").write_text(json.dumps({**head, "data": self.data}) + "\n")
        if any(self.parents.values()):
            (directory / "construct.json").write_text(json.dumps(self.parents) + "\n")
            stacks = {"0": [list(self.data), ["File /model/net.py, line 1, in forward, \n y = f(x)"]]}
            (directory / "stack.json").write_text(json.dumps(stacks) + "\n")


def mindspore():
    return Dump("mindspore", "Float32")


def recompute():
    """The target computes a part of the forward pass again, so its backward calls have other numbers."""
    target, golden = Dump(), Dump()
    for side, order in ((target, [3, 4, 0]), (golden, [2, 1, 0])):
        for k in range(3):
            side.forward(f"Functional.relu.{k}.forward", 1, 1)
        side.forward("Module.block.Block.forward.0", 2, 1)
        side.forward("Torch.matmul.0.forward", 2, 1, kwargs={"alpha": 2})
        if side is target:
            side.forward("Functional.relu.3.forward")
            side.forward("Functional.relu.4.forward")
            side.forward("Module.block.Block.forward.1", 2, 1)
        for k in order:
            side.backward(f"Functional.relu.{k}.backward", 1, 1)
        side.backward(f"Module.block.Block.backward.{1 if side is target else 0}", 1, 2)
        side.backward("Torch.matmul.0.backward", 1, 2)
        side.gradients("Module.block.Block.parameters_grad", "weight", "bias")
    golden.backward("Torch.matmul.5.backward", 1, 2)  # a second one, which target does not have
    target.backward("Module.last.Last.backward.7", 1, 1)
    golden.backward("Module.last.Last.backward.2", 1, 1)
    golden.backward("Module.last.Last.backward.7", 1, 1)
    return target, golden, None, {}


def types():
    """Floating point types of up to 32 bits are compared with each other, others are not."""
    target, golden = Dump(), Dump()
    for k, (mine, theirs) in enumerate([("float16", "float32"), ("bfloat16", "float16"), ("float32", "float64"),
                                        ("int32", "int64"), ("bool", "uint8"), ("float32", "float32")]):
        for side, dtype in ((target, mine), (golden, theirs)):
            side.add(f"Tensor.cast.{k}.forward", {"input_args": [side.leaf("torch." + dtype)],
                                                  "input_kwargs": {}, "output": []}, None)
    return target, golden, None, {}


def frameworks():
    """Between frameworks families of types are compared."""
    target, golden = mindspore(), Dump()
    pairs = [("Float16", "float64"), ("Int32", "int64"), ("UInt8", "int8"), ("Bool", "bool"), ("Bool", "uint8"),
             ("Complex64", "complex128"), ("Float32", "int32")]
    for k, (mine, theirs) in enumerate(pairs):
        for side, dtype in ((target, mine), (golden, "torch." + theirs)):
            side.add(f"Tensor.cast.{k}.forward", {"input_args": [side.leaf(dtype)], "input_kwargs": {},
                                                  "output": []}, None)
    return target, golden, None, {}


def fuzzy():
    """Numbers of calls differ, and each side has calls that the other has not."""
    target, golden = Dump(), Dump()
    for name in ["Functional.conv2d.0", "Functional.relu.0", "NPU.extra.0", "Functional.relu.1", "Torch.add.4",
                 "Functional.linear.0", "Functional.relu.2", "Tensor.view.0", "NPU.extra.1"]:
        target.forward(name + ".forward", 2 if "add" in name else 1)
    for name in ["Functional.conv2d.3", "Torch.cat.0", "Functional.relu.5", "Torch.add.0", "Functional.relu.6",
                 "Functional.linear.9", "Functional.relu.7", "Torch.sum.0", "Tensor.view.1"]:
        golden.forward(name + ".forward", 2 if "add" in name else 1)
    for side, cls, k in ((target, "Block", 3), (golden, "FusedBlock", 1)):
        side.forward(f"Module.block.{cls}.forward.0", 1, 2, parameters=["weight"])
        side.backward(f"Functional.relu.{k}.backward")
        side.backward(f"Functional.relu.{k - 1}.backward")
    golden.backward("Functional.gelu.0.backward")
    return target, golden, None, {"fuzzy_match": True}


def fuzzy_long():
    """A long golden list: what comes after the last row of target waits for nothing."""
    target, golden = Dump(), Dump()
    for name in "abcabdd":
        target.forward(f"Torch.{name}.0.forward" if f"Torch.{name}.0.forward" not in target.data else
                       f"Torch.{name}.1.forward")
    for k, name in enumerate("xbxxcddyabcddz"):
        golden.forward(f"Torch.{name}.{k}.forward")
    return target, golden, None, {"fuzzy_match": True}


def data_mapping():
    target, golden = Dump(), Dump()
    target.forward("Functional.npu_norm.0.forward", 2, 1)
    target.forward("Functional.relu.0.forward")
    target.forward("Tensor.only.0.forward")
    golden.forward("Functional.layer_norm.0.forward", 2, 1)
    golden.forward("Functional.relu.0.forward")
    golden.add("Tensor.cast.0.forward", {"input_args": [golden.leaf("torch.int64")], "input_kwargs": {},
                                         "output": []}, None)
    mapping = """# the two inputs are in another order
Functional.npu_norm.0.forward.input.0: Functional.layer_norm.0.forward.input.1
Functional.npu_norm.0.forward.input.1: Functional.layer_norm.0.forward.input.0
Functional.npu_norm.0.forward.output.0: Functional.layer_norm.0.forward.output.0
Tensor.only.0.forward.input.0: Tensor.cast.0.forward.input.0
Tensor.only.0.forward.output.0: Tensor.gone.0.forward.output.0
"""
    return target, golden, mapping, {"data_mapping": True}


def cells():
    target, golden = mindspore(), Dump()
    for path, (mine, theirs) in {"fc1": ("Dense", "Linear"), "conv": ("Conv2d", "Conv2d"),
                                 "net.layers.0": ("Layer", "Layer"), "tail": ("Tail", "Tail")}.items():
        target.forward(f"Cell.{path}.{mine}.forward.0", 1, 1, parameters=["weight"])
        golden.forward(f"Module.{path.replace('net', 'model')}.{theirs}.forward.0", 1, 1, parameters=["weight"])
    for path, (mine, theirs) in {"fc1": ("Dense", "Linear"), "conv": ("Conv2d", "Conv2d")}.items():
        target.backward(f"Cell.{path}.{mine}.backward.0")
        golden.backward(f"Module.{path}.{theirs}.backward.0")
        target.gradients(f"Cell.{path}.{mine}.parameters_grad", "weight")
        golden.gradients(f"Module.{path}.{theirs}.parameters_grad", "weight")
    return target, golden


def cell_plain():
    return (*cells(), None, {"cell_mapping": None})


def cell_mapping():
    return (*cells(), "fc1.Dense: fc1.Linear\nnet.layers: model.layers\ntail.Tail: nothing.Tail\n",
            {"cell_mapping": True})


def apis():
    target, golden = mindspore(), Dump()
    for mine, theirs in [("Functional.add.0", "Torch.add.0"), ("Functional.dense.0", "Functional.linear.0"),
                         ("Tensor.swapaxes.0", "Tensor.transpose.0"), ("Mint.cos.0", "Torch.cos.0"),
                         ("MintFunctional.relu.1", "Functional.relu.1"), ("Functional.gelu.0", "Functional.gelu.0"),
                         ("Tensor.abs.0", "Tensor.abs.0"), ("Primitive.Mul.0", "Torch.mul.0"),
                         ("Functional.swapaxes.0", "Torch.transpose.0")]:
        target.forward(mine + ".forward", 2, 1)
        golden.forward(theirs + ".forward", 2, 1)
    target.backward("Functional.add.0.backward", 1, 2)
    golden.backward("Torch.add.0.backward", 1, 2)
    target.forward("Functional.flash_attention_score.0.forward", 3, 2)
    golden.forward("NPU.npu_fusion_attention.0.forward", 4, 2)
    return target, golden


def api_plain():
    return (*apis(), None, {"api_mapping": None})


def api_mapping():
    return (*apis(), """- ms_api: Functional.flash_attention_score
  pt_api: NPU.npu_fusion_attention
  ms_args: [0, 1, 2]
  pt_args: [2, 0, 1]
  ms_output: [0]
  pt_output: [1]
- ms_api: Primitive.Mul
  pt_api: Torch.mul
  ms_args: [0]
  pt_args: [1]
  ms_output: [0]
  pt_output: [0]
""", {"api_mapping": True})


def layer_mapping():
    """The same network, cut into modules of other names, in two frameworks."""
    target, golden = mindspore(), Dump()
    t, g = "Cell.network_with_loss.backbone.", "Module.module.language_model."
    for layer in (4, 5):
        top = f"{t}encoder.layers.{layer}.ParallelTransformerLayer.forward.0"
        low = f"{t}encoder.layers.{layer}.attention.out.Linear.forward.0"
        target.forward("Functional.softmax." + str(layer) + ".forward", parent=top)
        target.forward("Functional.add." + str(2 * layer) + ".forward", 2, parent=low)
        target.forward("Functional.add." + str(2 * layer + 1) + ".forward", 2, parent=low)
        target.forward(low, parent=top)
        target.forward(top, parent=f"{t}encoder.ParallelTransformer.forward.0")
    target.forward(f"{t}encoder.ParallelTransformer.forward.0", parent=f"{t[:-1]}.Model.forward.0")
    target.forward("Cell.network_with_loss.backbone.Model.forward.0", parent="Cell.network_with_loss.Loss.forward.0")
    target.forward("Cell.network_with_loss.Loss.forward.0")
    target.forward("Functional.mean.0.forward")
    target.backward("Functional.softmax.4.backward")
    target.backward(f"{t}encoder.layers.4.attention.out.Linear.backward.0")
    target.gradients(f"{t}encoder.layers.4.attention.out.Linear.parameters_grad", "weight")
    for layer in (0, 1):
        top = f"{g}encoder.layers.{layer}.ParallelTransformerLayer.forward.0"
        low = f"{g}encoder.layers.{layer}.self_attention.dense.RowParallelLinear.forward.0"
        golden.forward("Functional.softmax." + str(layer) + ".forward", parent=top)
        golden.forward("Functional.add." + str(2 * layer) + ".forward", 2, parent=low)
        golden.forward("Functional.add." + str(2 * layer + 1) + ".forward", 2, parent=low)
        golden.forward(low, parent=top)
        golden.forward(top, parent=f"{g}encoder.ParallelTransformer.forward.0")
    golden.forward(f"{g}encoder.ParallelTransformer.forward.0", parent="Module.module.language_model.TransformerLanguageModel.forward.0")
    golden.forward("Module.module.language_model.TransformerLanguageModel.forward.0", parent="Module.module.GPTModel.forward.0")
    golden.forward("Module.module.GPTModel.forward.0")
    golden.forward("Functional.mean.0.forward")
    golden.backward("Functional.softmax.0.backward")
    golden.backward(f"{g}encoder.layers.0.self_attention.dense.RowParallelLinear.backward.0")
    golden.gradients(f"{g}encoder.layers.0.self_attention.dense.RowParallelLinear.parameters_grad", "weight")
    mapping = """TopLayer:
  network_with_loss: module
Loss:
  backbone: language_model
ParallelTransformerLayer:
  attention.out: self_attention.dense(RowParallelLinear)
"""
    return target, golden, mapping, {"layer_mapping": True}


CASES = [recompute, types, frameworks, fuzzy, fuzzy_long, data_mapping, cell_plain, cell_mapping, api_plain,
         api_mapping, layer_mapping]


def import_peer():
    sys.path.insert(0, os.environ["PEER"])
    while True:
        try:
            return (importlib.import_module("msprobe.core.compare.acc_compare"),
                    importlib.import_module("msprobe.core.compare.layer_mapping"))
        except ModuleNotFoundError as missing:
            if missing.name.startswith("msprobe"):
                raise
            parts = missing.name.split(".")
            for k in range(1, len(parts) + 1):
                sys.modules.setdefault(".".join(parts[:k]), unittest.mock.MagicMock(__path__=[]))


def fuzzy_pairs(peer, mode, sides):
    """By the peer's loop over rows; its tables have other columns than it expects of statistics."""
    pairs = []

    class Match(peer.Match):
        def put_unmatched_in_table(self, result, mine):
            pairs.append((mine["op_name"], "N/A"))
            return result

        def put_matched_in_table(self, result, mine, theirs):
            pairs.append((mine["op_name"], theirs["op_name"]))
            return result

    for side in sides:
        side["compare_key"] = side["op_name"]
    Match(mode, peer.MappingConfig(), False).process_fuzzy_match(*sides)
    seen = {mine for mine, _ in pairs}
    # It ends when one list does, and forgets the rest of the other.
    pairs += [(name, "N/A") for name in sides[0]["op_name"] if name not in seen]
    return pairs


def main():
    peer, layers = import_peer()
    peer.logger.warning = peer.logger.info = lambda *_, **__: None
    for case in CASES:
        directory = HERE / case.__name__
        target, golden, mapping, options = case()
        target.write(directory / "target")
        golden.write(directory / "golden")
        if mapping:
            (directory / "mapping.yaml").write_text(mapping)
        kind = next((key for key in options if key.endswith("mapping")), None)
        value = str(directory / "mapping.yaml") if mapping else True
        paths = {"npu_path": str(directory / "target/dump.json"), "bench_path": str(directory / "golden/dump.json")}
        files = dict.fromkeys(["cell_mapping", "api_mapping", "data_mapping"])
        if kind == "layer_mapping":
            files["data_mapping"] = layers.generate_data_mapping_by_layer_mapping(paths, value)
        elif kind:
            files[kind] = value
        mode = peer.ModeConfig(fuzzy_match=options.get("fuzzy_match", False))
        comparator = peer.Comparator(None, mode, peer.MappingConfig(**files), target.framework != golden.framework)
        sides = peer.ParseData(mode, "", {}).parse([paths["npu_path"], paths["bench_path"], ""])
        if mode.fuzzy_match:
            pairs = fuzzy_pairs(peer, mode, sides)
        else:
            table = comparator.compare_statistics(*sides)
            pairs = zip(table["NPU Name"], table["Bench Name"])
        with open(directory / "pairs.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["target", "golden"])
            writer.writerows(pairs)


if __name__ == "__main__":
    main()
