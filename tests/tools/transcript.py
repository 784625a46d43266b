# SPDX-License-Identifier: Apache-2.0
"""Commands with the output they must give, as in a terminal.

    $ plumb formats
    npy    numpy array
    ...
    [exit 2]

A command is a line that starts with '$ '; after a backslash at its end it goes on in lines that start
with '> '. The lines after it are its exact output, stdout and stderr together. '...' alone on a line
stands for any lines, '<any>' inside a line for any text. '[exit N]' ends the output of a command that
does not return 0. Shared by run_transcripts and run_docs.

Text that says "needs: ENGINE" shows numbers which that engine computed. Their last digits depend on the
processor, and so do the widths of columns: there, numbers with a fraction only have to be close, two or
more blanks are as good as any other two or more, and a version of three parts is any version. Everything
else stays exact.
"""
import functools
import os
import pathlib
import re
import secrets
import signal
import subprocess
import tempfile

# "needs: onnxruntime, opencv" in a transcript, or as <!-- needs: ... --> in a document.
NEEDS = re.compile(r"^(?:<!-- )?needs: ([\w, ]+?)(?: -->)?$", re.MULTILINE)
EXIT = re.compile(r"\[exit (\d+)\]")
# A number that stands alone: no part of a name, a version or a shape written without blanks.
NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w|\.\w)"
VERSION = r"\b\d+\.\d+\.\d+\b"
# What is not exact in an expected line where numbers are measured; the gap is one between columns.
SPECIAL = re.compile(rf"(?P<any><any>)|(?P<version>{VERSION})|(?P<number>{NUMBER})|(?P<gap>  +)")
CLOSE = 0.005  # of the number's size, and of its distance from 1: in 0.9953 the last two digits tell
ROUNDING = 1e-5  # what two engines may differ by though both are right
NO_NEWLINE = "[no newline at the end]"


class Entry:
    """One command: its lines as written, the output expected, and the exit status if one is stated."""

    def __init__(self, line_number, command_lines):
        self.line_number = line_number
        self.command_lines = command_lines
        self.expected = []
        self.status = None

    def command(self):
        return "\n".join(line[2:] for line in self.command_lines)


def parse(lines, first_line=1):
    """The lines before the first command, and the entries."""
    preamble, entries = [], []
    for number, line in enumerate(lines, first_line):
        if line.startswith("$ "):
            entries.append(Entry(number, [line]))
        elif not entries:
            preamble.append(line)
        elif line.startswith("> ") and not entries[-1].expected and entries[-1].command_lines[-1].endswith("\\"):
            entries[-1].command_lines.append(line)
        else:
            entries[-1].expected.append(line)
    for entry in entries:
        drop_blank_end(entry.expected)
        stated = entry.expected and EXIT.fullmatch(entry.expected[-1])
        if stated:
            entry.status = int(stated.group(1))
            entry.expected.pop()
    return preamble, entries


def sample_of(files):
    """One of every PLUMB_SAMPLE files (default: all); all if PLUMB_LONG is set. Neighbours show the same command, so each is among them."""
    return files if os.environ.get("PLUMB_LONG") else files[:: int(os.environ.get("PLUMB_SAMPLE", 1))]


def drop_blank_end(lines):
    while lines and not lines[-1]:
        lines.pop()


def run(entries, directory, bin_directory, timeout_s):
    """(output lines, exit status) of each command, run by one bash: variables, cd and $? carry over.
    A bash that ends early gives fewer results than entries."""
    mark = "end-of-command-" + secrets.token_hex(8)
    script = "exec 2>&1\n"
    for entry in entries:
        script += f"{entry.command()}\n__status=$?; printf '{mark} %d;' $__status; (exit $__status)\n"
    output = run_bash(script, directory, bin_directory, timeout_s)[0]
    results = []
    for text, status in re.findall(rf"(.*?){mark} (\d+);", output, re.DOTALL):
        lines = text.split("\n")
        if lines[-1]:
            lines.append(NO_NEWLINE)
        drop_blank_end(lines)
        results.append((lines, int(status)))
    return results, output


