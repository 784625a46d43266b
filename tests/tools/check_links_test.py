# SPDX-License-Identifier: Apache-2.0
"""tools/check_links on tiny trees: what it must complain about, and what it must leave alone."""
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/check_links"
OTHER = "# Other: `page`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n"

# name, text of docs/page.md, the complaint (None: there is none)
CASES = [
    ("a file", "[x](other.md)", None),
    ("a file further up", "[x](../LICENSE)", None),
    ("a folder", "[x](../docs)", None),
    ("a picture", "![x](a.png)", None),
    ("a picture in one kind of colours", "![x](a.png#only-dark)", None),
    ("its own heading", "## Here and there\n[x](#here-and-there)", None),
    ("a heading with code", "[x](other.md#other-page)", None),
    ("the second of one name", "[x](other.md#twice-1)", None),
    ("two in a line", "[x](other.md) [y](gone.md)", "docs/page.md:1: 'gone.md': there is no such file in the clone"),
    ("a missing file", "\n[x](gone.md)", "docs/page.md:2: 'gone.md': there is no such file in the clone"),
    ("other letters", "[x](Other.md)", "docs/page.md:1: 'Other.md': there is no such file in the clone"),
    ("outside", "[x](../../away.md)", "docs/page.md:1: '../../away.md': there is no such file in the clone"),
    ("absolute", "[x](/etc/hostname)", "docs/page.md:1: '/etc/hostname': there is no such file in the clone"),
    ("empty", "[x]()", "docs/page.md:1: '': there is no such file in the clone"),
    ("a missing heading", "[x](other.md#gone)", "docs/page.md:1: 'other.md#gone': there is no such heading"),
    ("a third of one name", "[x](other.md#twice-2)", "docs/page.md:1: 'other.md#twice-2': there is no such heading"),
    ("a comment of a block", "[x](other.md#no-heading)", "docs/page.md:1: 'other.md#no-heading': there is no such heading"),
    ("a heading of a picture", "[x](a.png#top)", "docs/page.md:1: 'a.png#top': only documents have headings"),
    ("a reference", "[x]\n\n[x]: gone.md", "docs/page.md:3: 'gone.md': there is no such file in the clone"),
    ("markup", '<img src="gone.png">', "docs/page.md:1: 'gone.png': there is no such file in the clone"),
    ("in a block", "```\n[x](gone.md)\n```", None),
    ("in code", "`[x](gone.md)`", None),
    ("another server", "[x](https://example.org/a#b)", None),
    ("no server", "[x](https:/example.org)", "docs/page.md:1: 'https:/example.org' is no address"),
    ("no such scheme", "[x](htp://example.org)", "docs/page.md:1: 'htp://example.org' is no address"),
]  # fmt: skip


class CheckLinks(unittest.TestCase):
    def test_cases(self):
        for name, text, complaint in CASES:
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                docs = pathlib.Path(scratch, "clone/docs")
                docs.mkdir(parents=True)
                pathlib.Path(scratch, "away.md").touch()
                (docs.parent / "LICENSE").touch()
                (docs / "a.png").touch()
                (docs / "other.md").write_text(OTHER, encoding="utf-8")
                (docs / "page.md").write_text(text, encoding="utf-8")
                done = subprocess.run([TOOL, "--root", docs.parent], capture_output=True, text=True)
                said = done.stdout.splitlines()[:-1]
                self.assertEqual((done.returncode, said), (1, [complaint]) if complaint else (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
