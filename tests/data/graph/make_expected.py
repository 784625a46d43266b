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


# The same graphs as text, through protobuf's own parser and just the fields that we want.
def message_types():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    F = descriptor_pb2.FieldDescriptorProto
    kinds = {"string": F.TYPE_STRING, "bytes": F.TYPE_BYTES, "int64": F.TYPE_INT64, "float": F.TYPE_FLOAT,
             "bool": F.TYPE_BOOL}
    schema = {
        "Shape": "r int64 dim",
        "List": "r string s; r int64 i; o Word val_type",
        "Value": "o string s; o int64 i; o float f; o bool b; o List list",
        "Attr": "o string key; o Value value",
        "Desc": "o GeType dtype; o string layout; o Shape shape; r Attr attr",
        "Op": "o string name; o string type; o int64 id; r string input; r Attr attr; r Desc output_desc",
        "Graph": "o string name; r string input; r Op op",
        "Model": "o string name; r Op op; r Graph graph",
        "Rule": "o Phase phase; r string stage",
        "InputParam": "r Shape shape",
        "Layer": "o string name; o string type; r string bottom; r string top; r Rule include; r Rule exclude; "
                 "o InputParam input_param",
        "OldLayer": "o string name; o OldType type; r string bottom; r string top",
        "Net": "o string name; r string input; r int64 input_dim; r Shape input_shape; r Layer layer; "
               "r OldLayer layers",
    }
    enums = {"Word": ["VT_LIST_NONE", "VT_LIST_STRING", "VT_LIST_INT"], "Phase": ["TRAIN", "TEST"],
             "GeType": ["DT_UNDEFINED", "DT_FLOAT", "DT_FLOAT16", "DT_INT8", "DT_INT64", "DT_BF16"],
             "OldType": ["NONE", "CONVOLUTION", "RELU", "INNER_PRODUCT", "SOFTMAX", "LRN"]}
    file = descriptor_pb2.FileDescriptorProto(name="graphs.proto", package="g", syntax="proto2")
    for name, values in enums.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, text in schema.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(text.split("; "), 1):
            label, kind, field_name = field.split()
            added = message.field.add(name=field_name, number=number,
                                      label=F.LABEL_REPEATED if label == "r" else F.LABEL_OPTIONAL)
            if kind in kinds:
                added.type = kinds[kind]
            else:
                added.type = F.TYPE_ENUM if kind in enums else F.TYPE_MESSAGE
                added.type_name = ".g." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("g." + name)) for name in schema}


TYPES = message_types()


def parse(path, kind):
    from google.protobuf import text_format
    with open(path) as file:
        return text_format.Parse(file.read(), TYPES[kind](), allow_unknown_field=True, allow_unknown_extension=True)


def ge_text(path):
    model = parse(path, "Model")
    operators, outputs = [], None
    for part, ops in [("", model.op)] + [(graph.name, graph.op) for graph in model.graph]:
        found = []
        for op in ops:
            attributes = {a.key: a.value for a in op.attr}
            origins = attributes.get("_datadump_original_op_names")
            inputs = [(producer.replace("_lxslice0", ""), output) for producer, output in ge_edges(op.input)]
            read = {"name": op.name.replace("_lxslice0", ""), "type": op.type, "inputs": inputs, "outputs": [],
                    "subgraph": part if len(model.graph) > 1 else "",
                    "origins": None if origins is None else list(origins.list.s)}
            if op.HasField("id"):
                read["id"] = op.id
            for desc in op.output_desc:
                a = {x.key: x.value for x in desc.attr}
                out = {"layout": desc.layout, "name": a["_fx_tensor_name"].s if "_fx_tensor_name" in a else ""}
                if desc.HasField("dtype"):
                    out["dtype"] = dtype(TYPES["Desc"].DESCRIPTOR.fields_by_name["dtype"].enum_type
                                         .values_by_number[desc.dtype].name)
                if desc.HasField("shape"):
                    out["shape"] = list(desc.shape.dim)
                if "_datadump_origin_name" in a:
                    out["origin"] = a["_datadump_origin_name"].s
                if "_datadump_origin_output_index" in a:
                    out["origin_output"] = a["_datadump_origin_output_index"].i
                layout = a.get("_datadump_origin_format", a.get("origin_format"))
                if layout:
                    out["origin_layout"] = layout.s
                if "origin_shape" in a:
                    out["origin_shape"] = list(a["origin_shape"].list.i)
                read["outputs"].append(out)
            operators.append(read)
            if op.type == "NetOutput":
                found += read["inputs"]
        if outputs is None and found:
            outputs = found
    write(path, listing(model.name, outputs or [], operators))


