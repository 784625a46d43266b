# SPDX-License-Identifier: Apache-2.0
"""Families of packed numbers, of attention heads, and of indexed dumps of several steps: int4 tensors of a device and of ONNX,
blocks of a cache that one head lost, `dump.json` with several calls and steps of one operator.
"""
import itertools
import json

import numpy as np

from containers import tensor_record
from makers import File, ascend, bf16, f16, f32, field, i8, i32, pair, timed, varint

INT4 = 28  # of the device's types
ONNX_INT4 = 22


def nibbles(x):
    """Two in a byte, the first one in the low half."""
    flat = np.append(x.reshape(-1), np.zeros(x.size % 2, i8)).astype(i8) & 15
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8)


def device_int4(x, _):
    packed = nibbles(x)
    dims = lambda shape: field(1, b"".join(varint(d) for d in shape))
    record = field(1, INT4) + field(2, 2) + field(3, dims(x.shape)) + field(6, packed.nbytes) + field(7, dims(x.shape))
    header = field(1, b"2.0") + field(2, 1700000000000001) + field(3, record) + field(6, b"w")
    return {timed("Relu.w.3.7.1"): File("", len(header).to_bytes(8, "little") + header + packed.tobytes())}


def onnx_int4(x, _):
    """A TensorProto of raw data."""
    message = b"".join(field(1, d) for d in x.shape) + field(2, ONNX_INT4) + field(9, nibbles(x).tobytes())
    return {"w": File("pb", message)}


WEIGHTS = {"even": (16, 24), "odd": (7, 9), "one": (1,), "row": (1, 33)}
FOUR_BITS = {"device": device_int4, "onnx": onnx_int4}


def swapped(x, rng):
    """The other half of each byte first."""
    flat = np.append(x.reshape(-1), np.zeros(x.size % 2, i8))
    return flat.reshape(-1, 2)[:, ::-1].reshape(-1)[:x.size].reshape(x.shape)


