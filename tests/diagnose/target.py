# SPDX-License-Identifier: Apache-2.0
"""The target of a comparison: the operators of a network fused into groups and computed in an arithmetic that
rounds, with faults where they were planted.

Everything is computed in float64 and rounded where the arithmetic says so, which gives the same bits on
every machine but for ties of the last digit.
"""
import dataclasses

import numpy as np

import networks


# ---- rounding -------------------------------------------------------------------------------------

def to_f16(x):
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float16).astype(float)


def to_f32(x):
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float32).astype(float)


def to_bits(x, bits):
    """Rounded to so many significant bits."""
    m, e = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(m, bits)), e - bits)


def to_bf16(x):
    return to_bits(to_f32(x), 8)


def on_grid(x, low, high, levels=256):
    """Rounded to an even grid from low to high, cut at its ends. The grid holds 0."""
    step = (high - low) / (levels - 1)
    return np.clip(np.rint(x / step), np.rint(low / step), np.rint(high / step)) * step


ROUND = {"float16": to_f16, "float32": to_f32, "bfloat16": to_bf16, "float64": lambda x: x}


@dataclasses.dataclass
class Arithmetic:
    name: str
    dtype: str = "float32"
    operands: object = None  # rounds what products read
    noise: float = 0.0  # relative, of each operator: another order of sums
    golden: str = "float64"  # what golden is computed in
    every_operator: bool = False  # rounds inside fused groups, too
    grid: bool = False  # each output on 8 bits
    profile: str = ""  # limits that fit

    def is_narrow(self):
        return self.dtype == "float16"


ARITHMETICS = {
    a.name: a
    for a in (
        Arithmetic("exact", golden="float32", every_operator=True),
        Arithmetic("float32", noise=2e-7),
        Arithmetic("float16", dtype="float16", operands=to_f16),
        Arithmetic("tf32", operands=lambda x: to_bits(x, 11)),
        Arithmetic("int8", dtype="float16", operands=to_f16, grid=True, profile="quantized"),
    )
}


# ---- the operators of the target ------------------------------------------------------------------

TYPES = {
    "conv": "Conv2D", "bn": "BNInference", "ln": "LayerNorm", "pool": "Pooling", "softmax": "SoftmaxV2", "sigmoid": "Sigmoid",
    "gelu": "Gelu", "fc": "MatMulV2", "matmul": "MatMulV2", "add": "Add", "mul": "Mul", "leaky": "LeakyRelu", "relu": "Relu",
    "transpose": "TransposeD", "concat": "ConcatD", "upsample": "ResizeNearestNeighborV2",
}  # fmt: skip
PATTERNS = (
    ("conv", "bn", "add", "relu"), ("conv", "bn", "relu"), ("conv", "bn", "leaky"), ("fc", "add", "relu"), ("fc", "add", "gelu"),
    ("conv", "bn"), ("conv", "relu"), ("fc", "add"), ("add", "relu"), ("bn", "relu"), ("mul", "add"),
)  # fmt: skip
PRODUCTS = ("conv", "fc", "matmul")
MOVES = ("transpose", "concat", "relu", "upsample")  # change no digit


@dataclasses.dataclass
class Part:
    """An operator of the target: one or several of the network's."""
    name: str
    ops: list
    dtype: str

    @property
    def output(self):
        return self.ops[-1].name

    @property
    def is_input(self):
        return self.ops[0].kind == "input"

    @property
    def type(self):
        if self.is_input:
            return "Data"
        first = self.ops[0]
        return "DepthwiseConv2D" if first.attrs.get("groups", 1) > 1 else TYPES[first.kind]

    def reads(self):
        mine = {op.name for op in self.ops}
        return [i for op in self.ops for i in op.inputs if i not in mine]

    def compute(self, out, ops=None, between=lambda y: y, operand=lambda x: x):
        """From the values of other operators; `ops` may stand in for its own, in another order or number."""
        mine = {op.name for op in self.ops}
        value = None
        for op in self.ops if ops is None else ops:
            xs = [value if i in mine and value is not None else out.get(i) for i in op.inputs]
            if any(x is None for x in xs):  # an operator that came first by mistake reads what its group reads
                xs = [out[self.reads()[0]] if x is None else x for x in xs]
            if op.kind in PRODUCTS:
                xs = [operand(x) for x in xs]
                op = op.with_consts(**{k: operand(v) for k, v in op.consts.items() if k == "weight"})
            value = between(networks.compute(op, *xs))
        return value


