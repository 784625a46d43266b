# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch model computes, as dumps that plumb.compare() reads.

record() keeps the tensors of every module while the model runs; dump_fx() keeps those of every FX node, named as
TorchAir names its FX dumps. Both write one tensor at a time: memory does not grow with the model.
"""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import weakref

import numpy

from . import _core
from ._errors import PlumbError

try:
    import torch
except ModuleNotFoundError as missing:
    if missing.name != "torch":  # PyTorch is there, and lacks something itself
        raise
    raise PlumbError("PyTorch is not installed", "plumbline.torch",
                     "install it for this Python: pip install torch, or the package python3-torch") from missing  # fmt: skip

__all__ = ["dump_fx", "record"]

_WHOLE_MODEL = "(model)"  # the operator that stands for the model itself; no attribute is called so
_LONGEST_NAME = 120  # characters of a file's name that are the operator's


def _safe(name):
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "model"


def _array(tensor):
    """The values as numpy has them: types that it does not know are widened."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    tensor = tensor.cpu()
    if tensor.dtype is torch.bfloat16 or "float8" in str(tensor.dtype):
        tensor = tensor.float()
    return tensor.resolve_conj().resolve_neg().numpy()


def _tensors(value):
    """The tensors in nested tuples, lists, mappings and objects of such, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif hasattr(value, "items"):
        for _, item in value.items():
            yield from _tensors(item)


def _version(tensor):
    """How often the values were written over; None where PyTorch does not count."""
    try:
        return tensor._version
    except (RuntimeError, AttributeError):  # made in inference mode
        return None


def _is_among(tensor, versions):
    """Whether it is one of these tensors, and was not written over since."""
    now = _version(tensor)
    return now is not None and any(other is tensor and version == now for other, version in versions)


class _Clock:
    """Microseconds, later at each call."""

    def __init__(self):
        self._last = 0

    def __call__(self):
        now = int(datetime.datetime.now().timestamp() * 1_000_000)
        self._last = max(now, self._last + 1)
        return self._last


def _new_directory(path):
    directory = pathlib.Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        is_empty = not any(directory.iterdir())
    except OSError as error:
        raise PlumbError("the directory cannot be made", f"{path}: {error.strerror}", "name another one") from error
    if not is_empty:
        raise PlumbError("the directory is not empty", str(path), "name a new one, so that two runs do not mix")
    return directory


class _Call:
    """One forward pass of the model, and the directory with its dump."""

    def __init__(self, directory, clock):
        self.directory = directory
        directory.mkdir()
        self._clock = clock
        self._operators = []  # of the index
        self._known = {}  # tensors that are on the disk, by id: a reference, version, operator, output
        self._calls = {}  # how often each module was called

    def name(self, path, taken):
        """A later call of a module is numbered, as exporters do it; a number that is a module's own is left out."""
        count = self._calls.get(path, 0)
        while count and f"{path}_{count}" in taken:
            count += 1
        self._calls[path] = count + 1
        return f"{path}_{count}" if count else path

    def find(self, tensor):
        """Where these very values are already: operator and output, (None, 0) if functions made them; or None."""
        known = self._known.get(id(tensor))
        if known is None or known[0]() is not tensor or known[1] != _version(tensor):
            return None
        return known[2:]

    def write(self, tensor, name, what):
        array = _array(tensor)
        time = self._clock()
        file = f"{_safe(name)}.{what}.{time}.npy"
        with open(self.directory / file, "wb") as stream:
            numpy.lib.format.write_array(stream, array, allow_pickle=False)
        return {"dtype": str(array.dtype), "shape": list(array.shape), "file": file}

    def begin(self, name, kind, inputs):
        """Of an operator whose outputs are not known yet; inputs may be written over while it runs."""
        items = []
        for k, tensor in enumerate(inputs):
            known = self.find(tensor)
            if known is None:
                item = self.write(tensor, name, f"input.{k}")
                items.append({"file": item["file"]})
                self._keep(tensor, None, 0)
            elif known[0] is None:  # another module got it, too
                items.append({})
            else:
                items.append({"producer": known[0], "output": known[1]})
        return {"name": name, "type": kind, "inputs": items, "outputs": []}

    def drop(self, operator, inputs):
        """Of an operator that only hands on what it got: as if it had never been there."""
        for item, tensor in zip(operator["inputs"], inputs):
            if "file" in item:
                os.unlink(self.directory / item["file"])
                del self._known[id(tensor)]

    def end(self, operator, outputs):
        operator["timestamp"] = self._clock()
        for k, tensor in enumerate(outputs):
            item = self.write(tensor, operator["name"], str(k))
            operator["outputs"].append({"tensor": f"{operator['name']}:{k}", **item})
            self._keep(tensor, operator["name"], k)
        self._operators.append(operator)

    def _keep(self, tensor, producer, output):
        self._known[id(tensor)] = (weakref.ref(tensor), _version(tensor), producer, output)

    def close(self, outputs):
        """Writes the index; `outputs` are those of the model."""
        edges = [self.find(tensor) for tensor in outputs]
        index = {
            "schema": "plumb.dump/1",
            "tool": {"name": "plumb", "version": _core.__version__},
            "engine": f"PyTorch {torch.__version__}",
            "model": {"path": "", "format": "modules"},
            "operators": self._operators,
            "outputs": [{"producer": edge[0], "output": edge[1]} for edge in edges if edge and edge[0]],
        }
        partial = self.directory / "dump.json.part"
        partial.write_text(json.dumps(index), encoding="utf-8")
        os.replace(partial, self.directory / "dump.json")


