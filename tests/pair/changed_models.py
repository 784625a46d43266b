# SPDX-License-Identifier: Apache-2.0
"""Networks, what tools and mistakes make of them, and which tensors then belong together.

`network(seed)` makes a small one of blocks as real networks have them; `loaded(path)` takes a real one.
`CHANGES` are what may happen to one operator, `fold` is what a converter does to all. A changed network
knows the truth: for each of its tensors the one of the original that it is, by name. `renamed` hides it.
"""
import copy
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

UNARY = ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Softplus", "HardSigmoid", "Abs", "Neg"]
BINARY = ["Add", "Mul", "Sub", "Max", "Min"]
POOLS = ["MaxPool", "AveragePool"]
# Of these the output has the shape of the first input.
KEEPS_SHAPE = set(UNARY) | {"BatchNormalization", "Softmax", "Clip", "Erf", "Sqrt", "HardSwish", "LayerNormalization"}


class Network:
    """A graph, its weights, and of each tensor which of the original it is (none: of no one)."""

    def __init__(self, graph, opsets, truth=None):
        self.graph, self.opsets = graph, opsets
        self.truth = truth if truth is not None else {name: name for node in graph.node for name in node.output if name}
        self.free = set()  # tensors of the original of which nobody can say what becomes of them

    def copy(self):
        other = Network(copy.deepcopy(self.graph), self.opsets, dict(self.truth))
        other.free = set(self.free)
        return other

    def save(self, path):
        model = helper.make_model(self.graph, opset_imports=self.opsets, ir_version=7)
        onnx.save(model, str(path))

    def constants(self):
        names = {weight.name for weight in self.graph.initializer}
        return names | {node.output[0] for node in self.graph.node if node.op_type == "Constant"}

    def data_inputs(self, node):
        constants = self.constants()
        return [name for name in node.input if name and name not in constants]

    def readers(self, tensor):
        return [node for node in self.graph.node if tensor in node.input]

    def redirect(self, old, new, but=()):
        """Whoever reads one tensor reads the other."""
        for node in self.graph.node:
            if not any(node is each for each in but):
                for i, name in enumerate(node.input):
                    if name == old:
                        node.input[i] = new

    def outputs(self):
        return {value.name for value in self.graph.output}


