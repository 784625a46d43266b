# SPDX-License-Identifier: Apache-2.0
"""The files of the example network belong together: ONNX, Caffe and the expected tensors hold what
examples/models/digits.npz holds, and the drawn digits are those that the script draws."""
import pathlib
import re
import struct
import sys
import unittest
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "examples/models"
MNIST = ROOT / "third_party/data/mnist"
sys.dont_write_bytecode = True
sys.path[:0] = [str(MODELS), str(ROOT / "tests/data/digits")]
import draw_digits  # noqa: E402
import export  # noqa: E402
import make_expected  # noqa: E402
import network  # noqa: E402


def fields(message):
    """Numbers and contents of the fields of a protobuf message that holds length-delimited ones only."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        tag = varint()
        assert tag & 7 == 2, f"byte {at}: not length-delimited"
        size = varint()
        yield tag >> 3, message[at:at + size]
        at += size


def caffe_blobs(data):
    """The arrays of a caffemodel, by layer."""
    blobs = {}
    for number, layer in fields(data):
        if number != 100:
            continue
        inside = list(fields(layer))
        name = next(text.decode() for key, text in inside if key == 1)
        blobs[name] = []
        for blob in (dict(fields(content)) for key, content in inside if key == 7):
            shape = list(dict(fields(blob[7]))[1])  # each size is below 128: one byte
            blobs[name].append(np.frombuffer(blob[5], "<f4").reshape(shape))
    return blobs


def unpack_png(data):
    """The pixels of a PNG as draw_digits.py writes them."""
    width, height = struct.unpack(">II", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41:41 + size]), np.uint8).reshape(height, width + 1)
    return rows[:, 1:]


class Models(unittest.TestCase):
    def setUp(self):
        self.weights = network.load_weights()

    def test_onnx_holds_the_weights(self):
        model = onnx.load(str(MODELS / "digits.onnx"))
        stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.assertEqual(sorted(stored), sorted(self.weights))
        for name, array in self.weights.items():
            np.testing.assert_array_equal(stored[name], array, name)

    def test_onnx_is_what_the_script_exports(self):
        stored = onnx.load(str(MODELS / "digits.onnx"))
        made = onnx.load_from_string(export.onnx_model(self.weights))
        self.assertEqual(list(stored.graph.node), list(made.graph.node))

    def test_caffe_holds_the_weights(self):
        blobs = caffe_blobs((MODELS / "digits.caffemodel").read_bytes())
        self.assertEqual(list(blobs), [layer.name for layer in network.LAYERS])
        compared = 0
        for layer in network.LAYERS:
            arrays = blobs[layer.name]
            if layer.kind == "bn":  # the third says what to divide the others by
                arrays = [array / arrays[2] for array in arrays[:2]]
            own = [array for name, array in self.weights.items() if name.startswith(layer.name + ".")]
            self.assertEqual(len(arrays), len(own), layer.name)
            for array, other in zip(arrays, own):
                np.testing.assert_array_equal(array, other, layer.name)
                compared += 1
        self.assertEqual(compared, len(self.weights))

    def test_caffe_is_what_the_script_exports(self):
        text, model = export.caffe_model(self.weights)
        self.assertEqual((MODELS / "digits.prototxt").read_text(), text)
        self.assertEqual((MODELS / "digits.caffemodel").read_bytes(), model)

    def test_config_says_how_pixels_are_normalised(self):
        text = (MODELS / "digits_config.prototxt").read_text()
        self.assertEqual(re.findall(r"(mean|std): (\S+)", text), [("mean", "33"), ("std", "78")])
        self.assertEqual((network.MEAN, network.STD), (33, 78))

    def test_drawn_digits_are_what_the_script_draws(self):
        for digit, strokes in draw_digits.STROKES.items():
            stored = (MODELS / f"digits/{digit}.png").read_bytes()
            np.testing.assert_array_equal(unpack_png(stored), draw_digits.draw(strokes), f"{digit}.png")

    def test_expected_tensors_are_current(self):
        for file, arrays in make_expected.expected().items():
            with np.load(ROOT / "tests/data/digits" / file) as stored:
                self.assertEqual(sorted(stored.files), sorted(arrays))
                for name, array in arrays.items():
                    np.testing.assert_allclose(stored[name], array, rtol=1e-6, atol=1e-6, err_msg=name)

    def test_drawn_digits_are_recognised(self):
        answer = make_expected.expected()["expected.npz"]["prob"].argmax(axis=1)
        self.assertEqual(list(answer), list(range(10)))

    @unittest.skipUnless(MNIST.is_dir(), "no labelled digits here: scripts/setup-data fetches them")
    def test_labelled_digits_are_recognised(self):
        # Wrong weights or pre-processing cost far more than this; the README has the figure for all
        # 10,000, of which the first thousand are among the harder ones.
        pixels, labels = network.read_mnist(MNIST, "t10k")
        self.assertGreaterEqual(network.accuracy(self.weights, pixels[:1000], labels[:1000]), 970)


if __name__ == "__main__":
    unittest.main()
