#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what engines have to compute for the drawn digits with the network in examples/models.

All numbers come from the plain forward pass in examples/models/network.py, in float64, rounded to
float32 at the end; no engine took part. First axis of all arrays: the image.

  expected.npz       ten digits, 0 to 9: pixels (uint8), data (the input tensor), pool5, fc6, prob
  intermediate.npz   digit 5 alone: data and a tensor of each kind of layer on the way, by its name

usage: tests/data/digits/make_expected.py [-o DIRECTORY]     needs python3-numpy
"""
import argparse
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "examples/models"))
import draw_digits  # noqa: E402
import network  # noqa: E402

OUTPUTS = ["data", "pool5", "fc6", "prob"]
DIGIT = 5
ON_THE_WAY = ["data", "conv1", "dw2_scale", "dw2_relu", "pool2", "pw3_bn", "pw3_scale", "add3_relu", "concat4",
              "conv5_relu", "prob"]


def expected():
    """The arrays of each file, by file name."""
    pixels = np.stack([draw_digits.draw(draw_digits.STROKES[digit]) for digit in range(10)])
    tensors = network.run(network.load_weights(), network.normalise(pixels))
    tensors = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    return {"expected.npz": {"pixels": pixels, **{name: tensors[name] for name in OUTPUTS}},
            "intermediate.npz": {name: tensors[name][DIGIT:DIGIT + 1] for name in ON_THE_WAY}}


def main():
    options = argparse.ArgumentParser(description="Make the expected tensors of the drawn digits.")
    options.add_argument("-o", dest="output", type=pathlib.Path, default=HERE)
    options = options.parse_args()
    for name, arrays in expected().items():
        np.savez_compressed(options.output / name, **arrays)


if __name__ == "__main__":
    main()