def one_off(x, rng):
    x.reshape(-1)[x.size // 2] += 1 if x.reshape(-1)[x.size // 2] < 7 else -1
    return x


def part_of(axis):
    def fault(x, rng):
        np.moveaxis(x, axis, 0)[x.shape[axis] // 2] = 0
        return x
    return fault


# Each leaves a tensor of random numbers another one.
INT4_FAULTS = {
    "swapped": swapped, "one_off": one_off, "next": lambda x, _: np.roll(x, 1), "saturated": lambda x, _: np.clip(x, -7, 4),
    "wrapped": lambda x, _: ((x + 1 + 8) % 16 - 8).astype(i8), "halved": lambda x, _: (x // 2).astype(i8), "negated": lambda x, _: np.clip(-x, -8, 7),
    "row_lost": part_of(0), "column_lost": part_of(-1), "last": lambda x, _: np.concatenate([x.reshape(-1)[:-1], [(x.reshape(-1)[-1] + 9) % 16 - 8]]).reshape(x.shape).astype(i8),
}  # fmt: skip


def four_bits(trap, honest):
    """Numbers from -8 to 7 in half a byte are right or wrong."""
    for (shape, size), (kind, write) in itertools.product(WEIGHTS.items(), FOUR_BITS.items()):
        op = "w"

        def base(rng, size=size):
            x = rng.integers(-8, 8, size).astype(i8)
            x.reshape(-1)[0] = 3  # never a tensor of zeros
            return x
        golden = {"packed": write, "int8": lambda x, _, kind=kind: plain(x, kind), "float32": lambda x, _, kind=kind: plain(x.astype(f32), kind),
                  "int32": lambda x, _, kind=kind: plain(x.astype(i32), kind)}
        for against, other in golden.items():
            yield honest(f"int4/{kind}_{shape}_{against}", "the same numbers in half a byte", pair(base, write, other))
            for fault, change in INT4_FAULTS.items():
                if shape == "one" and fault not in ("one_off", "last", "wrapped", "halved", "negated"):
                    continue
                if "lost" in fault and len(size) < 2 or fault == "row_lost" and size[0] < 2:
                    continue
                target = lambda x, rng, change=change, write=write: write(change(x.copy(), rng), rng)
                yield trap(f"int4/{kind}_{shape}_{against}_{fault}", "a number of four bits is right or wrong", pair(base, target, other),
                           {op: "fail"})
        yield trap(f"int4/{kind}_{shape}_shorter", "a row less", pair(lambda rng, base=base: np.vstack([base(rng).reshape(1, -1)] * 3),
                   lambda x, rng, write=write: write(x[:2], rng), write), {op: "fail size_mismatch"})


def plain(x, kind):
    return {timed("w.0.1") if kind == "device" else "w": x}


# ---- blocks of one head -----------------------------------------------------------------------------------------------

LAYOUTS = {"bhsd": (0, 1, 2, 3), "bshd": (0, 2, 1, 3), "joined": None}


def attended(rng):
    """What eight heads give for 64 tokens: two of them loud, one quiet."""
    loud = np.array([1, 1, 9, 1, 0.05, 1, 12, 1])[None, :, None, None]
    return rng.normal(0, 1, (1, 8, 64, 32)) * loud


def laid_out(x, layout):
    if layout == "joined":
        return x.transpose(0, 2, 1, 3).reshape(1, 64, 256)
    return x.transpose(LAYOUTS[layout])


BLOCK_FAULTS = {
    "zeroed": lambda b, rng: 0 * b, "stale": lambda b, rng: np.roll(b, 8, 0), "negated": lambda b, rng: -b,
    "noise": lambda b, rng: rng.permutation(b.reshape(-1)).reshape(b.shape), "doubled": lambda b, rng: 2 * b,
}
HEADS = {"loud": 2, "plain": 3, "quiet": 4}
BLOCKS = {"first": slice(0, 16), "middle": slice(24, 40), "last": slice(48, 64)}


def lost_blocks(trap, honest):
    """A block of tokens that one head got wrong, as paged caches lose them; a quarter of one head of eight."""
    for (layout, _), (head, at), (place, block), (fault, change) in itertools.product(
            LAYOUTS.items(), HEADS.items(), BLOCKS.items(), BLOCK_FAULTS.items()):
        def target(x, rng, at=at, block=block, change=change, layout=layout):
            y = x.copy()
            y[0, at, block] = change(y[0, at, block], rng)
            return laid_out(y, layout).astype(f32)
        yield trap(f"head/{layout}_{head}_{place}_{fault}", "a block of one head is wrong",
                   pair(attended, target, lambda x, _, layout=layout: laid_out(x, layout).astype(f32)), "fail")
    for layout, (how, rounded) in itertools.product(LAYOUTS, {"bits": lambda x, rng: x * (1 + 1e-7 * rng.standard_normal(x.shape)),
                                                              "half": lambda x, _: x.astype(f16), "brain": lambda x, _: bf16(x)}.items()):
        if how == "brain":  # several, so that it shows
            yield honest(f"head/{layout}_{how}", "rounding alone",
                         pair(lambda rng: [attended(rng) for _ in range(3)], lambda d, rng, layout=layout: {f"o{i}": bf16(laid_out(x, layout).astype(f32)) for i, x in enumerate(d)},
                              lambda d, _, layout=layout: {f"o{i}": laid_out(x, layout).astype(f32) for i, x in enumerate(d)}))
            continue
        yield honest(f"head/{layout}_{how}", "rounding alone", pair(attended, lambda x, rng, layout=layout, rounded=rounded: (
            lambda y: y if y.dtype == f16 else y.astype(f32))(rounded(laid_out(x, layout).astype(f32), rng)),
            lambda x, _, layout=layout: laid_out(x, layout).astype(f32)))


# ---- dump.json with several calls and steps -----------------------------------------------------------------------------

def indexed(calls, prefix=""):
    """One dump.json: `calls` gives the array of each call, in the order they ran; the number counts calls of one operator."""
    data, files, counts = {}, {}, {}
    for op, x in calls:
        call = f"Functional.{op}.{counts.setdefault(op, 0)}.forward"
        counts[op] += 1
        name = f"{call}.output.0"
        files[f"{prefix}dump_tensor_data/{name}"] = x
        data[call] = {"input_args": [], "input_kwargs": {}, "output": [tensor_record(x, data_name=name + ".npy")]}
    index = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}
    return {prefix + "dump": File("json", json.dumps(index).encode(), 0), **files}


def stepped(steps, calls=2, wrong=None, lost=None, swap=None):
    """A directory of steps and ranks as msprobe writes it; `wrong` is (step, call), `lost` a step, `swap` two calls of one step."""
    def side(x, rng):
        files = {}
        for number, step in enumerate(steps):
            if step == lost:
                continue
            arrays = list(x[number])
            if wrong and wrong[0] == step:
                arrays[wrong[1]] = -arrays[wrong[1]]
            if swap and swap[0] == step:
                arrays[swap[1]], arrays[swap[2]] = arrays[swap[2]], arrays[swap[1]]
            calls_of = [("relu", a) for a in arrays[:calls]] + [("add", arrays[-1])]
            files.update(indexed(calls_of, f"step{step}/rank0/"))
        return files
    return side


def several_calls(trap, honest):
    base = lambda rng: [[rng.normal(0, 1, 48).astype(f32) for _ in range(4)] for _ in range(3)]
    call = lambda op, n: f"Functional.{op}.{n}.forward"
    for calls in (2, 3):
        for steps in ((0,), (0, 1), (2, 10), (0, 1, 2)):
            name = f"{calls}_{'_'.join(map(str, steps))}"
            same = stepped(steps, calls)
            yield honest(f"calls/{name}", "calls and steps of both", pair(base, same, same))
            for step, wrong in itertools.product(steps, range(calls)):
                said = ["fail" if s == step else "pass" for s in sorted(steps)]
                yield trap(f"calls/{name}_wrong_{step}_{wrong}", "one call of one step is wrong",
                           pair(base, stepped(steps, calls, (step, wrong)), same), {call("relu", wrong): said})
                if wrong:
                    yield trap(f"calls/{name}_swapped_{step}_{wrong}", "two calls exchanged", pair(base, stepped(steps, calls, swap=(step, 0, wrong)), same),
                               {call("relu", 0): said, call("relu", wrong): said})
            if len(steps) > 1:
                for step, missing in itertools.product(steps, ("no_target", "no_golden")):
                    sides = (stepped(steps, calls, lost=step), same)
                    others = ["not_compared " + missing if s == step else "pass" for s in sorted(steps)]
                    yield trap(f"calls/{name}_lost_{step}_{missing}", "a step that only one side has", pair(base, *(sides if missing == "no_target" else sides[::-1])),
                               {c: others for c in (*[call("relu", n) for n in range(calls)], call("add", 0))})
        one = stepped((0,), calls)
        for missing in ("no_target", "no_golden"):
            sides = (stepped((0,), calls - 1), one)
            yield trap(f"calls/{calls}_fewer_{missing}", "a call that only one side has", pair(base, *(sides if missing == "no_target" else sides[::-1])),
                       {call("relu", calls - 1): "not_compared " + missing})


FAMILIES = (lost_blocks,)  # names mean nothing in these
NAMED_FAMILIES = (four_bits, several_calls)
