# SPDX-License-Identifier: Apache-2.0
"""Runs `plumb compare` and `plumb diagnose` on one case and scores the findings against what was planted."""
import collections
import dataclasses
import json
import subprocess
import time


@dataclasses.dataclass
class Score:
    name: str
    case: dict
    first: bool = False  # the operator of the first finding is right; or nobody is blamed where nobody is to blame
    three: bool = False  # the operator is among the first three that are named; of two faults one of them
    every: bool = False  # ... and of two faults both of them
    cause: bool = False  # the cause of the first finding is right
    findings: list = dataclasses.field(default_factory=list)
    passes: bool = False  # the comparison passes: there is nothing that limits would complain about
    trouble: str = ""
    seconds: float = 0.0

    @property
    def right(self):
        return self.first and self.cause

    def told(self):
        if self.trouble:
            return self.trouble
        said = [f"{' or '.join(named_by(f)) or '-'}: {f['cause']}{'/' + f['detail'] if f.get('detail') else ''} ({f['confidence']:.2f})" for f in self.findings[:3]]
        return "; ".join(said) or "no finding"


def same_cause(finding, causes):
    for cause in causes:
        word, _, detail = cause.partition("/")
        if finding["cause"] == word and (finding.get("detail") or "").startswith(detail):
            return True
    return False


def is_one_of(operator, names):
    """Whether an operator is named; a dump without a graph can only call it as its file does."""
    return any(operator in (name, name.replace("/", "_").replace(".", "_")) for name in names)


def answers(fault):
    """What is right for a fault, as (operators, causes); None stands for any cause."""
    yield fault["culprits"], None
    yield fault.get("culprits_if_cause", []), fault["causes"]
    for other in fault.get("also", []):
        yield other["culprits"], other["causes"]


def named_by(finding):
    """The operator that is blamed; where operators were not compared, those of which it is one."""
    word, _, among = (finding.get("detail") or "").partition(":")
    return [finding["operator"]] if finding["operator"] else among.split(",") if word == "among" else []


def is_culprit(finding, fault):
    operators = named_by(finding) or [""]
    return any(is_one_of(operator, names) and (causes is None or same_cause(finding, causes))
               for operator in operators for names, causes in answers(fault))  # fmt: skip


def judge(name, case, findings):
    score = Score(name, case, findings=findings)
    named = [f for f in findings if named_by(f)]
    if case["class"] in ("clean", "task_failure") or case["none_expected"]:
        silent = not findings if case["none_expected"] and case["class"] == "clean" else not named
        score.first = score.three = score.every = score.cause = silent
        return score
    if case.get("blames_nobody") or case["class"] == "accumulated":
        score.first = score.three = score.every = not named
        score.cause = bool(findings) and same_cause(findings[0], case["causes"])
        return score
    if not findings:
        return score
    faults = case.get("faults") or [case]
    hit = [fault for fault in faults if is_culprit(findings[0], fault)]
    score.first = bool(hit)
    score.cause = any(same_cause(findings[0], fault["causes"]) for fault in hit or faults)
    seen, operators = [], set()
    for finding in findings:
        operators.add(tuple(named_by(finding)))
        if len(operators) <= 3:
            seen.append(finding)
    found = [any(is_culprit(f, fault) for f in seen) for fault in faults]
    score.three, score.every = any(found), all(found)
    return score


def run_case(binary, name, directory, case, extra=(), sides=("target", "golden"), golden_model=None):
    """Compares, diagnoses, scores. With golden's model every operator is replayed."""
    started = time.monotonic()
    result, told = directory / "result.json", directory / "diagnosis.json"
    graph = ["--graph", directory / "graph.json"] if (directory / "graph.json").exists() else []
    profile = ["--profile", case["profile"]] if case.get("profile") else []
    score = Score(name, case)
    findings, passes = None, False
    for words, out in (
        (["compare", *(directory / side for side in sides), *graph, *profile, *extra, "--json", result], result),
        (["diagnose", result, *(["--golden-model", golden_model] if golden_model else []), "--json", told], told),
    ):
        out.unlink(missing_ok=True)
        done = subprocess.run([binary, *map(str, words), "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or not out.exists():
            score.trouble = f"plumb {words[0]}: exit status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[:300]}"
            return score
        whole = json.loads(out.read_text(encoding="utf-8"))
        if words[0] == "compare":
            passes = whole["summary"]["fail"] == 0
        findings = whole["findings"]
    score = judge(name, case, findings)
    score.passes, score.seconds = passes, time.monotonic() - started
    return score


def run_models(binary, name, directory, case, target, golden, words, inputs):
    """Runs both models and compares every layer, as `plumb run --layers all` does it; scores."""
    out = directory / "run.json"
    profile = ["--profile", case["profile"]] if case.get("profile") else []
    done = subprocess.run([binary, "run", target, golden, "--layers", "all", *inputs, *words, *profile, "--json", out, "--quiet"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode not in (0, 1) or not out.exists():
        return Score(name, case, trouble=f"plumb run: exit status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[:300]}")
    whole = json.loads(out.read_text(encoding="utf-8"))
    score = judge(name, case, whole["findings"])
    score.passes = whole["summary"]["fail"] == 0
    return score


def table(scores, key, title):
    """Shares of right answers for each value of a key of the cases."""
    groups = collections.defaultdict(list)
    for score in scores:
        groups[str(key(score))].append(score)
    lines = [f"{title:<26}{'cases':>6}{'first':>8}{'three':>8}{'every':>8}{'cause':>8}{'both':>8}"]
    for word in [*sorted(groups), "all"]:
        of = scores if word == "all" else groups[word]
        shares = [sum(map(get, of)) / len(of) for get in (lambda s: s.first, lambda s: s.three, lambda s: s.every, lambda s: s.cause, lambda s: s.right)]
        lines.append(f"{word:<26}{len(of):>6}" + "".join(f"{100 * share:>7.1f}%" for share in shares))
    return "\n".join(lines)
