# SPDX-License-Identifier: Apache-2.0
"""Generated families: every tensor is a row, what a verdict may rest on, precision by order or graph.

Each case is there twice: as written, and with names (where they mean nothing) and the order of files
shuffled. What comes out must not depend on either.
"""
import dataclasses
import tarfile
import zlib

import numpy as np

from cases import NO_GOLDEN, NO_TARGET, honest, trap
from containers import *  # noqa: F403: the files
from makers import *  # noqa: F403: the tensors

DAMAGED = "not_compared damaged_file"
WORDS = "amber birch cedar delta ember flint grove heron iris jade kelp lotus maple north onyx pearl quartz reed".split()


class Names:
    """What the tensors of a case are called: as written, or by words in an order of their own."""
    def __init__(self, seed):
        self.rng = None if seed is None else np.random.default_rng(zlib.crc32(seed.encode()))
        self.words = list(self.rng.permutation(WORDS)) if self.rng else []
        self.known = {}

    def __call__(self, name):
        if self.rng is None:
            return name
        if name not in self.known:
            self.known[name] = str(self.words.pop())
        return self.known[name]

    def shuffled(self, items):
        """The same files, written in another order; names that mean something get each other's tensors."""
        items = list(items)
        return items if self.rng is None else [items[i] for i in self.rng.permutation(len(items))]


def twice(kind, name, why, build, *options, **more):
    """build(names) gives the maker and what is expected."""
    cases = []
    for shuffled in (False, True):
        make, expect = build(Names(name if shuffled else None))
        full = f"{name}/{'shuffled' if shuffled else 'plain'}"
        cases.append(trap(full, why, make, expect, *options, **more) if kind == "trap" else
                     honest(full, why, make, *options, expect=expect, **more))
    return cases


def some(rng, count=5, size=64):
    return [rng.normal(0, 1, size).astype(f32) for _ in range(count)]


def close(x, rng):
    """The same network on another processor."""
    return (x * (1 + rng.normal(0, 1e-6, x.shape))).astype(x.dtype)


# ---- module names of networks people have ---------------------------------------------------------

NETWORKS = {
    "mobilenet": "features.0.0 features.0.1 features.0.2 features.1.conv.0.0 features.1.conv.1 features.18.0 classifier.1",
    "resnet": "conv1 bn1 layer1.0.conv1 layer1.0.bn1 layer1.1.conv2 layer4.2.conv3 fc",
    "vgg": "features.0 features.1 features.3 features.28 classifier.0 classifier.6",
    "densenet": "features.conv0 features.denseblock1.denselayer1.conv1 features.transition1.conv classifier",
    "efficientnet": "features.1.0.block.0.0 features.1.0.block.0.1 features.8.0 features.8.1 classifier.1",
    "swin": "features.0.0 features.1.0.attn.qkv features.1.1.mlp.0 features.7.1.mlp.3 norm head",
    "vit": "conv_proj encoder.layers.encoder_layer_0.mlp.0 encoder.layers.encoder_layer_11.mlp.3 heads.head",
    "sequential": "0 1 2 10 11 100",
    "nested": "0.0 0.1 1.0.0 1.0.1 2",
    "years": "block.0.2024 block.1.2024 block.1.2025 head",
    "one_oddly": "layer0 layer1 layer2 layer3 layer4 layer5 layer6 features.0.0",
    "paths": "model/0/conv model/1/conv model/10.0.1 head",
}


def network(name, change=None, drop=None):
    def build(names):
        modules = NETWORKS[name].split()
        def make(rng):
            golden = dict(zip(names.shuffled(modules), some(rng, len(modules))))
            target = {k: close(v, rng) for k, v in golden.items()}
            if change is not None:
                target[modules[change]] = -target[modules[change]]
            if drop is not None:
                del target[modules[drop]]
            side = lambda d: {k + ".npy": npy(v) for k, v in d.items()}
            return side(target), side(golden), {}
        expect = {}
        if change is not None:
            expect[modules[change]] = "fail limit:cosine"
        if drop is not None:
            expect[modules[drop]] = NO_TARGET
        return make, expect
    return build


MODULES = [case for name in NETWORKS for cases in (
    twice("honest", f"modules/{name}", "module names of a network", network(name)),
    twice("trap", f"modules/{name}_first", "the first is wrong", network(name, change=0)),
    twice("trap", f"modules/{name}_last", "the last is wrong", network(name, change=-1)),
    twice("trap", f"modules/{name}_lost", "one was not dumped", network(name, drop=1)),
) for case in cases]


