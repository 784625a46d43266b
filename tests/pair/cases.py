# SPDX-License-Identifier: Apache-2.0
"""Two models of which the truth is known, compared by the program, and what it got wrong.

A `Case` saves both, compares them in both directions, by any engine, as a run or through dumps, and lists its
problems: a tensor paired with another than its own, one left out that has its own, one blamed for nothing.
"""
import collections
import concurrent.futures
import json
import subprocess

import changed_models as models

BY_DESIGN = {"inside_fusion", "no_counterpart", "quantized_interior"}
LEVELS = ["basic", "extended", "all"]


class Case:
    def __init__(self, name, original, changed, options, is_equal):
        self.name, self.options = name, options
        self.original, self.changed = original, changed
        self.is_equal = is_equal  # computes the same
        self.selects = is_equal
        self.is_twin = False  # computes the same, but more coarsely: some tensors are there several times
        self.engines = {}  # of "changed" and "original", where it is not ONNX Runtime
        self.by_dumps = False  # `plumb dump` of each, and `plumb compare`
        self.is_unknown = False  # an engine does not know what the model is made of
        self.problems = []
        self.counts = {}  # of each direction: rows compared, and what is wrong with them
        self.verdicts = {}  # of each result

    def reached(self):
        """Tensors of the changed network that the change reaches: all behind what is not the original's."""
        if self.is_equal:
            return set()
        originals = {name: node for node in self.original.graph.node for name in node.output}
        truth = self.changed.truth
        back = {value.name: value.name for value in self.changed.graph.input}
        back.update({own: original for own, original in truth.items()})
        reached = set()
        for node in self.changed.graph.node:
            constants = self.changed.constants()
            data = [name for name in node.input if name and name not in constants]
            original = originals.get(truth.get(node.output[0]))
            same = original is not None and original.op_type == node.op_type and \
                [back.get(name) for name in data] == self.original.data_inputs(original)  # fmt: skip
            if not same or any(name in reached for name in data):
                reached |= set(node.output)
        return reached

    def run(self, binary, work):
        work.mkdir(parents=True)
        self.original.save(work / "original.onnx")
        self.changed.save(work / "changed.onnx")
        truth = {own: original for own, original in self.changed.truth.items() if original not in self.changed.free}
        constants = self.changed.constants() | models.from_shapes(self.changed)
        there = {name for node in self.original.graph.node for name in node.output}
        truth = {own: original for own, original in truth.items() if own not in constants and original in there}
        reached = self.reached()
        for direction in ("forth", "back"):
            sides = ["changed", "original"] if direction == "forth" else ["original", "changed"]
            pair = [f"{side}.onnx" for side in sides]
            keeps = ["--keep", "kept"] if self.selects and direction == "forth" else []
            if self.by_dumps:
                rows = self.dumped_rows(binary, work, direction, sides)
            else:
                engines = [word for option, side in zip(("--target-engine", "--golden-engine"), sides) if side in self.engines
                           for word in (option, self.engines[side])]  # fmt: skip
                rows = self.rows(binary, work, direction, "run", *pair, "--layers", "all", *keeps, *engines, *self.options)
            self.counts[direction] = collections.Counter()
            if rows is not None:
                self.check(direction, rows, truth, reached)
            if rows and keeps:
                self.check_selections(binary, work, pair, rows)

    def plumb(self, binary, work, name, *words):
        """Whether the program did it."""
        done = subprocess.run([binary, *words, "--quiet"], capture_output=True, text=True, check=False, cwd=work)
        if self.engines and "OpenCV DNN cannot load the model" in done.stderr:
            self.is_unknown = True
            return False
        if done.returncode not in (0, 1):
            self.problems.append(f"{name}: exit status {done.returncode}: {done.stderr.strip()[:300]}")
        return done.returncode in (0, 1)

    def rows(self, binary, work, name, *words):
        if not self.plumb(binary, work, name, *words, "--json", f"{name}.json"):
            return None
        result = json.loads((work / f"{name}.json").read_text())
        self.verdicts[name] = result["summary"]["verdict"]
        return result["rows"]

    def dumped_rows(self, binary, work, direction, sides):
        judging = self.options[self.options.index("--precision"):][:2] if "--precision" in self.options else []
        fed = [word for word in self.options if word not in judging]
        for side in sides:
            if self.is_unknown:
                return None
            engine = ["--engine", self.engines[side]] if side in self.engines else []
            if not (work / side / "dump.json").exists() and not self.plumb(binary, work, side, "dump", f"{side}.onnx", *engine, *fed, "-o", side):
                return None
        return self.rows(binary, work, direction, "compare", *sides, *judging)

    def check_selections(self, binary, work, pair, rows):
        """A row is the same row, whatever else somebody looks at."""
        def named(rows):
            sides = [[(row.get(side) or {}).get(word) for side in ("target", "golden") for word in ("operator", "slot")]
                     for row in rows]  # fmt: skip
            said = ["verdict", "reasons", "pairing", "metrics", "message"]
            return {tuple(key): [row.get(word) for word in said] for key, row in zip(sides, rows)
                    if row["reasons"] != ["filtered"]}  # fmt: skip

        operator = next(row["target"]["operator"] for row in rows[len(rows) // 2:] + rows if row["verdict"] != "not_compared")
        dumps = ["compare", "kept/target", "kept/golden"]
        compared = self.rows(binary, work, "dumps", *dumps)
        for name, whole, words in (
            ("layers", rows, ["run", *pair, *self.options, "--layers", operator]),
            ("outputs", rows, ["run", *pair, *self.options]),
            ("op", compared, [*dumps, "--op", operator]),
            ("slot", compared, [*dumps, "--slot", "output:0"]),
        ):
            part = self.rows(binary, work, name, *words)
            known = named(whole or [])
            for key, said in named(part or []).items():
                if known.get(key) != said:
                    self.problems.append(f"{name} changes {key}: {said} instead of {known.get(key)}")

    def classes(self):
        """Tensors of the original that are one and the same: an optimiser computes them once."""
        known, same = {}, {}
        for weight in self.original.graph.initializer:
            what = (weight.data_type, tuple(weight.dims), models.numpy_helper.to_array(weight).tobytes())
            same[weight.name] = known.setdefault(what, weight.name)
        for node in self.original.graph.node:
            what = (node.op_type, tuple(same.get(name, name) for name in node.input),
                    tuple(sorted(a.SerializeToString() for a in node.attribute)))  # fmt: skip
            if node.op_type == "Constant":
                what = node.attribute[0].t.SerializeToString() if node.attribute[0].HasField("t") else node.name
                same[node.output[0]] = known.setdefault(what, node.output[0])
                continue
            for k, name in enumerate(node.output):
                same[name] = known.setdefault((what, k), name) if node.input else name
            if node.op_type in ("Identity", "Cast"):  # the same values
                same[node.output[0]] = same.get(node.input[0], node.input[0])
        return same

    def check(self, direction, rows, truth, reached):
        same = self.classes()
        counts = self.counts[direction]

        def wrong(kind, text):
            counts[kind] += 1
            self.problems.append(f"{direction}: {text}")

        def tensor(net, side):
            if side is None:
                return None
            slot = int(side["slot"].split(":")[1])
            node = next((node for node in net.graph.node if node.name == side["operator"]), None)
            return side["operator"] if node is None else node.output[slot]  # an input of the model

        own_side, their_side = ("target", "golden") if direction == "forth" else ("golden", "target")
        partners, not_given = {}, set()
        free = self.changed.free
        for row in rows:
            own, theirs = tensor(self.changed, row.get(own_side)), tensor(self.original, row.get(their_side))
            if row["verdict"] == "not_compared":
                reason = (row["reasons"] or [""])[0]
                if reason == "no_counterpart" and row["message"].startswith("the engine could not give this tensor"):
                    not_given |= {own, self.changed.truth.get(own), theirs}
                if reason not in BY_DESIGN and self.changed.truth.get(own) not in free and theirs not in free:
                    wrong("missing", f"{own} / {theirs}: {reason}")
                continue
            counts["rows"] += 1
            if own in partners and same.get(partners[own]) != same.get(theirs):
                wrong("pairs", f"{own} is compared twice")
            partners[own] = theirs
            expected = self.changed.truth.get(own)
            if own in truth and same.get(theirs) != same[truth[own]]:
                wrong("pairs", f"{own} is {truth[own]}, but was paired with {theirs}")
            elif expected is not None and expected not in free and same.get(theirs, theirs) != same.get(expected, expected):
                wrong("pairs", f"{own} is {expected}, but was paired with {theirs}")
            elif self.is_equal and row["verdict"] == "inconclusive":
                wrong("inconclusive", f"{own} is inconclusive: {row['reasons']}")
            elif expected is None and self.is_equal and row["verdict"] == "fail":
                wrong("fail", f"{own} has none, but fails with {theirs}")
            elif own in truth and row["verdict"] == "fail" and own not in reached:
                wrong("fail", f"{own} fails, but nothing reaches it: {row['reasons']}: {row['message']}")
        compared = {same.get(theirs) for theirs in partners.values()}
        for own, original in truth.items():
            if own in not_given or original in not_given:
                continue
            if own not in partners and not (self.is_twin and same[original] in compared):
                wrong("missing", f"{own} is {original}, but was not compared")
        # Weights that were made smaller to fit a type do differ.
        is_blamed = any(row["verdict"] in ("fail", "inconclusive") for row in rows)
        if self.is_equal and not is_blamed and self.verdicts[direction] != "pass":
            wrong("verdict", f"no row is blamed, but the verdict is {self.verdicts[direction]}")


def optimised(binary, work, original, options, level):
    """What ONNX Runtime makes of it; tensors that survive keep their names."""
    work.mkdir(parents=True)
    original.save(work / "original.onnx")
    done = subprocess.run([binary, "dump", "original.onnx", *options, "--optimization", level, "-o", "dump", "--quiet"],
                          capture_output=True, text=True, check=False, cwd=work)  # fmt: skip
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    net = models.loaded(work / "dump" / "optimized.onnx")
    there = {name for node in original.graph.node for name in node.output}
    net.truth = {own: own for own in net.truth if own in there}
    # What brings blocks of channels back in order has the name, and what gives the blocks is the operator.
    # One that puts the channels last as well stands for a Transpose, too, of which nothing else is left.
    for node in net.graph.node:
        if node.op_type != "ReorderOutput" or node.output[0] not in net.truth or node.output[0] in net.outputs():
            continue
        name = net.truth.pop(node.output[0])
        if any(attribute.name == "channels_last" and attribute.i for attribute in node.attribute):
            net.free.add(name)
        elif node.input[0] not in net.truth:
            net.truth[node.input[0]] = name
    return net


def can_run(binary, work):
    work.mkdir(parents=True, exist_ok=True)
    models.network(0).save(work / "sound.onnx")
    done = subprocess.run([binary, "run", "sound.onnx", "sound.onnx"], capture_output=True, text=True, check=False, cwd=work)
    return "is not installed" not in done.stderr and "this build cannot" not in done.stderr


def run_all(binary, work, cases, jobs, is_verbose):
    """Runs them and tells of each that is wrong. How many are right, wrong, and unknown to an engine."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda item: item[1].run(binary, work / f"case{item[0]}"), enumerate(cases)))
    counts = collections.Counter()
    for i, case in enumerate(cases):
        counts["wrong" if case.problems else "unknown" if case.is_unknown else "right"] += 1
        if case.problems:
            print(f"WRONG   case{i}: {case.name}")
            for problem in case.problems[: None if is_verbose else 4]:
                print(f"        {problem}")
            if len(case.problems) > 4 and not is_verbose:
                print(f"        ... and {len(case.problems) - 4} more")
    print(f"{counts['right']} of {len(cases) - counts['unknown']} changed models: every tensor found its own")
    if counts["unknown"]:
        print(f"{counts['unknown']} more OpenCV cannot load")
    return counts