def loaded(path):
    model = onnx.load(str(path))
    graph = model.graph
    for i, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{i}"
    return Network(graph, list(model.opset_import))


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def add(self, kind, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"{kind.lower()}{number}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{number}", **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def noise(self, *shape, scale=0.3):
        return self.weight((self.numbers.standard_normal(shape) * scale).astype(numpy.float32))

    def conv(self, x, channels, width, kernel=3, group=1, norm=True, activation=True):
        y = self.add("Conv", x, self.noise(width, channels // group, kernel, kernel), self.noise(width),
                     pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2, group=group)  # fmt: skip
        if norm:
            y = self.norm(y, width)
        if activation:
            y = self.activation(y)
        return y

    def norm(self, x, width):
        scale = self.weight((1 + 0.2 * self.numbers.standard_normal(width)).astype(numpy.float32))
        variance = self.weight((0.5 + self.numbers.random(width)).astype(numpy.float32))
        return self.add("BatchNormalization", x, scale, self.noise(width), self.noise(width), variance)

    def activation(self, x):
        kind = self.random.choice(["Relu", "Relu", "Relu", "LeakyRelu", "Sigmoid", "Silu"])
        if kind == "Silu":
            return self.add("Mul", x, self.add("Sigmoid", x))
        return self.add(kind, x)

    # Blocks: from a tensor of [1, c, 8, 8] to another, with its channels.

    def plain(self, x, c):
        width = self.random.choice([4, 8])
        return self.conv(x, c, width, norm=self.random.random() < 0.6), width

    def residual(self, x, c):
        inner = self.conv(x, c, c, norm=self.random.random() < 0.6)
        inner = self.conv(inner, c, c, norm=self.random.random() < 0.6, activation=False)
        return self.add("Relu", self.add("Add", inner, x)), c

    def inverted(self, x, c):
        y = self.conv(x, c, 2 * c, kernel=1)
        y = self.conv(y, 2 * c, 2 * c, group=2 * c)
        y = self.conv(y, 2 * c, c, kernel=1, activation=False)
        return self.add("Add", x, y), c

    def fire(self, x, c):
        narrow = self.conv(x, c, 4, kernel=1, norm=False)
        one = self.conv(narrow, 4, 4, kernel=1, norm=False)
        three = self.conv(narrow, 4, 4, norm=False)
        return self.add("Concat", one, three, axis=1), 8

    def gate(self, x, c):
        pooled = self.add("GlobalAveragePool", x)
        pooled = self.add("Relu", self.conv(pooled, c, 4, kernel=1, norm=False, activation=False))
        pooled = self.add("HardSigmoid", self.conv(pooled, 4, c, kernel=1, norm=False, activation=False))
        return self.add("Mul", x, pooled), c

    def pool(self, x, c):
        return self.add(self.random.choice(POOLS), x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), c

    def attention(self, x, c):
        """Over pixels, with the sizes computed as exporters do, and a normalisation spelled out."""
        sizes = self.add("Shape", x)
        first = self.add("Gather", sizes, self.weight(numpy.array([0, 1])), axis=0)
        wanted = self.add("Concat", first, self.weight(numpy.array([-1])), axis=0)
        tokens = self.add("Transpose", self.add("Reshape", x, wanted), perm=[0, 2, 1])
        centred = self.add("Sub", tokens, self.add("ReduceMean", tokens, axes=[-1]))
        squares = self.add("Pow", centred, self.weight(numpy.array(2, numpy.float32)))
        variance = self.add("Add", self.add("ReduceMean", squares, axes=[-1]), self.weight(numpy.array(1e-5, numpy.float32)))
        normed = self.add("Div", centred, self.add("Sqrt", variance))
        normed = self.add("Add", self.add("Mul", normed, self.noise(c)), self.noise(c))
        q, k, v = (self.add("Add", self.add("MatMul", normed, self.noise(c, c)), self.noise(c)) for _ in range(3))
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 2, 1]))
        scores = self.add("Softmax", self.add("Mul", scores, self.weight(numpy.array(0.35, numpy.float32))), axis=-1)
        mixed = self.add("Add", self.add("MatMul", self.add("MatMul", scores, v), self.noise(c, c)), tokens)
        back = self.add("Transpose", mixed, perm=[0, 2, 1])
        return self.add("Reshape", back, sizes), c


def network(seed, blocks=None):
    maker = Maker(seed)
    x, channels = "x", 3
    x, channels = maker.conv(x, channels, 8), 8
    kinds = ["plain", "residual", "inverted", "fire", "gate", "pool", "attention"]
    for _ in range(blocks or maker.random.randint(4, 8)):
        x, channels = getattr(maker, maker.random.choice(kinds))(x, channels)
    outputs = []
    for classes in [5] if maker.random.random() < 0.6 else [5, 3]:
        y = maker.add("Flatten", maker.add("GlobalAveragePool", x), axis=1)
        y = maker.add("Gemm", y, maker.noise(classes, channels), maker.noise(classes), transB=1)
        outputs.append(maker.add("Softmax", y, axis=-1))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
    graph = helper.make_graph(maker.nodes, "generated", inputs, values, maker.weights)
    return Network(graph, [helper.make_opsetid("", 12)])


# ---- one operator changed: each gives the changed network and what it did, or nothing if nothing fits


def places(net, fits, rng):
    found = [node for node in net.graph.node if fits(node)]
    rng.shuffle(found)
    return found


def chain(net, node):
    """Tensors of operators next to one of the same kind: which of them was removed nobody can tell."""
    near = set()
    todo = [node]
    while todo:
        at = todo.pop()
        for other in net.graph.node:
            touches = at.output[0] in other.input or any(name in at.input for name in other.output)
            if touches and other.op_type == node.op_type and other.output[0] not in near and other is not node:
                near.add(other.output[0])
                todo.append(other)
    return near


