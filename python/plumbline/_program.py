# SPDX-License-Identifier: Apache-2.0
"""The program `plumb` that a wheel carries."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "plumb")
    os.execv(program, ["plumb", *sys.argv[1:]])