# ---- arrays beside a dump -------------------------------------------------------------------------

def beside_dump(kind, container, change=None, where="", only_golden=False):
    """A dump, and an array in a container beside it or in the folder `where`."""
    def build(names):
        write, called = DUMPS[kind]
        into, added = CONTAINERS[container]
        name = where + names("extra")
        def make(rng):
            ops = dict(zip([names(n) for n in ("mm", "relu", "add")], some(rng, 3)))
            extra = rng.normal(0, 1, (4, 16)).astype(f32)
            target, golden = write({k: close(v, rng) for k, v in ops.items()}), write(ops)
            changed = change(extra, rng) if change else close(extra, rng)
            if not only_golden:
                target[name] = into(changed)
            golden[name] = into(extra)
            reorder = lambda d: dict(names.shuffled(d.items()))
            return reorder(target), reorder(golden), {}
        # Of a file with one array a device dump or an index may know another name: never so here.
        expect = {} if change is None and not only_golden else {
            name + added: NO_TARGET if only_golden else "fail limit:cosine"}
        return make, expect
    return build


BESIDE = [case for kind in DUMPS for container in CONTAINERS for cases in (
    twice("honest", f"beside/{kind}_{container}", "an array beside a dump", beside_dump(kind, container)),
    twice("trap", f"beside/{kind}_{container}_wrong", "an array beside a dump is no part of it, and wrong",
          beside_dump(kind, container, lambda x, _: -x)),
) for case in cases] + [case for kind in DUMPS for cases in (
    twice("trap", f"beside/{kind}_lost", "only golden has it", beside_dump(kind, "npy", only_golden=True)),
    twice("trap", f"beside/{kind}_below", "in a folder of its own", beside_dump(kind, "npy", lambda x, _: -x, "sub/")),
    twice("honest", f"beside/{kind}_below", "in a folder of its own", beside_dump(kind, "npz", None, "sub/")),
) for case in cases]
for i, case in enumerate(BESIDE):  # the trap and the honest pair "below" have one name
    if "_below/" in case.name and case.is_trap:
        BESIDE[i] = dataclasses.replace(case, name=case.name.replace("_below", "_below_wrong"))


# ---- an index that does not name all tensors ------------------------------------------------------

def cut_index(lost_target, lost_golden, wrong=()):
    def build(names):
        ops = "mm relu add mul".split()
        def make(rng):
            golden = dict(zip([names(n) for n in ops], some(rng, 4)))
            target = {k: -v if k in [names(n) for n in wrong] else close(v, rng) for k, v in golden.items()}
            return (msprobe_dump(target, [names(n) for n in lost_target]),
                    msprobe_dump(golden, [names(n) for n in lost_golden]), {})
        data = lambda n: f"dump_tensor_data/{call_of(names(n))}.output.0"
        expect = {}
        for n in ops:
            if (n in lost_target) != (n in lost_golden):
                mine, other = (NO_GOLDEN, NO_TARGET) if n in lost_target else (NO_TARGET, NO_GOLDEN)
                expect[data(n)], expect[call_of(names(n))] = mine, other
            elif n in wrong:
                expect[data(n) if n in lost_target else call_of(names(n))] = "fail limit:cosine"
        return make, expect
    return build


INDEX = [case for cases in (
    twice("honest", "index/whole", "all calls are in dump.json", cut_index((), ())),
    *[twice("honest", f"index/cut_{len(lost)}", "the data of calls that dump.json lost", cut_index(lost, lost))
      for lost in (("mm",), ("relu", "add"), ("mm", "relu", "mul"))],
    *[twice("trap", f"index/cut_{n}_wrong", "what dump.json lost is wrong", cut_index((n,), (n,), (n,)))
      for n in ("mm", "relu", "add", "mul")],
    *[twice("trap", f"index/cut_{n}_target", "the target's index lost a call", cut_index((n,), ())) for n in ("mm", "mul")],
    *[twice("trap", f"index/cut_{n}_golden", "golden's index lost a call", cut_index((), (n,))) for n in ("relu", "add")],
) for case in cases]


# ---- containers -----------------------------------------------------------------------------------