class _Recorder:
    def __init__(self, model, directory, inputs):
        self._model, self._inputs = model, inputs
        self._directory = _new_directory(directory)
        self._clock = _Clock()
        self._paths = {}  # of modules; one that stands in several places has its first
        for path, module in model.named_modules():
            self._paths.setdefault(module, path or _WHOLE_MODEL)
        self._calls = 0
        self._call = None
        self._running = []  # modules, with their operators

    def attach(self):
        hooks = contextlib.ExitStack()
        for module in self._paths:
            try:
                before = module.register_forward_pre_hook(self._before, with_kwargs=True)
            except TypeError:  # before PyTorch 2.0
                before = module.register_forward_pre_hook(self._before)
            hooks.callback(before.remove)
            hooks.callback(module.register_forward_hook(self._after).remove)
        return hooks

    def _before(self, module, args, kwargs=None):
        if self._running and module is self._running[0][0]:  # the call before ended in an exception
            self._close(())
        if not self._running:
            self._call = _Call(self._directory / f"sample_{self._calls}", self._clock)
            self._calls += 1
        path = self._paths[module]
        name = self._call.name(path, self._paths.values())
        is_leaf = next(module.children(), None) is None
        inputs = list(_tensors((args, kwargs or {}))) if is_leaf else []
        got = [(tensor, _version(tensor)) for tensor in inputs]
        operator = self._call.begin(name, type(module).__name__, inputs if self._inputs else ())
        self._running.append((module, operator, is_leaf, got))

    def _after(self, module, args, output):
        while self._running and self._running[-1][0] is not module:
            self._running.pop()  # its exception was caught
        if not self._running:
            return
        _, operator, is_leaf, got = self._running.pop()
        outputs = list(_tensors(output))
        # A container that hands on what a module in it gave has nothing of its own, nor has a dropout that is off.
        if is_leaf and outputs and all(_is_among(tensor, got) for tensor in outputs):
            self._call.drop(operator, [tensor for tensor, _ in got])
        elif is_leaf or not all(self._call.find(tensor) for tensor in outputs):
            self._call.end(operator, outputs)
        if not self._running:
            self._close(outputs)

    def _close(self, outputs):
        self._running.clear()
        if self._call is not None:
            self._call.close(outputs)
            self._call = None

    def finish(self):
        self._close(())
        if self._calls != 1:
            return
        only = self._directory / "sample_0"  # one call is a dump by itself
        for file in sorted(only.iterdir(), key=lambda file: file.name == "dump.json"):
            os.replace(file, self._directory / file.name)
        only.rmdir()


