# SPDX-License-Identifier: Apache-2.0
"""Writes both sides of a comparison as other programs leave them: numpy files, Ascend dumps of the standard
layout, and the graph as the Ascend compiler describes it. Nothing here is written by plumb.
"""
import json
import pathlib
import struct

import numpy as np

NUMBERS = {"float32": 1, "float16": 2, "bfloat16": 27}
WORDS = {"float32": "DT_FLOAT", "float16": "DT_FLOAT16", "bfloat16": "DT_BF16"}
FORMATS = {"NCHW": 0, "ND": 2, "NC1HWC0": 3}


def file_name(name):
    return name.replace("/", "_").replace(".", "_")


def save_npy(directory, name, time, array):
    np.save(pathlib.Path(directory, f"{file_name(name)}.0.{time}.npy"), array)


# ---- Ascend dumps ---------------------------------------------------------------------------------

def varint(n):
    out = b""
    while n > 0x7F:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def shape_message(dims):
    return block(1, b"".join(map(varint, dims))) if len(dims) else b""


def stored(array, dtype):
    if dtype == "bfloat16":  # the values are bfloat16's already
        return (np.asarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    with np.errstate(all="ignore"):
        return np.asarray(array, dtype)


def in_blocks(x, size=16):
    """NC1HWC0."""
    n, c, h, w = x.shape
    blocks = -(-c // size)
    wide = np.zeros((n, blocks * size, h, w), x.dtype)
    wide[:, :c] = x
    return np.ascontiguousarray(wide.reshape(n, blocks, size, h, w).transpose(0, 1, 3, 4, 2))


class Tensor:
    def __init__(self, values, dtype, layout="ND"):
        self.dims = values.shape
        array = stored(values, dtype)
        array = in_blocks(array) if layout == "NC1HWC0" else np.ascontiguousarray(array)
        self.stored_dims, self.bytes, self.dtype, self.layout = array.shape, array.tobytes(), dtype, layout

    def message(self, is_output, address):
        size, original, at = (6, 7, 9) if is_output else (5, 6, 8)
        return (
            number(1, NUMBERS[self.dtype]) + (number(2, FORMATS[self.layout]) if FORMATS[self.layout] else b"")
            + block(3, shape_message(self.stored_dims)) + number(size, len(self.bytes))
            + block(original, shape_message(self.dims)) + number(at, address)
        )  # fmt: skip


def save_dump(directory, op_type, name, task, time, inputs, outputs):
    header = block(1, b"2.0") + number(2, time)
    for i, tensor in enumerate(outputs):
        header += block(3, tensor.message(True, 0x124080000000 + 512 * i))
    for i, tensor in enumerate(inputs):
        header += block(4, tensor.message(False, 0x124040000000 + 512 * i))
    header += block(6, name.encode())
    data = struct.pack("<Q", len(header)) + header + b"".join(t.bytes for t in (*inputs, *outputs))
    pathlib.Path(directory, f"{op_type}.{file_name(name)}.{task}.7.{time}").write_bytes(data)


# ---- the graph ------------------------------------------------------------------------------------

def attribute(key, **value):
    return {"key": key, "value": value}


class Graph:
    def __init__(self):
        self.ops = []

    def add(self, name, op_type, inputs, originals, output=None):
        """`output`: dtype, layout, stored and original shape, and the original operator it stands for, if any."""
        op = {"name": name, "type": op_type, "id": len(self.ops) + 1}
        if inputs:
            op["input"] = [f"{each}:0" for each in inputs]
        op["attr"] = []
        if originals is not None:
            op["attr"].append(attribute("_datadump_original_op_names", list={"val_type": 1, **({"s": originals} if originals else {})}))
        if output:
            dtype, layout, stored_dims, dims, origin = output
            plain = "NCHW" if len(dims) == 4 else "ND"
            attrs = [attribute("origin_format", s=plain)]
            if origin:
                attrs = [attribute("_datadump_origin_name", s=origin), attribute("_datadump_origin_output_index", i=0),
                         attribute("_datadump_origin_format", s=plain)]  # fmt: skip
            attrs.append(attribute("origin_shape", list={"val_type": 2, "i": list(map(int, dims))}))
            op["output_desc"] = [{"dtype": WORDS[dtype], "layout": layout, "shape": {"dim": list(map(int, stored_dims))}, "attr": attrs}]
        self.ops.append(op)

    def save(self, path):
        whole = {"name": "net", "graph": [{"name": "net", "op": self.ops}]}
        path.write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


# ---- both sides -----------------------------------------------------------------------------------

def layout_of(values):
    return "NCHW" if values.ndim == 4 else "ND"


def save_golden(directory, network, values, dtype, time, without=()):
    directory.mkdir(parents=True)
    for i, op in enumerate(network.ops):
        if op.name not in without:
            save_npy(directory, op.name, time + 17 * i, np.asarray(values[op.name], dtype))


def save_target_npy(directory, parts, out, dtypes, time, without=()):
    directory.mkdir(parents=True)
    for i, part in enumerate(parts):
        if part.name in without:
            continue
        dtype = "float32" if dtypes[part.name] == "bfloat16" else dtypes[part.name]
        save_npy(directory, part.name, time + 211 * i, stored(out[part.output], dtype))


def simple_graph(parts, out, dtypes, network):
    graph = Graph()
    owner = {part.output: part.name for part in parts}
    for part in parts:
        y = out[part.output]
        graph.add(part.name, part.type, [owner[i] for i in part.reads()], None if part.is_input else [op.name for op in part.ops],
                  (dtypes[part.name], layout_of(y), y.shape, y.shape, part.output))  # fmt: skip
    graph.add("Node_Output", "NetOutput", [owner[o] for o in network.outputs], None)
    return graph


class AscendWriter:
    """Dumps with inputs and outputs, and the compiler's own operators: Cast behind float32 inputs, TransData
    around what is stored in blocks of channels, constants as inputs."""

    def __init__(self, directory, network, parts, out, dtypes, time, rng):
        self.directory, self.network, self.parts, self.out = directory, network, parts, out
        self.dtypes, self.time, self.rng = dtypes, time, rng
        self.graph, self.tensors, self.task = Graph(), {}, 0
        self.with_constants = rng.random() < 0.25
        self.with_casts = rng.random() < 0.3
        self.with_blocks = rng.random() < 0.3
        self.inserted, self.constants = 0, 0

    def save(self):
        self.directory.mkdir(parents=True)
        owner = {part.output: part.name for part in self.parts}
        self.blocked = {
            part.name for part in self.parts
            if self.with_blocks and part.type in ("Conv2D", "BNInference", "Relu", "DepthwiseConv2D")
            and self.out[part.output].ndim == 4 and self.rng.random() < 0.6
        }  # fmt: skip
        self.variants = {}  # (operator, layout) -> what gives it in that layout
        for part in self.parts:
            y = self.out[part.output]
            if part.is_input:
                self.add_input(part, y)
                continue
            wanted = "NC1HWC0" if part.name in self.blocked else None
            sources = [self.source(owner[i], wanted) for i in part.reads()]
            inputs = [self.tensors[s] for s in sources]
            if self.with_constants:
                for op in part.ops:
                    for key, value in op.consts.items():
                        sources.append(self.add_constant(value, part.dtype if op.kind != "bn" else "float32"))
                        inputs.append(self.tensors[sources[-1]])
            tensor = Tensor(y, self.dtypes[part.name], wanted or layout_of(y))
            self.add(part.name, part.type, sources, [op.name for op in part.ops], inputs, tensor, part.output)
        self.graph.add("Node_Output", "NetOutput", [self.source(owner[o], None) for o in self.network.outputs], None)
        return self.graph

    def add(self, name, op_type, sources, originals, inputs, output, origin):
        self.graph.add(name, op_type, sources, originals, (output.dtype, output.layout, output.stored_dims, output.dims, origin))
        self.tensors[name] = output
        self.task += 1
        save_dump(self.directory, op_type, name, self.task, self.time + 211 * self.task, inputs, [output])

    def add_input(self, part, y):
        dtype = self.dtypes[part.name]
        cast = self.with_casts and dtype == "float16"
        tensor = Tensor(y, "float32" if cast else dtype, layout_of(y))
        self.tensors[part.name] = tensor
        self.graph.add(part.name, "Data", [], None, (tensor.dtype, tensor.layout, tensor.dims, tensor.dims, part.output))
        if cast:
            self.inserted += 1
            name = f"trans_Cast_{self.inserted}"
            self.add(name, "Cast", [part.name], [], [tensor], Tensor(y, dtype, layout_of(y)), None)
            self.variants[part.name, None] = name

    def add_constant(self, value, dtype):
        name = f"dynamic_const_{self.constants}"
        self.constants += 1
        self.tensors[name] = Tensor(value, dtype)
        self.graph.add(name, "Const", [], [], (dtype, "ND", value.shape, value.shape, None))
        return name

    def source(self, name, wanted):
        """What hands on the values of an operator in the layout that is wanted (None: plain)."""
        plain = self.variants.get((name, None), name)
        have = self.tensors[plain].layout == "NC1HWC0"
        y = self.tensors[plain]
        if (have and wanted) or (not have and not wanted) or len(y.dims) != 4:
            return plain
        key = (name, "NC1HWC0" if wanted else "plain")
        if key not in self.variants:
            self.inserted += 1
            made = f"trans_TransData_{self.inserted}"
            values = self.out[next(part.output for part in self.parts if part.name == name)]
            output = Tensor(values, y.dtype, "NC1HWC0" if wanted else "NCHW")
            self.add(made, "TransData", [plain], [], [y], output, None)
            self.variants[key] = made
        return self.variants[key]
