#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A wheel made of a build tree, without network, and tried out in an environment that has nothing else of ours.

usage: tests/python/wheel_test.py BUILD      exit status 77: pip or venv is not installed
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

FIVE_MINUTES = """
import os, numpy as np, plumbline as plumb
assert "site-packages" in plumb.__file__, plumb.__file__
golden = {"conv1": np.linspace(-1, 1, 1000, dtype=np.float32)}
target = {"conv1": golden["conv1"] * np.float32(1.5)}
result = plumb.compare(target, golden)
assert result.verdict == "fail" and result.findings[0].detail == "scale:1.5", result
result.save("result.json"); result.save("report.html")
assert plumb.load_result("result.json").verdict == "fail"
if os.environ["HAS_ENGINE"] == "1":
    result = plumb.run(os.environ["MODEL"], os.environ["MODEL"], seed=1, layers="all")
    assert result.verdict == "pass", result
print("works")
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


SYSTEM = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libstdc++.", "libgcc_s.")


def strangers(package):
    """Libraries that the wheel's programs and module load from elsewhere, beside those of the compiler and the C library."""
    found = set()
    for file in (*package.glob("_core*.so"), package / "bin/plumb", package / "libexec/plumbline/plumb-worker"):
        for line in run("ldd", file).splitlines():
            name, _, path = line.strip().partition(" => ")
            if path and not name.startswith(SYSTEM) and not path.startswith(str(package)):
                found.add(f"{file.name}: {line.strip()}")
    return sorted(found)


def main():
    for module in ("pip", "setuptools", "wheel", "venv"):
        if subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode != 0:
            print(f"skipped: Python's {module} is not installed (scripts/setup)")
            return 77
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        source = place / "source"  # pip writes beside setup.py
        source.mkdir()
        for name in ("setup.py", "pyproject.toml", "README.md", "CMakeLists.txt"):
            (source / name).write_bytes((ROOT / name).read_bytes())
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PLUMB"))}
        run("/usr/bin/python3", "-m", "pip", "wheel", ".", "--no-build-isolation", "--no-deps", "--no-index", "-w", place / "dist",
            cwd=source, env={**clean, "PLUMB_BUILD_DIR": str(BUILD)})  # fmt: skip
        (wheel,) = (place / "dist").glob("plumbline-*.whl")
        names = set(zipfile.ZipFile(wheel).namelist())
        for needed in ("plumbline/__init__.py", "plumbline/py.typed", "plumbline/_core.pyi", "plumbline/torch.py",
                       "plumbline/bin/plumb", "plumbline/libexec/plumbline/plumb-worker"):  # fmt: skip
            assert needed in names, (needed, sorted(names))
        run("/usr/bin/python3", "-m", "venv", "--system-site-packages", place / "venv")  # numpy is the system's
        python = place / "venv/bin/python"
        run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel, env=clean)
        (package,) = (place / "venv/lib").glob("python*/site-packages/plumbline")
        assert not strangers(package.resolve()), strangers(package.resolve())
        has_engine = any(name.endswith("libonnxruntime.so.1") for name in names)
        environment = {**clean, "HAS_ENGINE": str(int(has_engine)), "MODEL": str(ROOT / "examples/models/digits.onnx")}
        assert run(python, "-c", FIVE_MINUTES, cwd=place, env=environment) == "works\n"
        assert "plumb" in run(place / "venv/bin/plumb", "--version", env=clean)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, works{'' if has_engine else ' (without an engine)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