def one_file(golden, target=None, shape=(8, 8), base=None, expect=None):
    """A good array and a file; `golden` and `target` write an array."""
    def build(names):
        name = names("y")
        def make(rng):
            x = base(rng) if base else rng.normal(0, 1, shape).astype(f32)
            k = rng.normal(0, 1, 64).astype(f32)
            use = lambda write: {names("k"): k, name: write(x)}
            return use(target or golden), use(golden), {}
        return make, {name + e: v for e, v in (expect or {}).items()}
    return build


NEGATED = lambda write: lambda x: write(-x)
IDS = lambda rng: rng.integers(0, 1000, (8, 4)).astype(np.int64)
cut_by = lambda write, n: lambda x: cut(write(x), n)
damaged_at = lambda write, at: lambda x: flipped(write(x), at(write(x)) if callable(at) else at)
SPACED = lambda x: table(x, "  ")
TABBED = lambda x: table(x, "\t", extension="tsv")
SEMICOLON = lambda x: table(x, ";")
WITH_REMARK = lambda x: table(x, ",", header="logits of the run")
FRAME = lambda x: File("csv", ("," + ",".join(map(str, range(x.shape[1]))) + "\n" + "".join(
    f"{i}," + ",".join(repr(float(v)) for v in row) + "\n" for i, row in enumerate(x))).encode())
WHOLE = lambda x: table(x, ",", "%d")
COLUMN = lambda x: table(x.reshape(-1), ",")
GNU, PAX = (lambda x: tar({"a" * 150 + "/" + "b" * 120: x}, tarfile.GNU_FORMAT)), (
    lambda x: tar({"a" * 150 + "/" + "b" * 120: x}, tarfile.PAX_FORMAT))
LONG = "/" + "a" * 150 + "/" + "b" * 120
CASES_OF_FILES = {
    "gz_fast": (lambda x: gz(x, 1), ""), "gz_stored": (lambda x: gz(x, 0), ""), "gz_named": (lambda x: gz(x, 9, "y.npy"), ""),
    "tar_gnu": (GNU, LONG), "tar_pax": (PAX, LONG), "csv": (table, ""), "csv_blanks": (SPACED, ""), "tsv": (TABBED, ""),
    "csv_semicolon": (SEMICOLON, ""), "csv_remark": (WITH_REMARK, ""), "csv_frame": (FRAME, ""), "csv_column": (COLUMN, ""),
    "npz_plumb": (lambda x: npz({"plumb.weight": x}), "/plumb.weight"),
}
FILES_OF = [case for cases in (
    *[twice("honest", f"holds/{name}", "the same array", one_file(write)) for name, (write, _) in CASES_OF_FILES.items()],
    *[twice("trap", f"holds/{name}_wrong", "another array", one_file(write, NEGATED(write), expect={added: "fail limit:cosine"}))
      for name, (write, added) in CASES_OF_FILES.items()],
    twice("honest", "holds/csv_ids", "whole numbers", one_file(WHOLE, base=IDS)),
    twice("trap", "holds/csv_ids_wrong", "off by one", one_file(WHOLE, lambda x: WHOLE(x + 1), base=IDS, expect={"": "fail limit:equal_share"})),
    twice("honest", "holds/csv_against_npy", "numbers as text against an array", one_file(lambda x: x, table)),
    twice("honest", "holds/gz_against_npy", "packed against plain", one_file(lambda x: x, gz)),
    twice("trap", "holds/gz_against_npy_wrong", "packed against plain", one_file(lambda x: x, NEGATED(gz), expect={"": "fail limit:cosine"})),
    twice("trap", "holds/csv_shorter", "lines are missing",
          one_file(table, lambda x: table(x[:-1]), expect={"": "fail size_mismatch"})),
    twice("trap", "holds/csv_cut", "the last line is cut",
          one_file(table, cut_by(table, -40), expect={"": DAMAGED})),
    twice("trap", "holds/gz_cut", "the last bytes are missing", one_file(gz, cut_by(gz, -30), expect={"": DAMAGED})),
    twice("trap", "holds/gz_checksum", "a wrong checksum", one_file(gz, damaged_at(gz, -6), expect={"": DAMAGED})),
    twice("trap", "holds/gz_of_csv", "numbers as text, packed",
          one_file(*[lambda x: File("csv.gz", gzip.compress(table(x).data, mtime=0))] * 2, expect={".csv.gz": [DAMAGED] * 2})),
    twice("trap", "holds/gz_of_npz", "an archive, packed",
          one_file(*[lambda x: File("npz.gz", gzip.compress(npz_of(x).data, mtime=0))] * 2, expect={".npz.gz": [DAMAGED] * 2})),
    twice("trap", "holds/tar_of_npz", "an archive in an archive",
          one_file(*[lambda x: tar({"z.npz": npz_of(x).data})] * 2, expect={"/z.npz": DAMAGED})),
    twice("trap", "holds/tar_one_wrong", "one array of three",
          one_file(lambda x: tar({"a": x, "b": x, "c": x}), lambda x: tar({"a": x, "b": -x, "c": x}), expect={"/b": "fail limit:cosine"})),
    twice("trap", "holds/tar_one_lost", "an array less",
          one_file(lambda x: tar({"a": x, "b": x}), lambda x: tar({"a": x}), expect={"/b": NO_TARGET})),
    twice("honest", "holds/tar_notes", "texts among the arrays",
          one_file(lambda x: dataclasses.replace(tar({"a": x, "notes.txt": b"no tensor"}), tensors=1))),
) for case in cases]

