#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""plumbline.torch on real and on odd models: recorded modules, FX nodes, and both against other sides.

usage: tests/python/torch_test.py BUILD [unittest options]      exit status 77: PyTorch is not installed
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and pathlib.Path(sys.argv[1]).is_dir() else "build").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(BUILD / "python"))
sys.dont_write_bytecode = True

try:
    import torch
    from torch import nn
except ImportError:
    print("skipped: PyTorch is not installed (python3-torch)")
    sys.exit(77)

import numpy as np  # noqa: E402

import plumbline as plumb  # noqa: E402

HAS_ENGINE = (BUILD / "lib/libonnxruntime.so.1").exists()


class Block(nn.Module):
    """One ReLU called twice, the second time on a sum."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return self.relu(self.conv2(self.relu(self.bn1(self.conv1(x)))) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.layer1 = nn.Sequential(Block(8), Block(8))
        self.drop = nn.Dropout()
        self.norm = nn.LayerNorm(8)
        self.fc = nn.Linear(8, 10)
        self.heads = nn.ModuleList([nn.Linear(10, 10), nn.Linear(10, 10)])

    def forward(self, x):
        x = self.layer1(nn.functional.relu(self.stem(x)))
        x = self.fc(self.norm(self.drop(x.mean((2, 3)))))
        for head in self.heads:
            x = head(x)
        return nn.functional.softmax(x, -1)


def make_net():
    torch.manual_seed(0)
    net = Net().eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):  # else the export folds nothing that could be seen
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return net, torch.randn(1, 3, 16, 16)


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.place = pathlib.Path(self.scratch.name)

    def record(self, model, *inputs, name="rec", **options):
        with torch.no_grad(), plumb.torch.record(model, self.place / name, **options):
            return [model(*each) for each in inputs]


class Tensors(unittest.TestCase):
    def test_types(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool,
                      torch.complex64):  # fmt: skip
            with self.subTest(str(dtype)):
                tensor = torch.arange(24).remainder(2).to(dtype).reshape(2, 3, 4)
                result = plumb.compare({"x": tensor.transpose(0, 2)}, {"x": tensor.transpose(0, 2).contiguous()}, profile="exact")
                self.assertEqual(result.verdict, "pass", result)
                self.assertEqual(result.rows[0].target.dtype, str(dtype).split(".")[1])

    def test_bfloat16_values(self):
        exact = torch.linspace(-3, 3, 1000)
        rounded = exact.bfloat16()
        row = plumb.compare({"x": rounded}, {"x": exact}, metrics="max_abs").rows[0]
        self.assertEqual(row.metrics["max_abs"], (rounded.double() - exact.double()).abs().max().item())

    def test_gradients_and_views(self):
        tensor = torch.ones(4, 4, requires_grad=True)
        self.assertEqual(plumb.compare({"x": tensor[1:, ::2]}, {"x": np.ones((3, 2), np.float32)}, profile="exact").verdict, "pass")

    def test_not_comparable(self):
        for tensor in (torch.ones(2, device="meta"), torch.eye(3).to_sparse()):
            with self.assertRaises(plumb.PlumbError):
                plumb.compare({"x": tensor}, {"x": np.ones(2)})


class Record(Scratch):
    def test_names_and_values(self):
        net, x = make_net()
        seen = {}
        hooks = [module.register_forward_hook(lambda _, __, out, name=name: seen.setdefault(name, []).append(out.clone()))
                 for name, module in net.named_modules()]  # fmt: skip
        (y,) = self.record(net, (x,))
        for hook in hooks:
            hook.remove()
        dump = plumb.open_dump(self.place / "rec")
        self.assertEqual(dump.convention, "plumb-dump")
        self.assertEqual(dump.skipped, [])
        for name, calls in {"stem": 1, "layer1.0.relu": 2, "layer1.1.bn1": 1, "heads.1": 1}.items():
            for call in range(calls):
                tensor = dump[name if call == 0 else f"{name}_{call}", "output:0"]
                np.testing.assert_array_equal(tensor.numpy(), seen[name][call].numpy(), name)
        np.testing.assert_array_equal(dump["(model)", "output:0"].numpy(), y.numpy())
        np.testing.assert_array_equal(dump["stem", "input:0"].numpy(), x.numpy())
        names = {name for name, _ in dump}
        self.assertNotIn("layer1", names)  # hands on what layer1.1 gave
        self.assertNotIn("layer1.0", names)
        self.assertNotIn("drop", names)  # is off
        self.assertNotIn(("fc", "input:0"), dump)  # the output of norm
        self.assertEqual(plumb.compare(self.place / "rec", self.place / "rec").verdict, "inconclusive")  # same_path

    def test_hooks_are_gone(self):
        net, x = make_net()
        self.record(net, (x,))
        before = sorted(path.name for path in (self.place / "rec").iterdir())
        net(x)
        self.assertEqual(sorted(path.name for path in (self.place / "rec").iterdir()), before)
        self.assertTrue(all(not module._forward_hooks and not module._forward_pre_hooks for module in net.modules()))

    def test_several_calls(self):
        net, x = make_net()
        self.record(net, (x,), (x * 2,), (x + 1,))
        steps = {tensor.step for tensor in plumb.open_dump(self.place / "rec").select("fc", "output:0")}
        self.assertEqual(steps, {0, 1, 2})
        self.record(net, (x,), (x * 2,), (x + 1,), name="again")
        result = plumb.compare(self.place / "again", self.place / "rec", profile="exact")
        self.assertEqual(result.verdict, "pass", result)

    def test_an_exception_in_the_model(self):
        net, x = make_net()
        with self.assertRaises(RuntimeError):
            self.record(net, (torch.ones(1, 5, 4, 4),))
        self.record(net, (x,), name="fine")
        with plumb.torch.record(net, self.place / "both"), torch.no_grad():
            with self.assertRaises(RuntimeError):
                net(torch.ones(1, 5, 4, 4))
            net(x)
        dump = plumb.open_dump(self.place / "both")
        np.testing.assert_array_equal(dump["(model)", "output:0"].numpy(), plumb.open_dump(self.place / "fine")["(model)"].numpy())

    def test_structures_and_odd_names(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module("a/b c", nn.Linear(3, 3))
                self.lstm = nn.LSTM(3, 4)

            def forward(self, x, extra=None):
                return {"y": self.lstm(self._modules["a/b c"](x)), "z": (x, extra)}

        (y,) = self.record(Odd(), (torch.ones(2, 1, 3),))
        dump = plumb.open_dump(self.place / "rec")
        self.assertIn(("a/b c", "output:0"), dump)
        np.testing.assert_array_equal(dump["lstm", "output:2"].numpy(), y["y"][1][1].numpy())

    def test_directory_in_use(self):
        net, x = make_net()
        (self.place / "rec").mkdir()
        (self.place / "rec/notes.txt").write_text("mine")
        with self.assertRaises(plumb.PlumbError):
            self.record(net, (x,))

    def test_bfloat16(self):
        net, x = make_net()
        (y,) = self.record(net.bfloat16(), (x.bfloat16(),))
        np.testing.assert_array_equal(plumb.open_dump(self.place / "rec")["(model)"].numpy(), y.float().numpy())


@unittest.skipUnless(HAS_ENGINE, "ONNX Runtime is not installed")
class AgainstTheExport(Scratch):
    def export(self, model, x):
        path = self.place / "model.onnx"
        torch.onnx.export(model, (x,), str(path), input_names=["x"], output_names=["y"], opset_version=13)
        np.save(self.place / "x.npy", x.numpy())
        subprocess.run([BUILD / "bin/plumb", "dump", path, "--input", self.place / "x.npy", "-o", self.place / "onnx"],
                       check=True, capture_output=True)  # fmt: skip

    def test_module_paths_pair_with_scopes(self):
        net, x = make_net()
        self.record(net, (x,))
        self.export(net, x)
        for target, golden in (("rec", "onnx"), ("onnx", "rec")):
            with self.subTest(f"{target} against {golden}"):
                result = plumb.compare(self.place / target, self.place / golden)
                self.assertEqual(result.verdict, "pass", result.table(all=True))
                pairs = {}
                for row in result.rows:
                    if row.target and row.golden:
                        module, exported = (row.target, row.golden) if target == "rec" else (row.golden, row.target)
                        pairs[exported.operator] = f"{module.operator} {module.slot}"
                self.assertEqual(pairs["/layer1/layer1.1/conv2/Conv"], "layer1.1.conv2 output:0")
                self.assertEqual(pairs["/layer1/layer1.0/relu_1/Relu"], "layer1.0.relu_1 output:0")
                self.assertEqual(pairs["/layer1/layer1.0/conv1/Conv"], "layer1.0.bn1 output:0")  # folded
                self.assertEqual(pairs["/layer1/layer1.0/Add"], "layer1.0.relu_1 input:0")
                self.assertEqual(pairs["/norm/Add_1"], "norm output:0")
                self.assertEqual(pairs["/heads.1/Gemm"], "heads.1 output:0")
                self.assertEqual(pairs["/Softmax"], "(model) output:0")
                self.assertEqual(pairs["x"], "stem input:0")
                reasons = {row.operator: row.reasons for row in result.rows if row.verdict == "not_compared"}
                self.assertEqual(reasons["layer1.0.conv1"], ["inside_fusion"])
                self.assertEqual(reasons["/norm/Sub"], ["inside_fusion"])

    def test_a_fault_is_found_where_it_is(self):
        net, x = make_net()
        self.export(net, x)
        with torch.no_grad():
            net.layer1[1].conv2.bias.mul_(1.5)
        self.record(net, (x,))
        result = plumb.compare(self.place / "rec", self.place / "onnx")
        self.assertEqual(result.verdict, "fail")
        failed = [row.operator for row in result.rows if row.verdict == "fail"]
        self.assertEqual(failed[0], "layer1.1.conv2", result)

    def test_a_run_against_records_names_the_operator(self):
        net, x = make_net()
        self.record(net, (x,))
        with torch.no_grad():
            net.layer1[1].conv2.bias.mul_(1.5)
        self.export(net, x)
        result = plumb.run(self.place / "model.onnx", self.place / "rec", inputs={"x": x.numpy()}, layers="all")
        self.assertEqual(result.verdict, "fail")
        self.assertEqual(result.findings[0].operator, "/layer1/layer1.1/conv2/Conv", result)

    def test_example(self):
        done = subprocess.run(
            [sys.executable, ROOT / "examples/pytorch/check_export.py", self.place / "out"], capture_output=True, text=True,
            env={"PYTHONPATH": str(BUILD / "python"), "PATH": "/usr/bin:/bin"})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PASS", done.stdout)
        self.assertRegex(done.stdout, "(?m)^to blame: /conv5/")
        self.assertTrue((self.place / "out/report.html").exists())
        self.assertTrue((self.place / "out/broken.html").exists())


class Fx(Scratch):
    def test_names_and_values(self):
        net, x = make_net()
        y = plumb.torch.dump_fx(net, (x,), self.place / "fx")
        with torch.no_grad():
            np.testing.assert_array_equal(y.numpy(), net(x).numpy())
        dump = plumb.open_dump(self.place / "fx")
        self.assertEqual(dump.convention, "torchair-fx")
        self.assertEqual(dump.skipped, [])
        names = {tensor.type for tensor in dump.select()}
        self.assertIn("aten.convolution.default", names)
        stem = dump["convolution-aten.convolution.default", "output:0"].numpy()
        with torch.no_grad():
            np.testing.assert_array_equal(stem, net.stem(x).numpy())
        self.assertEqual({tensor.step for tensor in dump.select()}, {0})
        plumb.torch.dump_fx(net, (x,), self.place / "fx")
        self.assertEqual({tensor.step for tensor in plumb.open_dump(self.place / "fx").select()}, {0, 1})
        self.assertRaises(plumb.PlumbError, plumb.torch.dump_fx, net, (x,), self.place / "fx", step=1)
        self.assertRaises(plumb.PlumbError, plumb.torch.dump_fx, net, x, self.place / "fx")

    def test_pairs_with_a_device_dump(self):
        """The golden of a GE dump that stands among the test data, made anew: the same names pair."""
        case = ROOT / "tests/data/msprobe/ge_fx_new"
        theirs = plumb.open_dump(case / "golden")
        tensor = next(tensor for tensor in theirs.select() if tensor.slot == "output:0" and "aten.add" in tensor.type)
        inputs = [torch.from_numpy(np.array(theirs.select(tensor.operator, f"input:{k}", step=0)[0].numpy())) for k in range(2)]

        graph = torch.fx.Graph()
        nodes = [graph.placeholder(f"arg{k}_1") for k in range(2)]
        function = torch.ops.aten.add.Tensor
        made = graph.create_node("call_function", function, tuple(nodes), name=tensor.operator.split("-")[0])
        graph.output(made)
        plumb.torch.dump_fx(torch.fx.GraphModule(nn.Module(), graph), tuple(inputs), self.place / "fx")
        rows = plumb.compare(case / "target", self.place / "fx").rows
        paired = [row for row in rows if row.target and row.golden and row.golden.operator == tensor.operator]
        self.assertTrue(paired, [repr(row) for row in rows])


if __name__ == "__main__":
    unittest.main()
