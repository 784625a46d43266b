#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Reads the model descriptions of this folder with other libraries and writes what they say to
# <file>.expected, in the words of tests/graph/listing.h.
import glob
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def edge_list(edges):
    return "".join(f" {producer}:{output}" for producer, output in edges)


def shape_text(shape):
    return "-" if shape is None else "[" + ", ".join(str(d) for d in shape) + "]"


def listing(name, outputs, operators):
    lines = [f"graph {name}", f"outputs{edge_list(outputs)}"]
    for op in operators:
        lines.append(f"operator {op['name']} {op['type']} id {op.get('id', '-')} "
                     f"in '{op.get('subgraph', '')}' from{edge_list(op['inputs'])}")
        if op.get("origins") is not None:
            lines.append(f"  origins [{', '.join(op['origins'])}]")
        for out in op["outputs"]:
            lines.append(f"  output '{out.get('name', '')}' {out.get('dtype', '-')} '{out.get('layout', '')}' "
                         f"{shape_text(out.get('shape'))} of '{out.get('origin', '')}' "
                         f"{out.get('origin_output', '-')} '{out.get('origin_layout', '')}' "
                         f"{shape_text(out.get('origin_shape'))}")
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path + ".expected", "w") as file:
        file.write(text)


def dtype(name):
    name = name.removeprefix("DT_").lower()
    return {"float": "float32", "double": "float64", "bf16": "bfloat16"}.get(name, name)


def ge_edges(inputs):
    edges = []
    for text in inputs:
        if text and not text.endswith(":-1"):
            producer, output = text.split(":")
            edges.append((producer, int(output)))
    return edges


def ge_json(path):
    with open(path) as file:
        model = json.load(file)
    operators, outputs = [], []
    for graph in model["graph"]:
        for op in graph["op"]:
            attributes = {a["key"]: a["value"] for a in op.get("attr", [])}
            origins = attributes.get("_datadump_original_op_names")
            read = {"name": op["name"], "type": op["type"], "id": op["id"],
                    "inputs": ge_edges(op.get("input", [])), "outputs": [],
                    "origins": None if origins is None else origins["list"].get("s", [])}
            for desc in op.get("output_desc", []):
                a = {x["key"]: x["value"] for x in desc.get("attr", [])}
                out = {"dtype": dtype(desc["dtype"]), "layout": desc.get("layout", "")}
                if "shape" in desc:
                    out["shape"] = desc["shape"]["dim"]
                if "_datadump_origin_name" in a:
                    out["origin"] = a["_datadump_origin_name"]["s"]
                if "_datadump_origin_output_index" in a:
                    out["origin_output"] = a["_datadump_origin_output_index"]["i"]
                layout = a.get("_datadump_origin_format", a.get("origin_format"))
                if layout:
                    out["origin_layout"] = layout["s"]
                if "origin_shape" in a:
                    out["origin_shape"] = a["origin_shape"]["list"].get("i", [])
                read["outputs"].append(out)
            operators.append(read)
            if op["type"] == "NetOutput":
                outputs += read["inputs"]
    write(path, listing(model["name"], outputs, operators))


for path in sorted(glob.glob(os.path.join(HERE, "*.json"))):
    ge_json(path)