@contextlib.contextmanager
def record(model, directory, inputs=True):
    """Keep what every module of a model gets and gives while it runs:

        with plumb.torch.record(model, "golden/"):
            model(x)

    The dump names modules by their paths (``layer1.0.conv1``; a second call within one pass is
    ``layer1.0.conv1_1``), which pair with the scopes of an ONNX export (``/layer1/layer1.0/conv1/Conv``). Several
    passes are steps 0, 1, ... of the dump. Modules without children are recorded with their inputs (not if
    inputs=False), containers only if their output is computed by themselves. The directory has to be new or empty.
    """
    recorder = _Recorder(model, directory, inputs)
    with recorder.attach():
        try:
            yield
        finally:
            recorder.finish()


class _FxWriter(torch.fx.Interpreter):
    """Runs a graph node by node and writes what each reads and gives."""

    def __init__(self, graph, directory, clock):
        super().__init__(graph)
        self._directory, self._clock = directory, clock

    def run_node(self, node):
        if node.op not in ("call_function", "call_method", "call_module"):
            return super().run_node(node)
        args, _ = self.fetch_args_kwargs_from_env(node)
        title = f"{node.name}-{_target_name(node)}".replace(os.sep, "_")
        for i, argument in enumerate(args):
            if isinstance(argument, (tuple, list)) and any(isinstance(item, torch.Tensor) for item in argument):
                for j, item in enumerate(argument):
                    self._write(item, f"{title}.INPUT.{i}.{j}")
            else:
                self._write(argument, f"{title}.INPUT.{i}")
        result = super().run_node(node)
        for i, item in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
            self._write(item, f"{title}.OUTPUT.{i}")
        return result

    def _write(self, value, name):
        if isinstance(value, torch.Tensor):
            array = _array(value)
        elif isinstance(value, (bool, int, float)):
            array = numpy.array(value)
        else:
            return  # no numbers: a type, a device, None
        moment = datetime.datetime.fromtimestamp(self._clock() / 1_000_000)
        numpy.save(self._directory / f"{name}.{moment:%Y%m%d%H%M%S%f}.npy", array, allow_pickle=False)


def _target_name(node):
    if isinstance(node.target, str):
        return node.target
    name = str(node.target)
    return name if " " not in name else node.target.__name__  # an operator of aten, or a function of Python


def _fx_graph(model, args):
    if isinstance(model, torch.fx.GraphModule):
        return model
    from torch.fx.experimental.proxy_tensor import make_fx

    with torch.no_grad():
        return make_fx(model)(*args)


def dump_fx(model, args, directory, step=None):
    """Keep what every node of a model's FX graph reads and gives, named as TorchAir names its FX dumps.

    The golden side for a GE dump from the device: ``plumb.compare("msprobe_ge_dump/", "fx/")``. model: a GraphModule,
    such as the one that TorchAir's compiler is given, or a module, whose graph of aten operators is traced with these
    arguments. args: a tuple. step: the token that this run stands for; None: the next one. Gives the model's output.
    """
    if not isinstance(args, (tuple, list)):
        raise PlumbError("the arguments of the model are a tuple", f"args is a {type(args).__name__}", "write (x,)")
    graph = _fx_graph(model, args)
    rank = pathlib.Path(directory) / "worldsize1_global_rank0"
    known = sorted(rank.glob("gm_*_dump"))
    parent = known[-1] if known else rank / f"gm_{datetime.datetime.now():%Y%m%d%H%M%S%f}_dump"
    if step is None:
        steps = [int(path.name) for path in parent.glob("*") if path.name.isdigit()]
        step = max(steps, default=-1) + 1
    place = parent / str(int(step))
    try:
        place.mkdir(parents=True)
    except FileExistsError as error:
        raise PlumbError("this step is there already", str(place), "choose another step or directory") from error
    except OSError as error:
        raise PlumbError("the directory cannot be made", f"{place}: {error.strerror}", "name another one") from error
    with torch.no_grad():
        return _FxWriter(graph, place, _Clock()).run(*args)