# Files that lie beside tensors everywhere, and are none.
NO_TENSORS = {
    "spreadsheet": lambda: File("xlsx", npz({}).data.replace(b"PK\5\6", b"PK\5\6"), 0), "log_gz": lambda: File("log.gz", gzip.compress(b"epoch 1 done\n"), 0),
    "source_tar": lambda: dataclasses.replace(tar({"main.py": b"print(1)\n"}), tensors=0), "version": lambda: File("txt", b"12\n", 0),
    "named_columns": lambda: File("csv", b"epoch,loss\n1,0.5\n2,0.25\n", 0), "mapping": lambda: File("csv", b"conv1,conv_1\n", 0),
    "config": lambda: File("json", b"[1, 2, 3]", 0), "yaml": lambda: File("yaml", b"lr: 0.1\n", 0), "picture": lambda: File("png", b"\x89PNG\r\n\x1a\n" + bytes(64), 0),
    "script": lambda: File("sh", b"echo 1 2\n", 0), "model": lambda: File("onnx", b"\x08\x07\x12\x02pt", 0), "shapes": lambda: File("txt", b"x: 1 3 224 224\n", 0),
}


def with_note(note, kind):
    def build(names):
        def make(rng):
            ops = dict(zip([names(n) for n in ("mm", "relu", "add")], some(rng, 3)))
            write = DUMPS[kind][0] if kind in DUMPS else plain_dump
            target = {**write({k: close(v, rng) for k, v in ops.items()}), "notes": NO_TENSORS[note]()}
            return target, write(ops), {}
        return make, {}
    return build


NOTES = [case for note in NO_TENSORS for kind in ("plain", "stamped", "fx") for case in
         twice("honest", f"note/{note}_{kind}", "no tensor lies beside", with_note(note, kind))]


# ---- PyTorch files --------------------------------------------------------------------------------

def checkpoint(change=None, drop=None, protocol=2):
    """What training saves: tensors, numbers, lists, arrays."""
    def build(names):
        def make(rng):
            value = {names("weight"): Tensor(rng.normal(0, 1, (4, 8)).astype(f32)), names("epoch"): 7, names("lr"): 0.125,
                     names("betas"): [0.9, 0.999], names("steps"): [3, 5, 8], names("done"): True,
                     names("mean"): rng.normal(0, 1, (3, 5)).astype(f32), names("ids"): np.arange(6),
                     names("best"): np.float32(0.75), names("who"): "me",
                     names("state"): {"0": {"exp_avg": Tensor(rng.normal(0, 1, 8).astype(f32)), "count": 12}}}
            count = 11  # tensors and numbers, lists of numbers as one
            other = dict(value)
            if change:
                key, new = change
                other[names(key)] = new(value[names(key)])
            if drop:
                del other[names(drop)]
            return ({"net": pt(other, count - (drop is not None), protocol)}, {"net": pt(value, count, protocol)}, {})
        expect = {}
        if change:
            expect[f"net/{names(change[0])}" + change[1].__dict__.get("inside", "")] = "fail"
        if drop:
            expect[f"net/{names(drop)}"] = NO_TARGET
        return make, expect
    return build