def prototxt(path):
    net = parse(path, "Net")
    old = {1: "Convolution", 2: "ReLU", 3: "InnerProduct", 4: "Softmax", 5: "LRN"}
    operators, writer, unread = [], {}, {}

    def add(name, kind, bottoms, tops, shapes):
        inputs = []
        for bottom in bottoms:
            inputs.append(writer[bottom])
            unread.pop(writer[bottom], None)
        outputs = [{"name": top, "shape": shapes[min(i, len(shapes) - 1)] if shapes else None}
                   for i, top in enumerate(tops)]
        for i, top in enumerate(tops):
            writer[top] = (name, i)
            unread[name, i] = True
        operators.append({"name": name, "type": kind, "inputs": inputs, "outputs": outputs})

    for i, name in enumerate(net.input):
        shape = list(net.input_shape[i].dim) if net.input_shape else list(net.input_dim[4 * i:4 * i + 4])
        add(name, "Input", [], [name], [shape])
    for layer in net.layer:
        def fits(rule):
            return not rule.HasField("phase") or rule.phase == 1
        if layer.include and not any(fits(rule) for rule in layer.include):
            continue
        if any(rule.HasField("phase") and rule.phase == 1 for rule in layer.exclude):
            continue
        add(layer.name, layer.type, layer.bottom, layer.top, [list(s.dim) for s in layer.input_param.shape])
    for layer in net.layers:
        add(layer.name, old[layer.type], layer.bottom, layer.top, [])
    write(path, listing(net.name, list(unread), operators))


def onnx_model(path, expected=None):
    import onnx
    model = onnx.load(path, load_external_data=False)
    operators = []
    codes = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
             10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
             16: "bfloat16"}

    def read_graph(graph, outer, subgraph):
        types = {}
        for info in list(graph.input) + list(graph.output) + list(graph.value_info):
            kind = info.type.tensor_type
            shape = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim] \
                if kind.HasField("shape") else None
            types.setdefault(info.name, {"dtype": codes.get(kind.elem_type, "-"), "shape": shape})
        scope = dict(outer)
        scope.update({tensor.name: None for tensor in graph.initializer})
        constants = {tensor.name for tensor in graph.initializer}

        def outputs_of(name, tensors):
            for i, tensor in enumerate(tensors):
                if tensor:
                    scope[tensor] = (name, i)
            return [dict(types.get(tensor, {}), name=tensor) for tensor in tensors]

        own = []
        for info in graph.input:
            if info.name not in constants:
                own.append(({"name": info.name, "type": "Data", "subgraph": subgraph,
                             "outputs": outputs_of(info.name, [info.name])}, [], None))
        for node in graph.node:
            name = node.name or next(output for output in node.output if output)
            own.append(({"name": name, "type": node.op_type, "subgraph": subgraph,
                         "outputs": outputs_of(name, node.output)}, node.input, node))
        for op, inputs, _ in own:
            op["inputs"] = [scope[name] for name in inputs if name and scope[name] is not None]
            operators.append(op)
        for op, _, node in own:
            for attribute in (node.attribute if node else []):
                bodies = list(attribute.graphs) + ([attribute.g] if attribute.HasField("g") else [])
                for body in bodies:
                    read_graph(body, scope, (subgraph + "/" if subgraph else "") + op["name"] + "." + attribute.name)
        return scope

    scope = read_graph(model.graph, {}, "")
    outputs = [scope[output.name] for output in model.graph.output if scope[output.name] is not None]
    write(expected or path, listing(model.graph.name, outputs, operators))


if __name__ == "__main__":
    import sys
    if len(sys.argv) == 3:  # the models below one folder, which are too large to be kept here, into another
        for path in glob.glob(os.path.join(sys.argv[1], "**", "*.onnx"), recursive=True):
            onnx_model(path, os.path.join(sys.argv[2], os.path.relpath(path, sys.argv[1]).replace("/", "+")))
        sys.exit()
    for pattern, read in (("*.json", ge_json), ("*.txt", ge_text), ("*.prototxt", prototxt), ("*.onnx", onnx_model)):
        for path in sorted(glob.glob(os.path.join(HERE, pattern))):
            read(path)
