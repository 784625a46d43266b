# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers on tiny trees: what it must complain about, and what it must leave alone."""
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/check_layers"
TAG = "// SPDX-License-Identifier: Apache-2.0\n"

# name, path under src/, text after the licence tag, the complaint (None: there is none)
CASES = [
    ("one folder down", "io/a.cpp", '#include "tensor/shape.h"\n', None),
    ("two folders down", "io/a.cpp", '#include "base/bytes.h"\n', None),
    ("its own folder", "tensor/a.cpp", '#include "tensor/layout/layout.h"\n', None),
    ("cli sees everything", "cli/a.cpp", '#include "graph/graph.h"\n#include "pair/plan.h"\n', None),
    ("upwards", "tensor/a.h", '\n#include "io/npy.h"\n',
     "src/tensor/a.h:3: tensor/ may not include io/ (it may include: base)"),
    ("upwards from a subfolder", "tensor/layout/a.h", '#include "metrics/cosine.h"\n',
     "src/tensor/layout/a.h:2: tensor/ may not include metrics/ (it may include: base)"),
    ("sideways", "graph/a.h", '#  include "io/npy.h"\n',
     "src/graph/a.h:2: graph/ may not include io/ (it may include: base, tensor)"),
    ("bottom", "base/a.h", '#include "tensor/shape.h"\n',
     "src/base/a.h:2: base/ may not include tensor/ (it may include: nothing)"),
    ("no folder", "io/a.cpp", '#include "npy.h"\n',
     'src/io/a.cpp:2: "npy.h" does not name its folder: write "io/npy.h"'),
    ("unknown folder included", "io/a.cpp", '#include "utils/x.h"\n',
     "src/io/a.cpp:2: \"utils/x.h\": there is no folder 'utils' on the map"),
    ("unknown folder", "utils/a.cpp", "",
     "src/utils/a.cpp:1: no such folder on the map: list it in tools/check_layers"),
    ("no folder at all", "a.cpp", "", "src/a.cpp:1: files live in a folder"),
    ("standard and system", "base/a.cpp", "#include <vector>\n#include <sys/mman.h>\n#include <unistd.h>\n", None),
    ("fmt everywhere", "base/a.cpp", "#include <fmt/format.h>\n", None),
    ("library at home", "cli/a.cpp", "#include <CLI/CLI.hpp>\n", None),
    ("library astray", "io/a.cpp", "#include <CLI/CLI.hpp>\n",
     "src/io/a.cpp:2: <CLI/CLI.hpp> may be included only from cli/"),
    ("intrinsics astray", "io/a.cpp", "#include <hwy/highway.h>\n",
     "src/io/a.cpp:2: <hwy/highway.h> may be included only from tensor/, metrics/"),
    ("unknown library", "io/a.cpp", "#include <boost/any.hpp>\n",
     "src/io/a.cpp:2: <boost/any.hpp> is not in the list of libraries in tools/check_layers"),
    ("cout", "io/a.cpp", "void f() { std::cout << 1; }\n",
     "src/io/a.cpp:2: 'std::cout': only cli/ prints, exits or aborts; return a Result"),
    ("printf", "io/a.cpp", 'void f() {\n  printf("x");\n}\n',
     "src/io/a.cpp:3: 'printf': only cli/ prints, exits or aborts; return a Result"),
    ("exit", "io/a.cpp", "void f() { std::exit(1); }\n",
     "src/io/a.cpp:2: 'std::exit': only cli/ prints, exits or aborts; return a Result"),
    ("exit after a literal with a comment sign", "io/a.cpp", 'auto s = "//"; void f() { exit(1); }\n',
     "src/io/a.cpp:2: 'exit': only cli/ prints, exits or aborts; return a Result"),
    ("exit after a digit separator", "io/a.cpp", "int n = 1'000; void f() { exit(1); }\n",
     "src/io/a.cpp:2: 'exit': only cli/ prints, exits or aborts; return a Result"),
    ("exit below a long comment", "io/a.cpp", "/* one\n two */\nvoid f() { exit(1); }\n",
     "src/io/a.cpp:4: 'exit': only cli/ prints, exits or aborts; return a Result"),
    ("cli may print and exit", "cli/a.cpp", 'void f() { printf("x"); exit(1); }\n', None),
    ("snprintf, members, forked children", "io/a.cpp",
     'void f() { snprintf(b, 1, "x"); door.exit(); door->exit(); at_exit(); ::_exit(1); }\n', None),
    ("the locale's numbers", "cli/a.cpp", "double d = std::strtod(t, nullptr);\n",
     "src/cli/a.cpp:2: 'strtod' is up to the locale: use number_from_text"),
    ("whole numbers are the same everywhere", "io/a.cpp", "auto n = std::strtoull(t, nullptr, 16) + atoi(u);\n", None),
    ("words in comments and literals", "io/a.cpp",
     '// never exit(1)\n/* printf( */\nauto s = "abort()"; auto r = R"(exit(1))";\n', None),
]


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path if path.startswith("include/") else f"src/{path}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return subprocess.run([TOOL, root], capture_output=True, text=True)


class CheckLayers(unittest.TestCase):
    def test_cases(self):
        for name, path, text, complaint in CASES:
            with self.subTest(name):
                done = check({path: TAG + text})
                lines = done.stdout.splitlines()
                self.assertEqual(lines[:-1], [complaint] if complaint else [], done.stderr)
                self.assertEqual(done.returncode, 1 if complaint else 0)

    def test_licence_tag(self):
        done = check({"io/a.cpp": "\n" + TAG})
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/io/a.cpp:1: the first line is not", done.stdout)

    def test_counts_every_complaint(self):
        bad = TAG + '#include "io/x.h"\n#include <CLI/CLI.hpp>\n'
        done = check({"base/a.h": bad, "base/b.cpp": bad, "base/c.h": TAG})
        self.assertEqual(done.stdout.splitlines()[-1], "3 files checked, 4 complaints")

    def test_public_headers_export(self):
        header = "include/plumb/result.h"
        bare = check({"base/a.h": TAG, header: TAG})
        self.assertIn(f"{header}:1: a public header has its declarations between", bare.stdout)
        exported = "#pragma GCC visibility push(default)\nint f();\n#pragma GCC visibility pop\n"
        self.assertEqual(check({"base/a.h": TAG, header: TAG + exported}).returncode, 0)

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(check({"io/readme.txt": "x"}).returncode, 2)


if __name__ == "__main__":
    unittest.main()