def fuse(network, arithmetic, names, rng, share):
    """The target's operators: chains that fit a pattern become one, with this probability."""
    parts, taken = [], set()
    readers = {op.name: network.consumers(op.name) for op in network.ops}
    for op in network.ops:
        if op.name in taken:
            continue
        chain = [op]
        if rng.random() < share:
            for pattern in PATTERNS:
                chain = follow(op, pattern, readers, network)
                if chain:
                    break
            else:
                chain = [op]
        taken.update(each.name for each in chain)
        name = chain[0].name if len(chain) == 1 else names.fused([each.name for each in chain], rng)
        parts.append(Part(name, chain, arithmetic.dtype))
    # A group that also reads what comes later than its first operator runs when its last one would.
    place = {op.name: i for i, op in enumerate(network.ops)}
    parts.sort(key=lambda part: place[part.output])
    if arithmetic.is_narrow() and rng.random() < 0.5:  # kept in float32
        for part in parts:
            if part.ops[0].kind in ("softmax", "sigmoid", "ln") and rng.random() < 0.7:
                part.dtype = "float32"
    return parts


def follow(op, pattern, readers, network):
    chain = [op]
    if op.kind != pattern[0]:
        return None
    for kind in pattern[1:]:
        after = readers[chain[-1].name]
        if len(after) != 1 or after[0].kind != kind or chain[-1].name in network.outputs:
            return None
        if after[0].inputs.count(chain[-1].name) != 1 or (len(after[0].inputs) > 1 and kind != "add"):
            return None
        if after[0].attrs.get("per_channel"):
            return None
        chain.append(after[0])
    return chain


@dataclasses.dataclass
class Fault:
    """What one operator of the target does otherwise."""
    part: str
    ops: list = None  # stands in for its operators
    before: object = None  # changes values before they are stored
    after: object = None  # f(values, outputs of the target so far): what is stored
    dtype: str = ""  # stored as
    feed: object = None  # of an input of the model: its values
    what: str = ""
    extra: dict = dataclasses.field(default_factory=dict)


def run(network, parts, arithmetic, golden, faults=(), noise=None, known=None):
    """Outputs of the target, by operator of the network. `noise(part, y)` disturbs every result. `known` outputs, of what
    comes before the first fault, are taken as they are."""
    faults = {fault.part: fault for fault in faults}
    operand = arithmetic.operands or to_f32
    between = ROUND[arithmetic.golden] if arithmetic.every_operator else lambda y: y
    jitter = np.random.default_rng(7)
    out = {}
    for part in parts:
        fault = faults.get(part.name)
        if known is not None and fault is None:
            out[part.output] = known[part.output]
            if arithmetic.noise and not part.is_input:
                jitter.standard_normal(out[part.output].shape)
            continue
        known = None
        dtype = fault.dtype if fault and fault.dtype else part.dtype
        if part.is_input:
            y = network.feeds[part.name] if fault is None else fault.feed
            out[part.output] = ROUND[dtype](y)
            continue
        y = part.compute(out, fault.ops if fault else None, between, operand)
        if arithmetic.noise:
            y = y * (1 + arithmetic.noise * jitter.standard_normal(y.shape))
        if noise is not None and any(op.kind not in MOVES for op in part.ops):
            y = noise(part, y)
        if fault and fault.before:
            y = fault.before(y)
        elif arithmetic.grid and part.ops[-1].kind not in ("softmax", "transpose", "concat"):
            y = quantized(y, golden[part.output])
        y = ROUND[dtype](y)
        if fault and fault.after:
            y = fault.after(y, out)
        out[part.output] = y
    return out


def quantized(y, calibrated):
    """On 8 bits, in the range that golden has."""
    low, high = min(float(calibrated.min()), 0.0), max(float(calibrated.max()), 0.0)
    return on_grid(y, low, high) if high > low else y


def relative(y, wanted):
    """Relative Euclidean error; infinite if not finite where golden is."""
    if not np.isfinite(y).all():
        return np.inf
    size = np.linalg.norm(wanted)
    return float(np.linalg.norm(y - wanted) / size) if size > 0 else float(np.linalg.norm(y - wanted) > 0)


def cosine(y, wanted):
    if not np.isfinite(y).all():
        return 0.0
    sizes = np.linalg.norm(y) * np.linalg.norm(wanted)
    return float((y * wanted).sum() / sizes) if sizes > 0 else 1.0


def own_errors(parts, out, between=lambda y: y, only=None):
    """For each operator: its output against exact arithmetic on the target's own inputs."""
    errors = {}
    for part in parts:
        if part.is_input or (only is not None and part.name not in only):
            continue
        if all(np.isfinite(out[i]).all() for i in part.reads()):
            exact = part.compute(out, between=between)
            errors[part.name] = (relative(out[part.output], exact), cosine(out[part.output], exact))
    return errors
