# SPDX-License-Identifier: Apache-2.0
"""Does the ONNX export of a PyTorch model still compute the same thing? Cell by cell, as in a notebook.

usage: check_export.py [DIRECTORY]      what it writes goes there (default: a temporary directory)
"""
# %% The model: the digits network of examples/models, with its trained weights
import copy
import pathlib
import sys
import tempfile

import numpy as np
import torch
from torch import nn

import plumbline as plumb

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
PLACE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())


class Unit(nn.Module):
    """A convolution without bias, its batch normalisation and, mostly, a ReLU."""

    def __init__(self, channels, out, kernel, relu=True, **shape):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, bias=False, **shape)
        self.bn = nn.BatchNorm2d(out)
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))

    def load(self, weights, name):
        for to, what in (
            (self.conv.weight, f"{name}.weight"), (self.bn.running_mean, f"{name}_bn.mean"),
            (self.bn.running_var, f"{name}_bn.variance"), (self.bn.weight, f"{name}_scale.gamma"),
            (self.bn.bias, f"{name}_scale.beta"),
        ):  # fmt: skip
            to.data.copy_(torch.from_numpy(weights[what]))


class Digits(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.conv1 = Unit(1, 16, 3, stride=2, padding=1)
        self.dw2 = Unit(16, 16, 3, padding=1, groups=16)
        self.pw2 = Unit(16, 32, 1)
        self.pool2 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.dw3 = Unit(32, 32, 3, padding=1, groups=32)
        self.pw3 = Unit(32, 32, 1, relu=False)
        self.conv4a = Unit(32, 16, 1)
        self.conv4b = Unit(32, 16, 3, padding=1)
        self.conv5 = Unit(32, 48, 3, stride=2)
        self.fc6 = nn.Linear(48, 10)
        self.prob = nn.Softmax(1)
        for name, module in self.named_children():
            if isinstance(module, Unit):
                module.load(weights, name)
        self.fc6.weight.data.copy_(torch.from_numpy(weights["fc6.weight"]))
        self.fc6.bias.data.copy_(torch.from_numpy(weights["fc6.bias"]))

    def forward(self, x):
        x = self.pool2(self.pw2(self.dw2(self.conv1(x))))
        x = torch.relu(x + self.pw3(self.dw3(x)))
        x = self.conv5(torch.cat([self.conv4a(x), self.conv4b(x)], 1))
        return self.prob(self.fc6(x.mean((2, 3))))


model = Digits(np.load(MODELS / "digits.npz")).eval()
x = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 1, 28, 28), dtype=np.float32))

# %% Record what every module computes
with torch.no_grad(), plumb.torch.record(model, PLACE / "golden"):
    expected = model(x)
print(plumb.open_dump(PLACE / "golden"))


# %% Export, and run the export on the same input: every layer against what was recorded
def export(network, name):
    torch.onnx.export(network, (x,), str(PLACE / name), input_names=["data"], output_names=["prob"])
    return PLACE / name


exported = export(model, "digits.onnx")
result = plumb.run(exported, PLACE / "golden", inputs={"data": x}, layers="all")
print(result)

# %% The same as numbers: a row for each tensor
worst = max(result.rows, key=lambda row: row.metrics.get("rel_euclid") or 0)
print("largest relative error:", worst.operator, worst.metrics["rel_euclid"])

# %% A fault on purpose: one channel of a layer is half too large. Who is to blame?
wrong = copy.deepcopy(model)
with torch.no_grad():
    wrong.conv5.conv.weight[7] *= 1.5
broken = plumb.run(export(wrong, "broken.onnx"), exported, inputs={"data": x}, layers="all")
print(broken)
print("to blame:", broken.findings[0].operator, broken.findings[0].cause, broken.findings[0].detail)
broken.save(PLACE / "broken.html")

# %% In a test suite: one line
plumb.assert_close({"prob": expected}, {"prob": model(x).detach()})

# %% bfloat16 is another question: by how much does it differ?
try:
    plumb.assert_close({"prob": copy.deepcopy(model).bfloat16()(x.bfloat16())}, {"prob": expected}, profile="exact")
except plumb.Mismatch as mismatch:
    print("bfloat16 differs by", mismatch.result.rows[0].metrics["max_abs"])

# %% The page to look at
result.save(PLACE / "report.html")
print(PLACE / "report.html")
sys.exit(0 if result.verdict == "pass" and broken.verdict == "fail" else 1)
