# SPDX-License-Identifier: Apache-2.0
"""Small random networks, and what their operators compute, in float64.

A network is a list of operators in order of execution; its inputs are operators without inputs. Weights are
scaled as the network is built, so that activations stay near 1 however deep it is. Nothing here rounds:
arithmetic.py does.
"""
import dataclasses
import math

import numpy as np


@dataclasses.dataclass
class Op:
    name: str
    kind: str
    inputs: list
    consts: dict = dataclasses.field(default_factory=dict)
    attrs: dict = dataclasses.field(default_factory=dict)

    def changed(self, **attrs):
        """A copy with other attributes."""
        return dataclasses.replace(self, attrs={**self.attrs, **attrs})

    def with_consts(self, **consts):
        return dataclasses.replace(self, consts={**self.consts, **consts})


# ---- operators ------------------------------------------------------------------------------------

def windows(x, size, stride, pads, mode="constant", value=0.0, phase=0):
    top, left, bottom, right = pads
    wide = ((0, 0), (0, 0), (top, bottom), (left, right))
    x = np.pad(x, wide, mode, constant_values=value) if mode == "constant" else np.pad(x, wide, mode)
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis=(2, 3))
    return view[:, :, phase::stride, phase::stride]


def conv(op, x):
    w, a = op.consts["weight"], op.attrs
    if a.get("flipped"):
        w = w[:, :, ::-1, ::-1]
    groups = a.get("groups", 1)
    seen = windows(x, w.shape[2:], a.get("stride", 1), a["pads"], a.get("mode", "constant"), phase=a.get("phase", 0))
    size, many = x.shape[1] // groups, w.shape[0] // groups
    parts = [
        np.einsum("nchwij,ocij->nohw", seen[:, g * size : (g + 1) * size], w[g * many : (g + 1) * many])
        for g in range(groups)
    ]
    y = np.concatenate(parts, axis=1)
    return y + op.consts["bias"].reshape(1, -1, 1, 1) if "bias" in op.consts else y


def batch_norm(op, x):
    c = {name: value.reshape((1, -1) + (1,) * (x.ndim - 2)) for name, value in op.consts.items()}
    return (x - c["mean"]) / np.sqrt(c["variance"] + op.attrs["epsilon"]) * c["gamma"] + c["beta"]


def layer_norm(op, x):
    axis = op.attrs.get("axis", -1)
    d = x - x.mean(axis, keepdims=True)
    n = x.shape[axis]
    variance = (d * d).sum(axis, keepdims=True) / (n - op.attrs.get("less", 0))
    return d / np.sqrt(variance + op.attrs["epsilon"]) * op.consts["gamma"] + op.consts["beta"]


def pool(op, x):
    a = op.attrs
    if a["way"] == "global":
        return x.mean((2, 3))
    size, stride, pads = a["size"], a["stride"], a.get("pads", (0, 0, 0, 0))
    phase = a.get("phase", 0)
    if a["way"] == "max":
        return windows(x, (size, size), stride, pads, value=-np.inf, phase=phase).max((4, 5))
    total = windows(x, (size, size), stride, pads, phase=phase).sum((4, 5))
    if a.get("counts_padding"):
        return total / size**2
    return total / windows(np.ones_like(x), (size, size), stride, pads, phase=phase).sum((4, 5))


def softmax(op, x):
    axis = op.attrs.get("axis", -1)
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ERF = np.vectorize(math.erf, otypes=[float])


def gelu(op, x):
    way = op.attrs.get("way", "erf")
    if way == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * sigmoid(1.702 * x) if way == "sigmoid" else 0.5 * x * (1 + ERF(x / math.sqrt(2)))


def gate(op, x):
    return np.clip(0.2 * x + 0.5, 0, 1) if op.attrs.get("way") == "hard" else sigmoid(x)


def matmul(op, a, b=None):
    if b is not None:
        return a @ b
    w = op.consts["weight"]
    a = a.reshape(a.shape[0], -1) if op.attrs.get("flat") else a
    y = a @ (w.T if op.attrs.get("transposed") else w)
    return y + op.consts["bias"] if "bias" in op.consts else y


def combine(op, a, b=None):
    b = op.consts["value"] if b is None else b
    b = b.reshape(b.shape + (1,) * (a.ndim - b.ndim)) if op.attrs.get("per_channel") else b
    if op.attrs.get("order"):
        b = b[:, ::-1]
    return a * b if op.kind == "mul" else a + op.attrs.get("sign", 1) * b


def leaky(op, x):
    return np.where(x > 0, x, op.attrs["alpha"] * x)


def upsample(op, x):
    big = x.repeat(2, 2).repeat(2, 3)
    return np.roll(big, op.attrs["shift"], (2, 3)) if op.attrs.get("shift") else big


