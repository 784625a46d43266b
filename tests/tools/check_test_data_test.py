# SPDX-License-Identifier: Apache-2.0
"""tools/check_test_data on tiny trees: what it must complain about, and what it must leave alone; and on tests/data."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools/check_test_data"
KEPT = "| `kept/` | files | kept; by a tool | `0000000000000000` |"
MADE = "| `made/` | files | script `make_it.py` | – |"
LONG = b"x" * 600


def check(data, *options):
    done = subprocess.run([TOOL, *options, data], capture_output=True, text=True)
    return done.returncode, done.stdout.replace(f"{data}/", "")


class CheckTestData(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.data = pathlib.Path(scratch.name).resolve()

    def tree(self, files, *lines, update=True):
        for name, content in files.items():
            path = self.data / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content)
        (self.data / "SOURCES.md").write_text("\n".join(lines) + "\n")
        if update:
            check(self.data, "--update")

    def test_all_is_well(self):
        self.tree({"kept/a": LONG, "kept/b": "a", "kept/tiny1": b"{}", "kept/tiny2": b"{}", "made/c": b"y" * 100,
                   "made/d": b"y" * 100}, KEPT, MADE)
        self.assertEqual(check(self.data), (0, ""))

    def test_complaints(self):
        cases = [
            ("not listed", {"kept/a": b"1", "new/b": b"2"}, [KEPT], "new: not in SOURCES.md"),
            ("listed twice", {"kept/a": b"1"}, [KEPT, KEPT], "kept is listed twice"),
            ("gone", {"kept/a": b"1"}, [KEPT, MADE], "there is no folder made"),
            ("no maker", {"made/a": b"1"}, [MADE.replace("`make_it.py`", "")], "give it a checksum"),
            ("copy", {"kept/a": LONG, "kept/b": LONG}, [KEPT], "kept/b: a copy of kept/a"),
            ("small copy of a kept file", {"kept/a": b"y" * 100, "kept/b": b"y" * 100}, [KEPT], "kept/b: a copy"),
            ("long copy by a script", {"made/a": LONG, "made/b": LONG}, [MADE], "made/b: a copy of made/a"),
            ("broken link", {"made/a": "nowhere"}, [MADE], "made/a: a link that leads nowhere"),
            ("absolute link", {"made/a": "/etc/hostname"}, [MADE], "made/a: an absolute link"),
        ]
        for name, files, lines, complaint in cases:
            with self.subTest(name):
                self.setUp()
                self.tree(files, *lines)
                status, said = check(self.data)
                self.assertEqual(status, 1)
                self.assertIn(complaint, said)

    def test_a_changed_file_is_found(self):
        self.tree({"kept/a": LONG}, KEPT)
        (self.data / "kept/a").write_bytes(LONG + b"\n")
        status, said = check(self.data)
        self.assertEqual(status, 1)
        self.assertIn("the files of kept are not those listed", said)

    def test_links_take_the_place_of_copies(self):
        self.tree({"kept/a": LONG, "kept/deep/b": LONG}, KEPT)
        before = (self.data / "SOURCES.md").read_text()
        check(self.data, "--link")
        self.assertEqual(check(self.data), (0, ""))  # the checksum is that of the contents
        self.assertEqual((self.data / "SOURCES.md").read_text(), before)
        self.assertEqual((self.data / "kept/deep/b").readlink(), pathlib.Path("../a"))

    def test_the_data_of_this_project(self):
        self.assertEqual(check(ROOT / "tests/data"), (0, ""))


if __name__ == "__main__":
    unittest.main()