def _python_path(bin_directory):
    """Where the Python module is that was built with the program."""
    return pathlib.Path(bin_directory).parent / "python"


def run_bash(script, directory, bin_directory, timeout_s):
    """Everything printed, and the exit status (None after a timeout)."""
    environment = {
        "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(directory),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONPATH": str(_python_path(bin_directory)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name, value in os.environ.items():  # which kernels, which sanitizer: the caller's choice
        if name.startswith("PLUMB_") or name.endswith("SAN_OPTIONS"):
            environment[name] = value
    process = subprocess.Popen(
        ["bash", "-c", script], cwd=directory, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        output = process.communicate(timeout=timeout_s)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # children too, or the pipe stays open
        output = process.communicate()[0].decode("utf-8", "replace")
        return f"{output}\n[stopped after {timeout_s} s]\n", None
    return output, process.returncode


def agrees(expected, actual, measured=False):
    """Whether the output lines are the expected ones; `measured`: by numbers that an engine computed."""
    parts = [[]]  # the runs of lines between '...'
    for line in expected:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return len(actual) == len(first) and starts_with(actual, first, measured)
    if len(actual) < len(first) + len(last) or not starts_with(actual, first, measured):
        return False
    end = len(actual) - len(last)
    if not starts_with(actual[end:], last, measured):
        return False
    at = len(first)
    for part in parts[1:-1]:
        while at + len(part) <= end and not starts_with(actual[at:], part, measured):
            at += 1
        at += len(part)
    return at <= end


def starts_with(lines, expected, measured):
    agree = measured_line_agrees if measured else line_agrees
    return len(lines) >= len(expected) and all(map(agree, expected, lines))


def line_agrees(expected, actual):
    if "<any>" not in expected:
        return expected == actual
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("<any>")), actual) is not None


def measured_line_agrees(expected, actual):
    patterns = {"any": ".*", "version": VERSION, "number": f"({NUMBER})", "gap": "  +"}
    pattern, numbers, at = "", [], 0
    for special in SPECIAL.finditer(expected):
        pattern += re.escape(expected[at:special.start()]) + patterns[special.lastgroup]
        at = special.end()
        if special.lastgroup == "number":
            numbers.append(special.group())
    found = re.fullmatch(pattern + re.escape(expected[at:]), actual)
    return found is not None and all(map(is_close, numbers, found.groups()))


def is_close(expected, actual):
    if expected == actual or not set(".e") & set(expected + actual):  # counts and shapes are exact
        return expected == actual
    a, b = float(expected), float(actual)
    return abs(a - b) <= max(ROUNDING, CLOSE * min(abs(a), abs(1 - a)))


def needed_engines(text):
    """The engines whose output `text` shows."""
    return [name for found in NEEDS.findall(text) for name in found.replace(" ", "").split(",")]


def missing_engines(text, bin_directory, models):
    """Engines that `text` needs and this build or machine does not have: asked by running a model. The Python module
    ("python") and PyTorch ("torch") count among them."""
    return [name for name in needed_engines(text) if not _runs(name, bin_directory, models)]


@functools.lru_cache(maxsize=None)
def _runs(engine, bin_directory, models):
    if engine in ("python", "torch"):
        code = f"import {engine.replace('python', 'plumbline')}"
        command = ["/usr/bin/python3", "-c", code]
        environment = {"PYTHONPATH": str(_python_path(bin_directory)), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, capture_output=True, check=False, env=environment).returncode == 0
    model = {"onnxruntime": "digits.onnx", "opencv": "digits.prototxt"}[engine]
    with tempfile.TemporaryDirectory() as scratch:
        command = [bin_directory / "plumb", "dump", models / model, "--quiet", "-o", scratch + "/dump"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