FUNCTIONS = {
    "conv": conv, "bn": batch_norm, "ln": layer_norm, "pool": pool, "softmax": softmax, "sigmoid": gate, "gelu": gelu,
    "fc": matmul, "matmul": matmul, "add": combine, "mul": combine, "leaky": leaky, "upsample": upsample,
    "relu": lambda op, x: np.maximum(x, 0),
    "transpose": lambda op, x: x.transpose(op.attrs["perm"]),
    "concat": lambda op, *xs: np.concatenate(xs[::-1] if op.attrs.get("reversed") else xs, axis=1),
}  # fmt: skip


def compute(op, *xs):
    with np.errstate(all="ignore"):
        return FUNCTIONS[op.kind](op, *xs)


# ---- networks -------------------------------------------------------------------------------------

@dataclasses.dataclass
class Network:
    ops: list
    feeds: dict  # input operator -> its values
    outputs: list

    def op(self, name):
        return next(op for op in self.ops if op.name == name)

    def consumers(self, name):
        return [op for op in self.ops if name in op.inputs]

    def values(self, feeds=None, rounded=lambda y: y):
        out = {}
        for op in self.ops:
            y = (feeds or self.feeds)[op.name] if op.kind == "input" else compute(op, *(out[i] for i in op.inputs))
            out[op.name] = rounded(y)
        return out

    def insert_after(self, name, op):
        """Every reader of `name` reads `op` instead, which reads `name`."""
        place = next(i for i, each in enumerate(self.ops) if each.name == name)
        for each in self.ops:
            each.inputs = [op.name if i == name else i for i in each.inputs]
        op.inputs = [name]
        self.ops.insert(place + 1, op)
        self.outputs = [op.name if o == name else o for o in self.outputs]


