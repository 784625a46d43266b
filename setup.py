# SPDX-License-Identifier: Apache-2.0
#
# The wheel: `pip wheel . --no-build-isolation --no-deps`. CMake builds and installs the component "python", see
# python/CMakeLists.txt. PLUMB_BUILD_DIR names a tree that is configured already, so that nothing is built twice.
import os
import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
TARGETS = ["plumb_python", "plumb", "plumb_worker"]


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        given = os.environ.get("PLUMB_BUILD_DIR")
        tree = pathlib.Path(given or self.build_temp).resolve()
        if not given:
            generator = ["-G", "Ninja"] if self._have("ninja") else []
            subprocess.check_call(
                ["cmake", "-S", ROOT, "-B", tree, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DPLUMB_TESTS=OFF",
                 f"-DPython_EXECUTABLE={sys.executable}"])  # fmt: skip
        jobs = os.environ.get("JOBS", str(os.cpu_count()))
        subprocess.check_call(["cmake", "--build", tree, "--parallel", jobs, "--target", *TARGETS])
        subprocess.check_call(
            ["cmake", "--install", tree, "--component", "python", "--strip", "--prefix", pathlib.Path(self.build_lib)])

    @staticmethod
    def _have(program):
        from shutil import which

        return which(program) is not None


version = re.search(r"project\(plumbline VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
setup(
    name="plumbline",
    version=version,
    description="Does a converted neural network still compute the same thing, where does it go wrong, and why",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.9",
    install_requires=["numpy"],
    packages=[],
    ext_modules=[Extension("plumbline._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    entry_points={"console_scripts": ["plumb = plumbline._program:main"]},
    zip_safe=False,
)