def inside(path):
    def mark(f):
        f.inside = path
        return f
    return mark


@inside(".0.count")
def other_count(state):
    return {"0": {**state["0"], "count": 99}}


CHANGES = {"weight": lambda t: Tensor(-t.x), "epoch": lambda _: 8, "lr": lambda _: 0.5, "betas": lambda _: [0.9, 0.5],
           "steps": lambda _: [3, 5, 9], "done": lambda _: False, "mean": lambda x: -x, "ids": lambda x: x + 1,
           "best": lambda _: np.float32(0.25), "state": other_count}


def lazy(**bits):
    def build(names):
        def make(rng):
            x = (rng.normal(0, 1, 16) + 1j * rng.normal(0, 1, 16)).astype(np.complex64)
            y = rng.normal(0, 1, 8).astype(f32)
            side = lambda t: {"net": pt({names("z"): t, names("y"): Tensor(y)}, 2)}
            return side(Tensor(x, **bits)), side(Tensor(x)), {}
        return make, {f"net/{names('z')}": DAMAGED} if any(bits.values()) else {}
    return build


PT = [case for cases in (
    twice("honest", "pt/checkpoint", "the same values", checkpoint()),
    twice("honest", "pt/checkpoint_protocol_4", "a newer pickle", checkpoint(protocol=4)),
    *[twice("trap", f"pt/{key}_wrong", "one value of a checkpoint differs", checkpoint((key, new)))
      for key, new in CHANGES.items()],
    *[twice("trap", f"pt/{key}_lost", "one value of a checkpoint is missing", checkpoint(drop=key))
      for key in ("epoch", "betas", "mean", "best")],
    twice("trap", "pt/lazy_conj", "conjugated by a bit alone", lazy(conj=True)),
    twice("trap", "pt/lazy_neg", "negated by a bit alone", lazy(neg=True)),
    twice("trap", "pt/lazy_both", "both bits", lazy(conj=True, neg=True)),
    twice("honest", "pt/lazy_off", "bits that are not set", lazy(conj=False, neg=False)),
) for case in cases]


# ---- reduced files under any name -----------------------------------------------------------------

def left_of(write, change, name, expect):
    def build(names):
        op = names(name)
        def make(rng):
            x, k = rng.normal(0, 1, 256).astype(f32), rng.normal(0, 1, 64).astype(f32)
            return {names("k"): k, op: write(change(x, rng))}, {names("k"): k, op: write(x)}, {}
        return make, {op: expect} if expect else {}
    return build


PERMUTED = lambda x, rng: np.concatenate([x[:1], rng.permutation(x[1:])])
REDUCED = [case for form, write in {"npz": reduced, "npy": reduced_npy}.items() for cases in (
    twice("honest", f"reduced/{form}", "the same data, by its checksum", left_of(write, lambda x, _: x, "conv", None)),
    twice("trap", f"reduced/{form}_permuted", "the same extremes of other data", left_of(write, PERMUTED, "conv", "inconclusive")),
    twice("trap", f"reduced/{form}_wrong", "other extremes", left_of(write, lambda x, _: 3 * x, "conv", "fail")),
) for case in cases]


# ---- the noise floor ------------------------------------------------------------------------------

def floor(noise_of_floor, noise_of_target, expect, count=3):
    """Each side off from golden by so much of golden's length."""
    def build(names):
        def off(x, by, rng):
            e = rng.normal(0, 1, x.shape)
            return (x + by * np.linalg.norm(x) / np.linalg.norm(e) * e).astype(f32)
        def make(rng):
            golden = {names(f"op{i}"): rng.normal(0, 1, 512).astype(f32) for i in range(count)}
            side = lambda by: {k: off(v, by, rng) for k, v in golden.items()}
            target = side(noise_of_target)
            return target, golden, {"floor": dict(target) if noise_of_floor is None else side(noise_of_floor)}
        return make, {names(f"op{i}"): expect for i in range(count)} if expect else {}
    return build