class Builder:
    def __init__(self, rng, names):
        self.rng, self.names = rng, names
        self.ops, self.feeds, self.out = [], {}, {}

    def input(self, shape, mean=0.0):
        name = self.names.input(len(self.feeds))
        self.feeds[name] = self.rng.normal(mean, 1, shape)
        self.ops.append(Op(name, "input", []))
        self.out[name] = self.feeds[name]
        return name

    def add(self, kind, inputs, consts=None, **attrs):
        op = Op(self.names.next(kind), kind, list(inputs), consts or {}, attrs)
        y = compute(op, *(self.out[i] for i in op.inputs))
        if "weight" in op.consts:  # outputs near 1, whatever came in
            k = 1 / max(float(np.std(y)), 1e-6)
            op.consts["weight"] = op.consts["weight"] * k
            y = compute(op, *(self.out[i] for i in op.inputs))
        self.ops.append(op)
        self.out[op.name] = y
        return op.name

    def shape(self, x):
        return self.out[x].shape

    def conv(self, x, many=None, size=3, stride=1, groups=1, bias=None):
        channels = self.shape(x)[1]
        many = many or channels
        consts = {"weight": self.rng.normal(0, 1, (many, channels // groups, size, size))}
        if self.rng.random() < 0.4 if bias is None else bias:
            consts["bias"] = self.rng.normal(0, 0.3, many)
        p = size // 2
        return self.add("conv", [x], consts, pads=(p, p, p, p), stride=stride, groups=groups)

    def bn(self, x):
        y = self.out[x]
        axes = (0,) + tuple(range(2, y.ndim))
        n = y.shape[1]
        consts = {
            "mean": y.mean(axes) + self.rng.normal(0, 0.2, n), "variance": y.var(axes) * self.rng.uniform(0.6, 1.6, n) + 1e-3,
            "gamma": self.rng.uniform(0.6, 1.5, n), "beta": self.rng.normal(0, 0.4, n),
        }  # fmt: skip
        return self.add("bn", [x], consts, epsilon=1e-5)

    def fc(self, x, many, bias=False, flat=False):
        rows = int(np.prod(self.shape(x)[1:])) if flat else self.shape(x)[-1]
        y = self.add("fc", [x], {"weight": self.rng.normal(0, 1, (rows, many))}, flat=flat)
        return self.add("add", [y], {"value": self.rng.normal(0, 0.4, many)}) if bias else y

    def ln(self, x):
        n = self.shape(x)[-1]
        consts = {"gamma": self.rng.uniform(0.6, 1.5, n), "beta": self.rng.normal(0, 0.3, n)}
        return self.add("ln", [x], consts, epsilon=1e-5)

    def relu(self, x):
        return self.add("relu", [x])

    def active(self, x):
        draw = self.rng.random()
        if draw < 0.6:
            return self.relu(x)
        if draw < 0.75:
            return self.add("leaky", [x], alpha=0.1)
        return self.add("mul", [x, self.add("sigmoid", [x])])

    def per_channel(self, x, values):
        shape = [1] * len(self.shape(x))
        shape[1 if len(shape) == 4 else -1] = -1
        return np.asarray(values, float).reshape(shape)

    def there_and_back(self, x):
        """What is normal and no fault: values scaled up and down again, offsets added and removed."""
        n = self.shape(x)[1 if len(self.shape(x)) == 4 else -1]
        draw = self.rng.random()
        if draw < 0.35:
            k = float(2.0 ** self.rng.integers(3, 10))
            x = self.add("mul", [x], {"value": self.per_channel(x, np.full(n, k))})
            return self.add("mul", [x], {"value": self.per_channel(x, np.full(n, 1 / k))})
        if draw < 0.7:
            c = self.rng.uniform(2, 12) * self.rng.choice([-1, 1])
            x = self.add("add", [x], {"value": self.per_channel(x, np.full(n, c))})
            return self.add("add", [x], {"value": self.per_channel(x, np.full(n, -c))})
        x = self.add("mul", [x], {"value": self.per_channel(x, self.rng.uniform(0.5, 2, n))})
        return self.add("add", [x], {"value": self.per_channel(x, self.rng.normal(0, 0.5, n))})

    # blocks of pictures

    def residual(self, x):
        y = self.relu(self.bn(self.conv(x)))
        y = self.add("add", [x, self.bn(self.conv(y))])
        return self.relu(y)

    def separable(self, x):
        y = self.active(self.bn(self.conv(x, groups=self.shape(x)[1])))
        return self.bn(self.conv(y, int(self.rng.integers(4, 9)), size=1))

    def branches(self, x):
        a = self.relu(self.conv(x, int(self.rng.integers(3, 6))))
        b = self.relu(self.bn(self.conv(x, int(self.rng.integers(3, 6)), size=1)))
        return self.add("concat", [a, b])

    def squeeze(self, x):
        n = self.shape(x)[1]
        y = self.add("pool", [x], way="global")
        y = self.fc(self.relu(self.fc(y, n, bias=self.rng.random() < 0.5)), n)
        return self.add("mul", [x, self.add("sigmoid", [y])], per_channel=True)

    def normed(self, x):
        y = self.ln(self.add("transpose", [x], perm=(0, 2, 3, 1)))
        return self.add("transpose", [y], perm=(0, 3, 1, 2))

    def shrink(self, x):
        if min(self.shape(x)[2:]) < 6:
            return self.relu(self.conv(x))
        if self.rng.random() < 0.5:
            return self.add("pool", [x], way="max", size=2, stride=2)
        return self.add("pool", [x], way="average", size=3, stride=2, pads=(1, 1, 1, 1))

    def picture_block(self, x):
        blocks = [self.residual, self.residual, self.separable, self.branches, self.squeeze, self.normed,
                  self.there_and_back, lambda x: self.active(self.bn(self.conv(x, int(self.rng.integers(4, 8)))))]  # fmt: skip
        if self.shape(x)[2] > 6 and self.rng.random() < 0.12:
            return self.shrink(x)
        return blocks[self.rng.integers(len(blocks))](x)

    # blocks of sequences

    def attention(self, x):
        n, bias = self.shape(x)[-1], self.rng.random() < 0.6
        y = self.ln(x)
        q, k, v = (self.fc(y, n, bias) for _ in range(3))
        s = self.add("matmul", [q, self.add("transpose", [k], perm=(1, 0))])
        s = self.add("mul", [s], {"value": np.array([[n**-0.5]])})
        y = self.add("matmul", [self.add("softmax", [s]), v])
        return self.add("add", [x, self.fc(y, n, bias)])

    def feed_forward(self, x):
        n = self.shape(x)[-1]
        y = self.fc(self.ln(x), 2 * n, bias=True)
        y = self.add("gelu", [y]) if self.rng.random() < 0.5 else self.relu(y)
        return self.add("add", [x, self.fc(y, n)])

    def dense(self, x):
        y = self.active(self.fc(x, int(self.rng.integers(12, 40)), bias=True))
        return self.there_and_back(y) if self.rng.random() < 0.2 else y

    def finish(self, outputs):
        return Network(self.ops, self.feeds, outputs)


def picture_trunk(b, x, count):
    x = b.relu(b.bn(b.conv(x, int(b.rng.integers(4, 8)))))
    start = len(b.ops)
    while len(b.ops) - start < count:
        x = b.picture_block(x)
    return x


def picture_heads(b, x):
    heads = []
    if b.rng.random() < 0.7:
        y = b.fc(x, int(b.rng.integers(10, 30)), flat=True, bias=b.rng.random() < 0.5)
        heads.append(b.add("softmax", [y]) if b.rng.random() < 0.5 else y)
    if not heads or b.rng.random() < 0.4:
        y = b.conv(x, int(b.rng.integers(2, 5)), size=1)
        heads.append(b.add("sigmoid", [y]) if b.rng.random() < 0.4 else y)
    return heads


def cnn(rng, names, count):
    b = Builder(rng, names)
    side = int(rng.choice([8, 8, 10, 12]))
    x = picture_trunk(b, b.input((1, 3, side, side)), count - 7)
    return b.finish(picture_heads(b, x))


def transformer(rng, names, count):
    b = Builder(rng, names)
    n = int(rng.choice([16, 24, 32]))
    x = b.fc(b.input((int(rng.integers(7, 13)), n)), n, bias=True)
    while len(b.ops) < count - 6:
        x = b.attention(x)
        if rng.random() < 0.25:
            x = b.there_and_back(x)
        x = b.feed_forward(x)
    x = b.ln(x)
    heads = [b.fc(x, 14, bias=True)]
    if rng.random() < 0.4:
        heads.append(b.add("sigmoid", [b.fc(x, 6)]))
    return b.finish(heads)


def mlp(rng, names, count):
    b = Builder(rng, names)
    x = b.input((16, 24))
    while len(b.ops) < count - 3:
        x = b.dense(x)
    return b.finish([b.fc(x, 10, bias=True)])


def branched(rng, names, count):
    """Two trunks that meet late or never."""
    b = Builder(rng, names)
    first = picture_trunk(b, b.input((1, 3, 8, 8)), count // 2 - 6)
    other = picture_trunk(b, b.input((1, 3, 8, 8)), count // 2 - 6)
    if rng.random() < 0.5 and b.shape(first)[2:] == b.shape(other)[2:]:
        x = b.active(b.bn(b.conv(b.add("concat", [first, other]), 5)))
        return b.finish(picture_heads(b, x))
    return b.finish([b.fc(first, 12, flat=True, bias=True), b.conv(other, 3, size=1)])


FAMILIES = {"cnn": cnn, "transformer": transformer, "mlp": mlp, "branched": branched}


# ---- names ----------------------------------------------------------------------------------------

class Names:
    """Operator names as the frameworks give them. `fused` names the operator made of several."""
    WORDS = {
        "conv": ("conv", "Conv", "Conv2D", "卷积"), "bn": ("bn", "BatchNorm", "BatchNorm", "归一"),
        "ln": ("ln", "LayerNorm", "LayerNorm", "层归一"), "pool": ("pool", "Pool", "MaxPool", "池化"),
        "softmax": ("prob", "Softmax", "Softmax", "概率"), "sigmoid": ("sigmoid", "Sigmoid", "Sigmoid", "门"),
        "gelu": ("gelu", "Gelu", "Gelu", "激活"), "fc": ("fc", "MatMul", "MatMul", "全连接"),
        "matmul": ("matmul", "MatMul", "BatchMatMul", "矩阵乘"), "add": ("add", "Add", "Add", "加"),
        "mul": ("scale", "Mul", "Mul", "乘"), "leaky": ("leaky", "LeakyRelu", "LeakyRelu", "漏激活"),
        "relu": ("relu", "Relu", "Relu", "激活"), "transpose": ("permute", "Transpose", "Transpose", "转置"),
        "concat": ("concat", "Concat", "concat", "拼接"), "upsample": ("up", "Resize", "Resize", "放大"),
    }  # fmt: skip

    def __init__(self, style):
        self.style, self.count, self.kinds = style, 0, {}

    def input(self, number):
        name = {"caffe": "data", "onnx": "input", "tf": "data", "torch": "x", "chinese": "输入"}[self.style]
        return name if number == 0 else f"{name}_{'b' * number}"

    def next(self, kind):
        caffe, onnx, tf, chinese = self.WORDS[kind]
        place, self.count = self.count, self.count + 1
        number = self.kinds[caffe] = self.kinds.get(caffe, 0) + 1
        block = place // 6
        return {
            "caffe": f"{caffe}{number}", "onnx": f"{onnx}_{place}", "tf": f"net/block{block + 1}/{caffe}_{number}/{tf}",
            "torch": f"layer{block}.{place % 6}.{caffe}", "chinese": f"网络/块{block + 1}/{chinese}_{place}",
        }[self.style]  # fmt: skip

    def fused(self, originals, rng):
        if self.style == "caffe":
            return "".join(originals)
        if self.style == "onnx":
            return "_".join(originals) if rng.random() < 0.8 else originals[0]
        if self.style == "torch":
            return originals[0] + "".join("_" + o.rsplit(".", 1)[1] for o in originals[1:])
        return originals[0]


STYLES = ("caffe", "onnx", "tf", "torch", "chinese")
