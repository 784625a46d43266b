# SPDX-License-Identifier: Apache-2.0
"""The checkers of transcripts and documents, on transcripts and documents that are right and wrong."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import transcript  # noqa: E402

# A stand-in for the program: prints its arguments, complains about some.
PLUMB = """#!/bin/sh
case $1 in
  fail) echo "error: $2" >&2; exit 2 ;;
  differ) echo differs; exit 1 ;;
  cut) printf 'no end' ;;
  *) for word; do echo "$word"; done ;;
esac
"""

# name, expected lines, printed lines, whether they agree
MATCHES = [
    ("empty", [], [], True),
    ("something printed", [], ["a"], False),
    ("same", ["a", "b"], ["a", "b"], True),
    ("one short", ["a", "b"], ["a"], False),
    ("one more", ["a"], ["a", "b"], False),
    ("space at the end", ["a"], ["a "], False),
    ("any lines", ["..."], ["a", "b"], True),
    ("any lines may be none", ["a", "...", "b"], ["a", "b"], True),
    ("any lines in the middle", ["a", "...", "z"], ["a", "b", "c", "z"], True),
    ("last line missing", ["a", "...", "z"], ["a", "b"], False),
    ("first and last are the same line", ["a", "...", "a"], ["a"], False),
    ("two gaps", ["...", "b", "c", "..."], ["b", "a", "b", "c"], True),
    ("two gaps, wrong order", ["...", "c", "b", "..."], ["b", "c"], False),
    ("middle part reaches into the end", ["...", "b", "...", "b"], ["b"], False),
    ("part of a line", ["took <any> s, <any> rows"], ["took 0.4 s, 3 rows"], True),
    ("part of a line, rest differs", ["took <any> s."], ["took 0.4 s!"], False),
]

# The same where an engine computed the numbers. Every one that agrees would not if they were exact.
ROW = "✓ pass   conv1   6.93e-06%  0.999999999999998   143.18  [1, 16]  float32"
FAILING = "total  bn2  0.995222  0.199326  -8.10902  fail, 12 of 32"
MEASURED = [
    ("last digits", FAILING, "total  bn2  0.995221  0.19933  -8.109021  fail, 12 of 32", True),
    ("a wider column", ROW, ROW.replace("   6.93", "       6.93").replace("   143", "  143"), True),
    ("a gap closed", ROW, ROW.replace("conv1   6.93", "conv1 6.93"), False),
    ("a blank more in a sentence", FAILING, FAILING.replace("12 of", "12  of"), False),
    ("another verdict", FAILING, FAILING.replace("fail", "pass"), False),
    ("another layer", FAILING, FAILING.replace("bn2", "bn3"), False),
    ("another count", FAILING, FAILING.replace("12 of", "13 of"), False),
    ("another shape", ROW, ROW.replace("16]", "17]"), False),
    ("another large count", "220,400 = 310 pass + 220090 fail", "220,400 = 310 pass + 220091 fail", False),
    ("another type", ROW, ROW.replace("float32", "float16"), False),
    ("1 % more", FAILING, FAILING.replace("0.199326", "0.201319"), False),
    ("1 % less", FAILING, FAILING.replace("8.10902", "8.02793"), False),
    ("another sign", FAILING, FAILING.replace("-8.1", "8.1"), False),
    ("1 % less far from 1", FAILING, FAILING.replace("0.995222", "0.995270"), False),
    ("rounding of the engine", ROW, ROW.replace("6.93e-06%", "1.2e-07%").replace("0.999999999999998", "1"), True),
    ("more than rounding", ROW, ROW.replace("6.93e-06%", "6.93e-03%"), False),
    ("no longer equal", "cosine 1, off by 0", "cosine 0.9999, off by 0", False),
    ("infinite", ROW, ROW.replace("143.18", "inf"), False),
    ("another unit", "takes 61.6 kB", "takes 61.6 MB", False),
    ("the engine's version", "by ONNX Runtime 1.21.0: 1 run", "by ONNX Runtime 1.22.1: 1 run", True),
    ("another engine", "by ONNX Runtime 1.21.0: 1 run", "by OpenCV DNN 1.21.0: 1 run", False),
    ("digits of a name", "conv1.0.17.npy", "conv1.0.18.npy", False),
    ("any text beside numbers", "took <any> s, off by 0.25", "took 3 s, off by 0.2500001", True),
    ("any text beside a wrong number", "took <any> s, off by 0.25", "took 3 s, off by 0.26", False),
]

# name, transcript, its failures as a share of the last line
TRANSCRIPTS = [
    ("right", "$ plumb a b\na\nb\n", 0),
    ("wrong output", "$ plumb a b\na\nc\n", 1),
    ("remark, several commands", "One thing.\n\n$ plumb a\na\n\n$ plumb b\nb\n", 0),
    ("exit stated", "$ plumb fail disk\nerror: disk\n[exit 2]\n", 0),
    ("exit not stated", "$ plumb fail disk\nerror: disk\n", 1),
    ("exit stated wrongly", "$ plumb a\na\n[exit 1]\n", 1),
    ("no newline at the end", "$ plumb cut\nno end\n", 1),
    ("sample data, shell", "$ plumb $(cat word.txt) | cat\nsample\n", 0),
    ("long command", "$ plumb a \\\n> b\na\nb\n", 0),
    ("bash does not survive", "$ plumb a\na\n\n$ exit 0\n\n$ plumb b\nb\n", 2),
    ("no command", "plumb a\n", 1),
    ("numbers are exact", "$ plumb 'cosine  0.995221'\ncosine  0.995222\n", 1),
    ("unless an engine made them", "needs: onnxruntime\n\n$ plumb 'cosine  0.995221'\ncosine   0.995222\n", 0),
    ("but not any number", "needs: onnxruntime\n\n$ plumb 'cosine  0.995221'\ncosine  0.985269\n", 1),
    ("exit statuses stay exact", "needs: onnxruntime\n\n$ plumb differ\ndiffers\n", 1),
]

# name, document, blocks run, not run, failed
DOCUMENTS = [
    ("prose only", "# Title\n\nNothing to run: `plumb a`.\n", 0, 0, 0),
    ("sh", "```sh\nplumb a\nplumb b\n```\n", 1, 0, 0),
    ("sh stops at the first error", "```sh\nplumb fail x\nplumb b\n```\n", 1, 0, 1),
    ("sh stops inside a pipe", "```sh\nplumb fail x | cat\n```\n", 1, 0, 1),
    ("console", "```console\n$ plumb a b\na\n...\n$ plumb c\n<any>\n```\n", 1, 0, 0),
    ("console with stale output", "```console\n$ plumb a\nb\n```\n", 1, 0, 1),
    ("a difference is an answer", "```console\n$ plumb differ\ndiffers\n$ echo $?\n1\n```\n", 1, 0, 0),
    ("trouble is not", "```console\n$ plumb fail x\nerror: x\n```\n", 1, 0, 1),
    ("unless announced", "```console\n$ plumb fail x\nerror: x\n[exit 2]\n```\n", 1, 0, 0),
    ("console without a command", "```console\nplumb a\n```\n", 1, 0, 1),
    ("left out", "<!-- not run: takes an hour -->\n\n```sh\nexit 3\n```\n", 0, 1, 0),
    ("a comment covers one block", "<!-- not run: x -->\n```sh\nexit 3\n```\n```sh\nexit 3\n```\n", 1, 1, 1),
    ("other languages", "```json\n{}\n```\n```\n$ plumb nope\n```\n", 0, 0, 0),
    ("bash is not a way around", "```bash\nplumb a\n```\n", 1, 0, 1),
    ("indented in a list", "1. Do this:\n\n   ```console\n   $ plumb a\n   a\n   ```\n", 1, 0, 0),
    ("files last from block to block", "```sh\nplumb a > x\n```\n```console\n$ cat x\na\n```\n", 2, 0, 0),
    ("numbers are exact", "```console\n$ plumb 'off by 0.25'\noff by 0.2501\n```\n", 1, 0, 1),
    ("unless an engine made them", "<!-- needs: opencv -->\n```console\n$ plumb 'off by 0.25'\noff by 0.2501\n```\n", 1, 0, 0),
    ("but not any number", "<!-- needs: opencv -->\n```console\n$ plumb 'off by 0.25'\noff by 0.2525\n```\n", 1, 0, 1),
    ("examples are at hand", "```console\n$ cat examples/one/in.txt\nhello\n```\n", 1, 0, 0),
]


class Workplace(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.write("bin/plumb", PLUMB).chmod(0o755)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run_tool(self, tool, *arguments):
        command = [HERE.parent / tool, "--bin", self.root / "bin", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done


class Agreement(unittest.TestCase):
    def test_cases(self):
        for name, expected, printed, result in MATCHES:
            with self.subTest(name):
                self.assertEqual(transcript.agrees(expected, printed), result)

    def test_numbers_of_an_engine(self):
        for name, expected, printed, result in MEASURED:
            with self.subTest(name):
                self.assertEqual(transcript.agrees([expected], [printed], measured=True), result)
                self.assertFalse(transcript.agrees([expected], [printed]) and "<any>" not in expected)
                self.assertTrue(transcript.agrees([printed], [printed], measured=True))

    def test_a_command_that_hangs_is_stopped_with_its_children(self):
        with tempfile.TemporaryDirectory() as directory:
            output, status = transcript.run_bash("echo on; sleep 60 | cat", directory, directory, timeout_s=0.3)
        self.assertIsNone(status)
        self.assertEqual(output, "on\n\n[stopped after 0.3 s]\n")


class Transcripts(Workplace):
    def setUp(self):
        super().setUp()
        self.write("data/word.txt", "sample\n")

    def run_transcript(self, text, *arguments):
        file = self.write("x.txt", text)
        return self.run_tool("cli/run_transcripts", "--data", self.root / "data", *arguments, file)

    def test_cases(self):
        for name, text, failed in TRANSCRIPTS:
            with self.subTest(name):
                done = self.run_transcript(text)
                self.assertRegex(done.stdout.splitlines()[-1], rf"^1 transcripts, \d commands, {failed} failed$")
                self.assertEqual(done.returncode, 1 if failed else 0)

    def test_shows_where_and_what(self):
        done = self.run_transcript("$ plumb a\na\n\n$ plumb b\nc\n")
        self.assertIn("x.txt:4: $ plumb b", done.stdout)
        self.assertIn("  -c\n  +b\n", done.stdout)

    def test_each_file_starts_afresh(self):
        first, second = self.write("1.txt", "$ rm word.txt\n"), self.write("2.txt", "$ cat word.txt\nsample\n")
        done = self.run_tool("cli/run_transcripts", "--data", self.root / "data", first, second)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_update_makes_it_pass_and_keeps_what_was_right(self):
        text = "A remark.\n\n$ plumb a \\\n> b\n...\n$ plumb fail x\nold\n\n$ plumb cut\n"
        done = self.run_transcript(text, "--update")
        self.assertIn("2 of 3 commands changed", done.stdout)
        self.assertEqual(
            (self.root / "x.txt").read_text(),
            "A remark.\n\n$ plumb a \\\n> b\n...\n\n$ plumb fail x\nerror: x\n[exit 2]\n\n"
            "$ plumb cut\nno end\n[no newline at the end]\n",
        )
        self.assertEqual(self.run_transcript((self.root / "x.txt").read_text()).returncode, 0)


class Documents(Workplace):
    def setUp(self):
        super().setUp()
        self.write("examples/one/in.txt", "hello\n")

    def test_cases(self):
        for name, text, run, left_out, failed in DOCUMENTS:
            with self.subTest(name):
                self.write("README.md", text)
                done = self.run_tool("docs/run_docs", "--root", self.root)
                last = f"1 documents, {run} blocks run, {left_out} not run, {failed} failed"
                self.assertEqual(done.stdout.splitlines()[-1], last, done.stdout)
                self.assertEqual(done.returncode, 1 if failed else 0)

    def test_finds_all_documents_and_runs_examples_at_home(self):
        self.write("docs/a.md", "```sh\nplumb a\n```\n")
        self.write("examples/one/README.md", "```console\n$ cat in.txt\nhello\n$ rm in.txt\n```\n")
        done = self.run_tool("docs/run_docs", "--root", self.root)
        self.assertEqual(done.stdout.splitlines()[-1], "2 documents, 2 blocks run, 0 not run, 0 failed")
        self.assertTrue((self.root / "examples/one/in.txt").exists())

    def test_says_why_a_block_is_left_out(self):
        self.write("README.md", "<!-- not run: needs a model -->\n```sh\nplumb run\n```\n")
        done = self.run_tool("docs/run_docs", "--root", self.root)
        self.assertIn("README.md:3: not run: needs a model", done.stdout)


if __name__ == "__main__":
    unittest.main()
