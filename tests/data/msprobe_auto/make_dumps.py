#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes dumps.zip and the results beside it: a small network, run for two steps with msprobe's own PyTorch debugger
on both sides, and compared by msprobe itself in its three data modes.

To be run by hand, with the Python package of the public repository Ascend/msprobe and python3-torch, python3-pandas,
python3-tqdm of Debian 12:

  PYTHONPATH=MSPROBE/python /usr/bin/python3 make_dumps.py

The packages matplotlib and einops, which it imports and does not use for this, are stood in for by empty modules. Paths and
process numbers are taken out of what it wrote, so that the archive holds MODE/SIDE/stepN/rank0/.
"""
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MODES = {"tensor": ("tensor", None), "statistics": ("statistics", "statistics"), "md5": ("statistics", "md5")}


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def prepare():
    """What this version of PyTorch and this machine lack."""
    stand_in("matplotlib")
    stand_in("matplotlib.pyplot", Figure=None, Axes=None)
    stand_in("matplotlib.patches", Rectangle=None)
    stand_in("einops", rearrange=None, repeat=None)
    import torch
    if not hasattr(torch.Tensor, "untyped_storage"):
        torch.Tensor.untyped_storage = lambda tensor: tensor.storage()


def dump(mode, side, out):
    prepare()
    import torch
    import torch.nn.functional as F
    from torch import nn
    task, summary = MODES[mode]
    settings = {"scope": [], "list": [], "data_mode": ["all"]}
    if summary:
        settings["summary_mode"] = summary
    config = pathlib.Path(out).parent / f"{mode}_{side}.json"
    config.write_text(json.dumps({"task": task, "dump_path": out, "rank": [], "step": [], "level": "mix", task: settings}))
    from msprobe.pytorch import PrecisionDebugger, seed_all
    seed_all(1)
    debugger = PrecisionDebugger(config_path=str(config))
    is_target = side == "target"

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 3, 3, padding=1)
            self.fc = nn.Linear(12, 4)

        def forward(self, x, step):
            y = self.conv(x)
            if is_target:  # rounding of the device, in both steps
                y = y + y.detach().to(torch.bfloat16).to(torch.float32) * 1e-4
            y = F.leaky_relu(y, negative_slope=0.2 if is_target and step else 0.01)
            y = F.max_pool2d(y, kernel_size=2, stride=1 if is_target and step else 2)
            y = F.adaptive_avg_pool2d(y, output_size=[2, 2])
            z = self.fc(torch.flatten(y, 1))
            if is_target and step:
                z = z * 3
            return {"zeta": z, "alpha": F.softmax(z, dim=1), "middle": z.argmax(dim=1)}

    net = Net()
    for step in range(2):
        debugger.start(model=net)
        out = net(torch.randn(2, 2, 4, 4), step)
        half = out["zeta"].detach().to(torch.float16)
        odd = torch.log(torch.clamp(half.float(), min=0))  # -inf where half is not positive
        if is_target and step:
            odd = torch.sqrt(odd)  # and NaN
        torch.exp(odd)
        torch.mul(torch.zeros(2, 4), 0 if is_target else 1).add(0 if not is_target or not step else 1)
        torch.topk(out["alpha"].detach(), 2, dim=1)
        torch.unsqueeze(half, dim=0).sum()
        out["zeta"].sum().backward()
        net.zero_grad()
        debugger.stop()
        debugger.step()


def plain(root):
    """Takes machine and process out of the files."""
    for step in sorted(root.glob("step*")):
        (process,) = step.iterdir()
        process.rename(step / "rank0")
        for path in (step / "rank0").glob("*.json"):
            text = path.read_text()
            text = re.sub(r'"dump_data_dir": "[^"]+"', '"dump_data_dir": "dump_tensor_data"', text)
            text = text.replace(f"{HERE}/", "").replace("/usr/lib/python3/dist-packages/", "")
            path.write_text(text)


def record(result, copy):
    """Of its messages only their levels are kept."""
    with open(result, newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("Err_message")
    for row in rows[1:]:
        row[at] = json.dumps([message.split(":")[0] for message in json.loads(row[at])])
    with open(copy, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for mode in MODES:
            for side in ("target", "golden"):
                out = scratch / mode / side
                out.parent.mkdir(exist_ok=True)
                subprocess.run([sys.executable, __file__, "dump", mode, side, str(out)], check=True)
                plain(out)
                (scratch / mode / f"{mode}_{side}.json").unlink()
            for step in range(2):
                pair = [str(scratch / mode / side / f"step{step}/rank0/dump.json") for side in ("target", "golden")]
                result = scratch / "result"
                subprocess.run([sys.executable, __file__, "compare", "-tp", pair[0], "-gp", pair[1], "-o", str(result)], check=True)
                (path,) = result.glob("compare_result_*.csv")
                record(path, HERE / f"{mode}_step{step}.csv")
                shutil.rmtree(result)
        with zipfile.ZipFile(HERE / "dumps.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(scratch.rglob("*")):
                if path.is_file():
                    archive.writestr(zipfile.ZipInfo(str(path.relative_to(scratch))), path.read_bytes(), zipfile.ZIP_DEFLATED)


def compare():
    prepare()
    from msprobe.msprobe import main as msprobe
    sys.argv[0] = "msprobe"
    msprobe()


if __name__ == "__main__":
    if sys.argv[1:2] == ["dump"]:
        dump(*sys.argv[2:])
    elif sys.argv[1:2] == ["compare"]:
        compare()
    else:
        main()
