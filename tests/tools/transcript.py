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
"""
import functools
import os
import re
import secrets
import signal
import subprocess
import tempfile

# "needs: onnxruntime, opencv" in a transcript, or as <!-- needs: ... --> in a document.
NEEDS = re.compile(r"^(?:<!-- )?needs: ([\w, ]+?)(?: -->)?$", re.MULTILINE)
EXIT = re.compile(r"\[exit (\d+)\]")
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


def run_bash(script, directory, bin_directory, timeout_s):
    """Everything printed, and the exit status (None after a timeout)."""
    environment = {
        "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(directory),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
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


def agrees(expected, actual):
    """Whether the output lines are the expected ones."""
    parts = [[]]  # the runs of lines between '...'
    for line in expected:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return len(actual) == len(first) and starts_with(actual, first)
    if len(actual) < len(first) + len(last) or not starts_with(actual, first):
        return False
    end = len(actual) - len(last)
    if not starts_with(actual[end:], last):
        return False
    at = len(first)
    for part in parts[1:-1]:
        while at + len(part) <= end and not starts_with(actual[at:], part):
            at += 1
        at += len(part)
    return at <= end


def starts_with(lines, expected):
    return len(lines) >= len(expected) and all(map(line_agrees, expected, lines))


def line_agrees(expected, actual):
    if "<any>" not in expected:
        return expected == actual
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("<any>")), actual) is not None


def missing_engines(text, bin_directory, models):
    """Engines that `text` needs and this build or machine does not have: asked by running a model."""
    names = [name for found in NEEDS.findall(text) for name in found.replace(" ", "").split(",")]
    return [name for name in names if not _runs(name, bin_directory, models)]


@functools.lru_cache(maxsize=None)
def _runs(engine, bin_directory, models):
    model = {"onnxruntime": "digits.onnx", "opencv": "digits.prototxt"}[engine]
    with tempfile.TemporaryDirectory() as scratch:
        command = [bin_directory / "plumb", "dump", models / model, "--quiet", "-o", scratch + "/dump"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