def exchange(net, rng):
    def fits(node):
        return any(node.op_type in kinds for kinds in (UNARY, BINARY, POOLS)) and len(node.output) == 1

    for node in places(net, fits, rng):
        kinds = next(kinds for kinds in (UNARY, BINARY, POOLS) if node.op_type in kinds)
        net.free.add(node.output[0])
        others = [kind for kind in kinds if kind != node.op_type]
        if node.op_type in POOLS and any(a.name in ("dilations", "storage_order", "ceil_mode") for a in node.attribute):
            continue
        before = node.op_type
        node.op_type = rng.choice(others)
        if kinds is UNARY:
            del node.attribute[:]
        if kinds is POOLS:
            for attribute in [a for a in node.attribute if a.name == "count_include_pad"]:
                node.attribute.remove(attribute)
        return f"{before} {node.name} became {node.op_type}"
    return None


def remove(net, rng):
    def fits(node):
        return node.op_type in KEEPS_SHAPE and node.output[0] not in net.outputs() and len(net.data_inputs(node)) == 1

    for node in places(net, fits, rng):
        net.free |= chain(net, node) | {node.output[0]}
        # Who read it reads what it read; a sigmoid beside its input stays in doubt.
        net.redirect(node.output[0], node.input[0])
        del net.truth[node.output[0]]
        net.graph.node.remove(node)
        return f"{node.op_type} {node.name} was removed"
    return None


def duplicate(net, rng):
    def fits(node):
        return node.op_type in KEEPS_SHAPE and node.output[0] not in net.outputs() and len(net.data_inputs(node)) == 1

    for node in places(net, fits, rng):
        net.free |= chain(net, node) | {node.output[0]}
        twin = copy.deepcopy(node)
        twin.name, twin.output[0] = node.name + "_twin", node.output[0] + "_twin"
        net.redirect(node.output[0], twin.output[0])
        twin.input[0] = node.output[0]
        net.graph.node.insert(list(net.graph.node).index(node) + 1, twin)
        return f"{node.op_type} {node.name} was duplicated"
    return None


def quantizing(net, tensor):
    """Nodes that round a tensor to integers and back, as "inserted"."""
    numbers = ((128, numpy.uint8, "inserted_zero"), (0.05, numpy.float32, "inserted_scale"))
    net.graph.initializer.extend(numpy_helper.from_array(numpy.array(v, kind), name) for v, kind, name in numbers)
    how = ["inserted_scale", "inserted_zero"]
    return [helper.make_node("QuantizeLinear", [tensor, *how], ["inserted_q"], name="inserted_q"),
            helper.make_node("DequantizeLinear", ["inserted_q", *how], ["inserted"], name="inserted")]  # fmt: skip


def quantize_before(net, node):
    place = list(net.graph.node).index(node)
    for offset, each in enumerate(quantizing(net, node.input[0])):
        net.graph.node.insert(place + offset, each)
    net.graph.node[place + 2].input[0] = "inserted"


def insert(net, rng):
    constants = net.constants()
    shapes = from_shapes(net)

    def fits(node):
        return node.output[0] not in constants | shapes | net.outputs() and len(node.output) == 1 and net.readers(node.output[0])

    for node in places(net, fits, rng):
        quantizes = any(opset.domain in ("", "ai.onnx") and opset.version >= 10 for opset in net.opsets)
        kind = rng.choice([*UNARY, "Identity", *(["QuantizeLinear"] if quantizes else [])])
        place = list(net.graph.node).index(node) + 1
        old = node.output[0]
        if kind == "QuantizeLinear":
            net.redirect(old, "inserted")
            nodes = quantizing(net, old)
        else:
            net.redirect(old, "inserted")
            nodes = [helper.make_node(kind, [old], ["inserted"], name="inserted")]
        for offset, each in enumerate(nodes):
            net.graph.node.insert(place + offset, each)
        net.free |= chain(net, nodes[-1])
        return f"{kind} was inserted behind {node.name}"
    return None