FLOOR = [case for cases in (
    *[twice("trap", f"floor/of_{n}", "two golden runs that differ so much say nothing", floor(n, n, "inconclusive noise_floor"), "--floor", "floor")
      for n in (0.26, 0.3, 0.4)],
    *[twice("trap", f"floor/of_{n}_good_target", "nor do they for a target that is close", floor(n, 1e-3, "inconclusive noise_floor"), "--floor", "floor")
      for n in (0.27, 0.5, 0.9)],
    *[twice("trap", f"floor/copy_{n}", "a copy of the target as second golden run", floor(None, n, "inconclusive same_path"), "--floor", "floor")
      for n in (1e-3, 1e-2, 0.1, 0.2)],
    *[twice("trap", f"floor/target_{n}", "the target as second golden run", floor(0.1, n, "inconclusive same_path"), "--floor", "target")
      for n in (1e-3, 0.1, 0.2)],
    *[twice("honest", f"floor/of_{n}", "as much as between two golden runs", floor(n, n, None), "--floor", "floor")
      for n in (1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.24)],
    twice("honest", "floor/exact", "nothing differs anywhere", floor(0, 0, None), "--floor", "floor"),
) for case in cases]


# ---- nothing that could differ --------------------------------------------------------------------

def no_number(dtype, shape, as_file=lambda x: x):
    def build(names):
        x = np.full(shape, NAN, dtype)
        good = np.ones(4, f32)
        return (lambda rng: ({names("k"): good, names("x"): as_file(x)}, {names("k"): good, names("x"): as_file(x)}, {}),
                {names("x"): "inconclusive all_nan"})
    return build


def linked(count, links, kind="npy"):
    """Some files of golden are links to the target's."""
    def build(names):
        tensors = [names(f"op{i}") for i in range(count)]
        def make(rng):
            golden = dict(zip(tensors, some(rng, count)))
            target = {n: golden[n] if i < links else close(golden[n], rng) for i, n in enumerate(tensors)}
            return target, {n + (".npy" if i < links else ""): Link(f"../target/{n}.npy") if i < links else golden[n]
                            for i, n in enumerate(tensors)}, {}
        return make, {n: "inconclusive same_path" for n in tensors[:links]}
    return build


NOTHING = [case for cases in (
    *[twice("trap", f"all_nan/{np.dtype(d).name}_{len(s)}d", "every value is NaN", no_number(d, s))
      for d in (f16, f32, f64) for s in ((9,), (2, 3), ())],
    *[twice("trap", f"all_nan/{c}", "every value is NaN, in a container", no_number(f32, (3, 4), CONTAINERS[c][0]))
      for c in ("gz", "csv", "pt")],
    *[twice("trap", f"same_path/{n}_of_5", "files that are links to the other side", linked(5, n)) for n in (1, 3, 5)],
    twice("honest", "same_path/none", "copies", linked(5, 0)),
    twice("trap", "same_path/file", "one file as both sides",
          lambda names: (lambda rng: (rng.normal(0, 1, 64).astype(f32), Link("target.npy"), {}), "inconclusive same_path")),
) for case in cases]


# ---- precision of the network ---------------------------------------------------------------------

ROUNDED = lambda x, rng: (x * (1 + rng.normal(0, 3e-3, x.shape))).astype(f32)  # what float16 leaves of a result
HALF = lambda x, rng: x.astype(f16)
EXACT_ENOUGH = close


def chain(kind, changes, expect, edges=None):
    """Operators that ran in this order; `changes` makes the target's of golden's."""
    def build(names):
        write, called = DUMPS[kind] if kind in DUMPS else (plain_dump, lambda op: op)
        ops = [names(op) for op in changes]
        def make(rng):
            golden = dict(zip(ops, some(rng, len(ops), 512)))
            target = {op: change(golden[op], rng) for op, change in zip(ops, changes.values())}
            if kind == "plumb" and edges is not None:
                wires = {names(op): [names(p) for p in producers] for op, producers in edges.items()}
                return plumb_dump(target, wires), plumb_dump(golden, wires), {}
            return write(target), write(golden), {}
        return make, {called(names(op)): e for op, e in expect.items()}
    return build


