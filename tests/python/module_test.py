#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module against the command line, on paths and in memory, with threads, signals and forks.

usage: tests/python/module_test.py BUILD [unittest options]      BUILD: the build directory, e.g. build
"""
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and pathlib.Path(sys.argv[1]).is_dir() else "build").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data"
sys.path.insert(0, str(BUILD / "python"))
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import plumbline as plumb  # noqa: E402

PLUMB = BUILD / "bin/plumb"


def command_line(*words, directory=None):
    done = subprocess.run([PLUMB, *map(str, words)], capture_output=True, text=True, cwd=directory)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def without_time(text):
    document = json.loads(text)
    del document["run"]["elapsed_s"]
    return document


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.place = pathlib.Path(self.scratch.name)

    def save(self, name, **arrays):
        directory = self.place / name
        directory.mkdir()
        for key, array in arrays.items():
            np.save(directory / f"{key}.npy", array)
        return directory


def some_arrays(seed, noise=0.0):
    numbers = np.random.default_rng(seed)
    arrays = {f"conv{i}": numbers.standard_normal((2, 8, 5, 5), dtype=np.float32) for i in range(4)}
    return {name: array + np.float32(noise) * array**2 for name, array in arrays.items()}


class SameAsTheCommandLine(Scratch):
    def check(self, target, golden, *options, **arguments):
        ours = plumb.compare(target, golden, **arguments)
        theirs = command_line("compare", target, golden, *options, "--json", "-")
        self.assertEqual(without_time(ours.to_json()), without_time(theirs))
        return ours

    def test_directories(self):
        target, golden = self.save("t", **some_arrays(1, 0.3)), self.save("g", **some_arrays(1))
        result = self.check(target, golden)
        self.assertEqual(result.verdict, "fail")
        self.check(target, golden, "--metrics", "all", metrics="all")
        self.check(target, golden, "--profile", "axera", "--op", "conv1", profile="axera", op="conv1")
        self.check(target, golden, "--atol", "0.5", "--rtol", "0.25", atol=0.5, rtol=0.25)
        self.check(target, golden, "--details", details=True)

    def check_or_refuse(self, target, golden):
        """The same document, or the same error."""
        done = subprocess.run([PLUMB, "compare", target, golden, "--json", "-"], capture_output=True, text=True)
        try:
            ours = plumb.compare(target, golden)
        except plumb.PlumbError as error:
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(done.stderr.splitlines()[0], f"error: {error.what}")
            return False
        self.assertEqual(without_time(ours.to_json()), without_time(done.stdout))
        return True

    def test_corpus(self):
        """All test data: every golden directory with what stands beside it, and every directory with itself. Device dumps,
        TorchAir, statistics, checksums, archives, damaged files, and what is no dump at all."""
        cli = DATA / "cli"
        pairs = [(other, golden) for golden in DATA.rglob("golden") for other in golden.parent.iterdir() if other.is_dir()]
        pairs += [(directory, directory) for directory in DATA.iterdir() if directory.is_dir()]
        pairs += [(cli / "npu_broken", cli / "example/golden"), (cli / "pairs/after.npz", cli / "pairs/before.npz")]
        pairs += [(path, cli / "pairs/golden.npy") for path in cli.glob("pairs/*.npy")]
        compared = 0
        for target, golden in sorted(set(pairs)):
            with self.subTest(f"{target.relative_to(DATA)} {golden.relative_to(DATA)}"):
                compared += self.check_or_refuse(target, golden)
        self.assertGreater(compared, 80)

    def test_graphs(self):
        maker = BUILD / "bin/make_offline_example"
        if not maker.exists():
            self.skipTest("make_offline_example is not built")
        subprocess.run([maker, self.place / "net"], check=True, capture_output=True)
        net = self.place / "net"
        graph = next(net.glob("*.json"))
        self.check(net / "npu_broken", net / "original", "--graph", graph, graph=graph)

    def test_saved(self):
        target, golden = self.save("t", **some_arrays(1, 0.3)), self.save("g", **some_arrays(1))
        result = plumb.compare(target, golden)
        for name in ("r.json", "r.html", "r.csv", "r.xlsx", "r.md", "r.svg", "r.junit.xml"):
            result.save(self.place / name)
            self.assertGreater((self.place / name).stat().st_size, 0)
        again = plumb.load_result(self.place / "r.json")
        self.assertEqual(json.loads(again.to_json()), json.loads(result.to_json()))
        self.assertEqual(again.findings[0].cause, result.findings[0].cause)
        explained = plumb.diagnose(self.place / "r.json")
        command_line("diagnose", self.place / "r.json", "--json", self.place / "d.json")
        theirs = json.loads((self.place / "d.json").read_text())
        self.assertEqual(without_time(explained.to_json())["findings"], theirs["findings"])


class InMemory(unittest.TestCase):
    def test_result(self):
        golden = some_arrays(2)
        target = dict(golden, conv2=golden["conv2"] * 2)
        result = plumb.compare(target, golden)
        self.assertEqual(result.verdict, "fail")
        self.assertEqual(result.summary["rows"], 4)
        self.assertEqual(result.summary["pass"], 3)
        self.assertEqual(len(result.rows), 4)
        row = next(row for row in result.rows if row.operator == "conv2")
        self.assertEqual(row.verdict, "fail")
        self.assertAlmostEqual(row.metrics["rel_euclid"], 1.0)
        self.assertAlmostEqual(row.metrics["cosine"], 1.0)
        self.assertEqual(row.target.shape, (2, 8, 5, 5))
        self.assertEqual(row.golden.dtype, "float32")
        only = plumb.compare({"conv2": target["conv2"]}, {"conv2": golden["conv2"]})
        self.assertEqual([(finding.cause, finding.detail) for finding in only.findings], [("transform", "scale:2")])
        self.assertEqual([row.id for row in result.rows[1:3]], [1, 2])
        self.assertRaises(IndexError, lambda: result.rows[4])
        self.assertIn("conv2", repr(result))
        page = result._repr_html_()
        self.assertIn("conv2", page)
        self.assertIn("fail", page)

    def test_markup_is_escaped(self):
        golden = {"<script>": np.ones(20, np.float32)}
        result = plumb.compare({"<script>": np.zeros(20, np.float32)}, golden)
        self.assertNotIn("<script>", result._repr_html_())

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        table = plumb.compare(some_arrays(3), some_arrays(3)).to_pandas()
        self.assertEqual(list(table["verdict"]), ["pass"] * 4)
        self.assertEqual(list(table["max_abs"]), [0.0] * 4)

    def check_max_abs(self, target, golden, expected):
        result = plumb.compare({"x": target}, {"x": golden}, metrics=["max_abs", "mean_abs"])
        self.assertEqual(result.rows[0].metrics["max_abs"], expected, result)

    def test_strides(self):
        base = np.arange(7 * 6 * 5, dtype=np.float64).reshape(7, 6, 5)
        for name, view in {
            "transposed": base.T, "reversed": base[::-1, :, ::-1], "every other": base[::2, 1::3],
            "column-major": np.asfortranarray(base), "broadcast": np.broadcast_to(base[0], (3, 6, 5)),
            "scalar": base[1, 2, 3], "empty": base[:0], "big-endian": base.astype(">f8"),
            "record": np.rec.fromarrays([base.ravel(), np.zeros(210, np.int8)], names="a,b")["a"],
        }.items():  # fmt: skip
            with self.subTest(name):
                copy = np.ascontiguousarray(view, dtype=np.float64).reshape(np.shape(view))
                result = plumb.compare({"x": view}, {"x": copy}, profile="exact" if name != "scalar" else None)
                self.assertEqual(result.verdict, "pass", result)
                if copy.size > 1:
                    other = copy.copy()
                    other.flat[-1] += 0.5
                    self.check_max_abs(view, other, 0.5)

    def test_types(self):
        for dtype in "?bBhHiIlLefdFD":
            with self.subTest(dtype):
                array = (np.arange(40) % 2).astype(dtype)
                self.assertEqual(plumb.compare({"x": array}, {"x": array.copy()}, profile="exact").verdict, "pass")

    def test_largest_distances(self):
        """Steps between float64 are counted up to 2**63, which a signed number of 64 bits does not hold."""
        most = np.finfo(np.float64).max
        row = plumb.compare({"x": np.array([most, 1.0])}, {"x": np.array([-most, 1.0])}, metrics="all").rows[0]
        self.assertEqual(row.metrics["max_ulp"], 2**63)
        self.assertIsInstance(row.metrics["max_ulp"], int)

    def test_pickled(self):
        """What a process of a pool sends to its parent."""
        array = np.linspace(0, 1, 100, dtype=np.float32)
        result = plumb.compare({"x": array}, {"x": array * 1.5}, details=True)
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual(again.to_json(), result.to_json())
        self.assertEqual(again.warnings, result.warnings)
        with self.assertRaises(plumb.Mismatch) as raised:
            plumb.assert_close({"x": array}, {"x": array * 1.5})
        mismatch = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual(str(mismatch), str(raised.exception))
        self.assertEqual(mismatch.result.verdict, "fail")
        error = pickle.loads(pickle.dumps(plumb.PlumbError("what", "where", "try", result)))
        self.assertEqual((error.what, error.where, error.try_, error.result.verdict), ("what", "where", "try", "fail"))

    def test_metrics_in_one_text(self):
        array = np.arange(10, dtype=np.float32)
        result = plumb.compare({"x": array}, {"x": array + 1}, metrics="max_abs,mean_abs")
        self.assertEqual(result.rows[0].metrics["mean_abs"], 1.0)

    def test_shown_in_a_shell(self):
        array = np.arange(10, dtype=np.float32)
        result = plumb.compare({"x": array}, {"x": array.copy()})
        self.assertEqual(repr(result.rows), "<Rows: 1>")
        self.assertIn("memory against memory, profile standard", str(result))

    def test_slots_and_lists(self):
        key = ("conv", "input:1")
        result = plumb.compare({key: [1.0, 2.0]}, {key: np.array([1.0, 2.5])})
        self.assertEqual((result.rows[0].operator, result.rows[0].slot), key)
        self.assertEqual(result.rows[0].metrics["max_abs"], 0.5)

    def test_no_copy(self):
        # The kernel reads the caller's memory: what is changed there is seen by the next comparison.
        array = np.zeros(1 << 24, np.float32)
        import resource

        plumb.compare({"x": array[:10]}, {"x": array[:10]})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertEqual(plumb.compare({"x": array}, {"x": array[::-1]}).verdict, "pass")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 48 << 10, "kB, of 64 MB on each side")

    def test_dlpack(self):
        class Exported:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return (1, 0)

        array = np.arange(24, dtype=np.int32).reshape(4, 6)
        self.assertEqual(plumb.compare({"x": Exported(array.T)}, {"x": array.T.copy()}, profile="exact").verdict, "pass")
        self.check_max_abs(Exported(array.T), array.T + 3, 3)

    def test_assert_close(self):
        array = np.linspace(0, 1, 100, dtype=np.float32)
        plumb.assert_close(array, array.copy())
        plumb.assert_close({"x": array}, {"x": array + 0.2}, profile=None, atol=0.25)
        with self.assertRaises(AssertionError) as raised:
            plumb.assert_close({"x": array}, {"x": array * 1.5})
        self.assertIsInstance(raised.exception, plumb.Mismatch)
        self.assertEqual(raised.exception.result.verdict, "fail")
        self.assertIn("rel_euclid", str(raised.exception))
        self.assertRaises(plumb.Mismatch, plumb.assert_close, {"x": array}, {"y": array})
        self.assertRaises(plumb.Mismatch, plumb.assert_close, {"x": array}, {"x": array + np.nan})


class Errors(Scratch):
    def test_parts(self):
        with self.assertRaises(plumb.PlumbError) as raised:
            plumb.compare(self.place / "nowhere", self.place)
        error = raised.exception
        self.assertIn("nowhere", error.where)
        self.assertTrue(error.what and error.try_)
        self.assertIn("where: ", str(error))
        self.assertIn("try:   ", str(error))

    def test_not_arrays(self):
        array = np.zeros(3)
        for bad in (np.array(["a"]), np.array([object()]), None, print, {"x": None}):
            with self.subTest(repr(bad)), self.assertRaises(plumb.PlumbError):
                plumb.compare({"x": bad}, {"x": array})
        self.assertRaises(plumb.PlumbError, plumb.compare, {}, {"x": array})
        for key in (("x", 0), ("x", "output:0", 1), ("x",), ("x", "out:0")):
            with self.subTest(key), self.assertRaises(plumb.PlumbError) as raised:
                plumb.compare({key: array}, {"x": array})
            self.assertIn("output:0", raised.exception.try_)
        masked = np.ma.masked_array(array, mask=array == 0)  # the mask must not be forgotten
        self.assertRaisesRegex(plumb.PlumbError, "masked", plumb.compare, {"x": masked}, {"x": array})
        self.assertRaisesRegex(plumb.PlumbError, "jobs=-1", plumb.compare, {"x": array}, {"x": array}, jobs=-1)
        with self.assertRaises(plumb.PlumbError) as raised:
            plumb.compare({"x": array}, {"x": array}, profile="standart")
        self.assertIn("standard", raised.exception.try_)
        self.assertRaises(plumb.PlumbError, plumb.load_result, self.place / "none.json")
        self.assertRaises(plumb.PlumbError, plumb.reduce, self.place)


class Dumps(Scratch):
    def test_tensors(self):
        arrays = some_arrays(4)
        dump = plumb.open_dump(self.save("d", **arrays))
        self.assertEqual(sorted(dump), [(name, "output:0") for name in sorted(arrays)])
        self.assertIn(("conv1", "output:0"), dump)
        self.assertIn("conv1", dump)
        self.assertNotIn("conv9", dump)
        self.assertEqual(plumb.compare(dump, {name: array.copy() for name, array in arrays.items()}).verdict, "pass")
        tensor = dump["conv1", "output:0"]
        np.testing.assert_array_equal(tensor.numpy(), arrays["conv1"])
        np.testing.assert_array_equal(np.asarray(dump["conv2"]), arrays["conv2"])
        self.assertEqual(tensor.__array__(dtype=np.float64, copy=None).dtype, np.float64)  # as numpy 2 asks
        self.assertRaises(ValueError, tensor.__array__, copy=False)
        self.assertEqual((tensor.dtype, tensor.shape, tensor.file), ("float32", (2, 8, 5, 5), "conv1.npy"))
        with self.assertRaises(plumb.PlumbError) as raised:
            dump["conv11", "output:0"]
        self.assertIn("conv1", raised.exception.try_)
        self.assertEqual(plumb.compare(self.place / "d", {name: dump[name].numpy() for name in arrays}).verdict, "pass")

    def test_reduce(self):
        directory = self.place / "fx/1/gm_20240101000000_dump"
        directory.mkdir(parents=True)
        array = np.arange(1000, dtype=np.float32)
        np.save(directory / "add-aten.add.Tensor.OUTPUT.0.20240130144152161941.npy", array)
        report = plumb.reduce(self.place / "fx", keep=True)
        self.assertEqual((report["files"], report["left"]), (1, []))
        self.assertGreater(report["bytes_before"], report["bytes_after"])
        report = plumb.reduce(self.place / "fx")
        self.assertEqual([path.suffix for path in directory.iterdir() if "min_max" not in path.name], [])


def child(pipe):
    try:
        array = np.zeros(10)
        plumb.compare({"x": array}, {"x": array})
        pipe.send("compared")
    except plumb.PlumbError as error:
        pipe.send(error.what)


class Processes(unittest.TestCase):
    def test_threads(self):
        golden = some_arrays(5)
        expected = plumb.compare(golden, golden, metrics="all").to_json()
        texts = []

        def work():
            texts.append(plumb.compare(golden, golden, metrics="all").to_json())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([without_time(text) for text in texts], [without_time(expected)] * 8)

    def test_other_threads_run_meanwhile(self):
        array = np.zeros(1 << 25, np.float32)
        counted, over = [0], threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        try:
            plumb.compare({"x": array}, {"x": array + 1}, metrics="all")
        finally:
            over.set()
            thread.join()
        self.assertGreater(counted[0], 5)

    def test_forked(self):
        array = np.zeros(10)
        plumb.compare({"x": array}, {"x": array})
        for method, expected in (("fork", "Plumbline was used before this process was forked"), ("spawn", "compared")):
            with self.subTest(method):
                context = multiprocessing.get_context(method)
                ours, theirs = context.Pipe()
                process = context.Process(target=child, args=(theirs,))
                process.start()
                self.assertTrue(ours.poll(60), "the child hangs")
                self.assertEqual(ours.recv(), expected)
                process.join(60)
                self.assertEqual(process.exitcode, 0)

    def test_interrupt(self):
        script = (
            "import sys, threading, time, os, signal\n"
            f"sys.path.insert(0, {str(BUILD / 'python')!r})\n"
            "import numpy as np, plumbline as plumb\n"
            "array = np.zeros(1 << 26, np.float32); other = array + 1\n"
            "sent = []\n"
            "def interrupt():\n"
            "    time.sleep(0.3); sent.append(time.monotonic()); os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            "try:\n"
            "    while True: plumb.compare({'x': array}, {'x': other}, metrics='all')\n"
            "except KeyboardInterrupt:\n"
            "    print(time.monotonic() - sent[0])\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout), 20, "s; a fraction of one on an idle machine")

    def test_progress(self):
        calls = []
        array = np.zeros(1 << 24, np.float32)
        plumb.compare({"x": array}, {"x": array}, progress=lambda total, done: calls.append((total, done)))
        self.assertEqual(calls[-1][0], 2 * array.nbytes)
        self.assertEqual(sorted(calls), calls)

        def refuse(total, done):
            raise ValueError("enough")

        with self.assertRaisesRegex(ValueError, "enough"):
            plumb.compare({"x": array}, {"x": array}, progress=refuse)


class Module(unittest.TestCase):
    def test_names(self):
        for name in plumb.__all__:
            if name != "torch":
                self.assertTrue(getattr(plumb, name).__doc__, name)
        self.assertEqual(plumb.__version__, command_line("--version").split()[-1])

    def test_stubs(self):
        """Every public name has a line in the stubs, and they name nothing else."""
        import ast

        package = ROOT / "python/plumbline"
        tree = ast.parse((package / "_core.pyi").read_text())
        from plumbline import _core

        stubbed = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(stubbed, {name for name in dir(_core) if not name.startswith("_")})
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                for name in members:
                    self.assertTrue(hasattr(getattr(_core, node.name), name), f"{node.name}.{name}")
                real = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")}
                self.assertEqual(real - members, set(), node.name)
        tree = ast.parse((package / "__init__.pyi").read_text())
        stubbed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        stubbed |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
        self.assertEqual(stubbed, set(plumb.__all__))

    def test_import_is_light(self):
        code = f"import sys; sys.path.insert(0, {str(BUILD / 'python')!r}); import plumbline; print('torch' in sys.modules, 'pandas' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "False False\n")


    def test_without_torch(self):
        """Who asks for PyTorch and does not have it is told what to install."""
        code = (f"import sys; sys.path.insert(0, {str(BUILD / 'python')!r}); sys.modules['torch'] = None; import plumbline as plumb\n"
                "try: plumb.torch.record\nexcept plumb.PlumbError as error: print(error.what, '|', error.try_)")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertIn("PyTorch is not installed", done.stdout)
        self.assertIn("python3-torch", done.stdout)


class Models(Scratch):
    def setUp(self):
        super().setUp()
        if not any((BUILD / "lib").glob("libplumb_onnxruntime*")) or not (BUILD / "lib/libonnxruntime.so.1").exists():
            self.skipTest("ONNX Runtime is not installed")

    def test_run(self):
        model = ROOT / "examples/models/digits.onnx"
        data = np.random.default_rng(0).standard_normal((1, 1, 28, 28), dtype=np.float32)
        np.save(self.place / "x.npy", data)
        ours = plumb.run(model, model, inputs={"data": data}, layers="all", target_optimization="all")
        self.assertEqual(ours.verdict, "pass", ours)
        theirs = json.loads(
            command_line("run", model, model, "--input", self.place / "x.npy", "--layers", "all", "--target-optimization", "all", "--json", "-"))  # fmt: skip
        mine = json.loads(ours.to_json())
        self.assertEqual([row["metrics"] for row in mine["rows"]], [row["metrics"] for row in theirs["rows"]])
        for inputs in (data, str(self.place / "x.npy"), {"data": self.place / "x.npy"}, [data]):
            self.assertEqual(plumb.run(model, model, inputs=inputs).verdict, "pass")
        self.assertEqual(plumb.run(model, model, inputs=[data, data + 1]).summary["rows"], 2)

    def test_wrong_inputs(self):
        model = ROOT / "examples/models/digits.onnx"
        with self.assertRaises(plumb.PlumbError) as raised:
            plumb.run(model, model, inputs={"dato": np.zeros((1, 1, 28, 28), np.float32)})
        self.assertIn("data", raised.exception.try_)
        with self.assertRaises(plumb.PlumbError) as raised:
            plumb.run(model, model, inputs=np.zeros((1, 1, 28, 27), np.float32))
        self.assertIn("array", str(raised.exception))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