def from_shapes(net):
    """Tensors that shapes and constants alone decide."""
    known = net.constants()
    found = set()
    for node in net.graph.node:
        if node.op_type == "Shape" or (node.input and all(name in known for name in node.input if name)):
            found |= set(node.output)
            known |= set(node.output)
    return found


CHANGES = {"exchanged": exchange, "removed": remove, "duplicated": duplicate, "inserted": insert}


def fold(net):
    """Every normalisation behind a convolution that nobody else reads becomes weights of it."""
    weights = {weight.name: numpy_helper.to_array(weight) for weight in net.graph.initializer}
    for norm in [node for node in net.graph.node if node.op_type == "BatchNormalization"]:
        before = [node for node in net.graph.node if norm.input[0] in node.output and node.op_type == "Conv"]
        if not before or len(net.readers(norm.input[0])) != 1 or before[0].input[1] not in weights:
            continue
        conv = before[0]
        scale, shift, mean, variance = (weights[name].astype(numpy.float64) for name in norm.input[1:5])
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        factor = scale / numpy.sqrt(variance + epsilon)
        kernel = weights[conv.input[1]].astype(numpy.float64) * factor[:, None, None, None]
        bias = weights[conv.input[2]].astype(numpy.float64) if len(conv.input) > 2 else 0
        bias = (bias - mean) * factor + shift
        name = conv.output[0]
        for values, ending in ((kernel, "_k"), (bias, "_b")):
            net.graph.initializer.append(numpy_helper.from_array(values.astype(numpy.float32), name + ending))
        del conv.input[1:]
        conv.input.extend([name + "_k", name + "_b"])
        del net.truth[name]
        conv.output[0] = norm.output[0]
        net.graph.node.remove(norm)
    return net


def renamed(net, rng, shuffled=False):
    """Other names for everything, in another order. Shuffled: the same names, of other tensors."""
    graph = net.graph
    sources = {value.name for value in graph.input}
    if shuffled:  # whoever runs a model goes by the names of what it gives
        sources |= net.outputs()
    tensors = [name for node in graph.node for name in node.output if name and name not in sources]
    fresh = [f"t{rng.randrange(10**9)}_{i}" for i in range(len(tensors))]
    if shuffled:
        fresh = tensors[:]
        rng.shuffle(fresh)
    names = dict(zip(tensors, fresh))
    weights = {weight.name: f"c{i}" for i, weight in enumerate(graph.initializer)}
    for node in graph.node:
        for names_of in (node.input, node.output):
            for i, name in enumerate(names_of):
                names_of[i] = names.get(name, weights.get(name, name))
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    for weight in graph.initializer:
        weight.name = weights[weight.name]
    for value in graph.input:  # weights that may be replaced
        value.name = weights.get(value.name, value.name)
    del graph.value_info[:]
    operators = [node.name for node in graph.node]
    rng.shuffle(operators)
    for i, node in enumerate(graph.node):
        node.name = operators[i] if shuffled else f"n{rng.randrange(10**9)}_{i}"
    net.truth = {names.get(own, own): original for own, original in net.truth.items()}
    sort_anew(graph, rng)
    return net


def sort_anew(graph, rng):
    """The nodes in any order in which they can run."""
    waiting = list(graph.node)
    rng.shuffle(waiting)
    made = {value.name for value in graph.input} | {weight.name for weight in graph.initializer} | {""}
    ordered = []
    while waiting:
        ready = [node for node in waiting if all(name in made for name in node.input)]
        if not ready:
            raise ValueError("the nodes cannot be ordered")
        for node in ready:
            made |= set(node.output)
        ordered += ready
        waiting = [node for node in waiting if not any(node is each for each in ready)]
    del graph.node[:]
    graph.node.extend(ordered)