UNKNOWN, TOO_FAR = "inconclusive precision_unknown", "fail limit:rel_euclid"
BRANCH = {"b": ["a"], "c": ["a"], "d": ["b"], "e": ["c"]}
PRECISION = [case for cases in (
    # By recorded order.
    *[twice("honest", f"precision/{kind}_before", "16 bits before it, as the dump records",
            chain(kind, {"a": EXACT_ENOUGH, "b": HALF, "c": ROUNDED, "d": ROUNDED}, {})) for kind in ("stamped", "msprobe", "plumb")],
    *[twice("trap", f"precision/{kind}_after", "16 bits behind it excuse nothing",
            chain(kind, {"a": ROUNDED, "b": EXACT_ENOUGH, "c": HALF, "d": ROUNDED}, {"a": TOO_FAR})) for kind in ("stamped", "msprobe", "plumb")],
    *[twice("trap", f"precision/{kind}_none", "float32 all the way",
            chain(kind, {"a": EXACT_ENOUGH, "b": ROUNDED}, {"b": TOO_FAR})) for kind in ("stamped", "msprobe", "plumb", "plain")],
    *[twice("honest", f"precision/{kind}_exact", "float32 that is as good as float32",
            chain(kind, {"a": EXACT_ENOUGH, "b": HALF, "c": EXACT_ENOUGH}, {})) for kind in ("stamped", "msprobe", "plumb", "plain", "fx")],
    # Nothing tells the order: whatever the files are called.
    *[twice("trap", f"precision/plain_{first}", "file names are no order of execution",
            chain("plain", {first: HALF, "m1": ROUNDED, "m2": ROUNDED}, {"m1": UNKNOWN, "m2": UNKNOWN})) for first in ("a", "m11", "z", "0", "~")],
    # By the graph: what counts is upstream, not earlier.
    twice("honest", "precision/graph_upstream", "16 bits upstream",
          chain("plumb", {"a": EXACT_ENOUGH, "b": HALF, "c": EXACT_ENOUGH, "d": ROUNDED, "e": EXACT_ENOUGH}, {}, BRANCH)),
    twice("trap", "precision/graph_other_branch", "16 bits earlier, on the other branch",
          chain("plumb", {"a": EXACT_ENOUGH, "b": HALF, "c": EXACT_ENOUGH, "d": ROUNDED, "e": ROUNDED}, {"e": TOO_FAR}, BRANCH)),
    twice("trap", "precision/graph_beside", "16 bits at its side",
          chain("plumb", {"a": EXACT_ENOUGH, "b": HALF, "c": ROUNDED, "d": ROUNDED, "e": EXACT_ENOUGH}, {"c": TOO_FAR}, BRANCH)),
    twice("trap", "precision/graph_downstream", "16 bits come out of it",
          chain("plumb", {"a": ROUNDED, "b": HALF, "c": EXACT_ENOUGH, "d": ROUNDED, "e": EXACT_ENOUGH}, {"a": TOO_FAR}, BRANCH)),
) for case in cases]

# ---- codes of the same numbers -------------------------------------------------------------------

def codes(share, input_noise, shape, steps=1):
    """What QuantizeLinear reads and gives; a share of the codes is off by a step, either way."""
    def build(names):
        data, q = names("data"), names("q")
        def make(rng):
            x = rng.normal(0, 1, shape).astype(f32)
            golden = np.clip(np.round(x * 30), -120, 120)
            off = (rng.random(shape) < share) * rng.choice([-steps, steps], shape)
            own = (x + input_noise * rng.normal(0, 1, shape)).astype(f32)
            write = lambda x, c: plumb_dump({data: x, q: c.astype(np.int8)}, types={q: "QuantizeLinear"})
            return write(own, golden + off), write(x, golden), {}
        return make, {q: "fail limit:equal_share"} if share > 0.2 and input_noise < 1e-4 else {}
    return build


SHAPES_OF_CODES = {"map": (1, 8, 24, 24), "tokens": (1, 40, 64), "row": (1, 600)}
CODES = [case for cases in (
    *[twice("trap", f"codes/{name}_{int(share * 100)}_{noise}", "codes of the same numbers are off by a step", codes(share, noise, shape), "--profile", "standard")
      for name, shape in SHAPES_OF_CODES.items() for share in (0.3, 0.5, 0.65) for noise in (0, 1e-6)],
    *[twice("honest", f"codes/{name}_{int(share * 100)}_{noise}", "rounded the other way, or of numbers that differ", codes(share, noise, shape), "--profile", "quantized")
      for name, shape in SHAPES_OF_CODES.items() for share, noise in ((0.02, 0), (0.15, 1e-6), (0.4, 5e-3), (0.7, 0.02))],
) for case in cases]

ROWS = [*CODES, *MODULES, *BESIDE, *INDEX, *FILES_OF, *NOTES, *PT, *REDUCED, *FLOOR, *NOTHING, *PRECISION]
