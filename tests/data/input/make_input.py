#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures beside this file and computes what they must become.

Arithmetic is numpy's, in double, written from the formulas. Decoding JPEG and resizing are OpenCV's
own (python3-opencv 4.6.0, needed only to run this script again): its rounding is what boards use.
"""
import gzip
import os
import struct

import cv2
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.RandomState(7)
expected = {}


def path(name):
    return os.path.join(here, name)


def round_away(x):
    return np.clip(np.floor(np.abs(x) + 0.5) * np.sign(x), 0, 255).astype(np.uint8)


# A picture of smooth colours and some noise, 20 wide and 14 high.
y, x = np.mgrid[0:14, 0:20]
picture = np.stack([x * 12, y * 17, 255 - x * 6 - y * 8], -1) + rng.randint(0, 8, (14, 20, 3))
picture = np.clip(picture, 0, 255).astype(np.uint8)  # B, G, R
cv2.imwrite(path("picture.png"), picture)
cv2.imwrite(path("picture.bmp"), picture)
cv2.imwrite(path("gray.png"), picture[:, :, 1])
cv2.imwrite(path("alpha.png"), np.concatenate([picture, picture[:, :, :1]], -1))
large = cv2.resize(picture, (48, 32), interpolation=cv2.INTER_CUBIC)
cv2.imwrite(path("picture.jpg"), large, [cv2.IMWRITE_JPEG_QUALITY, 90])
expected["picture"] = picture
expected["jpeg"] = cv2.imread(path("picture.jpg"))

for name, flag in [("bilinear", cv2.INTER_LINEAR), ("nearest", cv2.INTER_NEAREST),
                   ("area", cv2.INTER_AREA), ("cubic", cv2.INTER_CUBIC)]:
    expected["resize_" + name] = cv2.resize(picture, (9, 7), interpolation=flag)


def bilinear(image, width, height, align):
    """Bilinear by definition, before rounding."""
    def places(to, from_):
        i = np.arange(to)
        at = i * (from_ - 1) / (to - 1) if align else (i + 0.5) * from_ / to - 0.5
        at = np.clip(at, 0, from_ - 1)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, from_ - 1), at - low
    x0, x1, fx = places(width, image.shape[1])
    y0, y1, fy = places(height, image.shape[0])
    fx, fy = fx[None, :, None], fy[:, None, None]
    top = image[y0][:, x0] * (1 - fx) + image[y0][:, x1] * fx
    bottom = image[y1][:, x0] * (1 - fx) + image[y1][:, x1] * fx
    return top * (1 - fy) + bottom * fy


expected["exact_bilinear"] = bilinear(picture.astype(float), 9, 7, False)
expected["align_bilinear"] = round_away(bilinear(picture.astype(float), 9, 7, True))

# Short side to 10: 20x14 becomes 14x10; the 8x8 in the middle starts at column 3 and row 1.
short = cv2.resize(picture, (14, 10), interpolation=cv2.INTER_LINEAR)
rgb = short[1:9, 3:11, ::-1].astype(float)
expected["short_crop"] = ((rgb / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(
    2, 0, 1)[None].astype(np.float32)

# As large as fits into 16x16: 16x11, two rows of grey above and three below.
box = np.full((16, 16, 3), 114, np.uint8)
box[2:13] = cv2.resize(picture, (16, 11), interpolation=cv2.INTER_LINEAR)
expected["letterbox"] = box[None]

expected["gray"] = round_away(picture @ np.array([0.114, 0.587, 0.299]))


# YUV by the formulas.
FULL = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]])
STUDIO = np.array([[1.164, 0, 1.596], [1.164, -0.392, -0.813], [1.164, 2.017, 0]])
luma = rng.randint(0, 256, (6, 8)).astype(np.uint8)
u = rng.randint(0, 256, (3, 4)).astype(np.uint8)
v = rng.randint(0, 256, (3, 4)).astype(np.uint8)
luma[0, :4], u[0, :2], v[0, :2] = [0, 255, 16, 235], [0, 255], [255, 0]  # where values are clipped
open(path("yuv.nv12"), "wb").write(luma.tobytes() + np.stack([u, v], -1).tobytes())
open(path("yuv.nv21"), "wb").write(luma.tobytes() + np.stack([v, u], -1).tobytes())
full_u, full_v = u.repeat(2, 0).repeat(2, 1), v.repeat(2, 0).repeat(2, 1)
for name, matrix, offset in [("full", FULL, 0), ("studio", STUDIO, 16)]:
    yuv = np.stack([luma.astype(float) - offset, full_u - 128.0, full_v - 128.0], -1)
    expected["rgb_" + name] = round_away(yuv @ matrix.T)
# Packed: the upper row of each pair of chroma rows, twice.
pairs_u, pairs_v = u.repeat(2, 0), v.repeat(2, 0)
open(path("yuv.yuyv"), "wb").write(
    np.stack([luma[:, 0::2], pairs_u, luma[:, 1::2], pairs_v], -1).tobytes())
open(path("yuv.uyvy"), "wb").write(
    np.stack([pairs_u, luma[:, 0::2], pairs_v, luma[:, 1::2]], -1).tobytes())

# And back: colours to NV12, chroma the mean of four.
even = picture[:, :, ::-1].astype(float)
for name, matrix, offset in [("full", FULL, 0), ("studio", STUDIO, 16)]:
    yuv = even @ np.linalg.inv(matrix).T
    chroma = yuv[:, :, 1:].reshape(7, 2, 10, 2, 2).mean((1, 3)) + 128
    expected["nv12_" + name] = np.concatenate(
        [round_away(yuv[:, :, 0] + offset).ravel(), round_away(chroma).ravel()])

np.savez_compressed(path("expected.npz"), **expected)

# Three digits of 4x5, as MNIST stores them.
digits = rng.randint(0, 256, (3, 5, 4)).astype(np.uint8)
idx = struct.pack(">IIII", 0x803, 3, 5, 4) + digits.tobytes()
open(path("digits.idx3-ubyte"), "wb").write(idx)
with open(path("digits.idx3-ubyte.gz"), "wb") as file:
    with gzip.GzipFile("digits.idx3-ubyte", "wb", fileobj=file, mtime=0) as packed:
        packed.write(idx)
np.save(path("digits.npy"), digits)

# Tensors in all the files that hold them.
values = np.arange(6, dtype=np.float32).reshape(1, 2, 3) / 4
np.save(path("values.npy"), values)
np.save(path("values_f64.npy"), values.astype(np.float64))
np.save(path("thirds_f64.npy"), values.astype(np.float64) / 3)
values.tofile(path("values.bin"))
np.savez(path("several.npz"), a=values, b=np.array([[1, 2, 3]], np.int64))
import onnx.numpy_helper  # noqa: E402
open(path("values.pb"), "wb").write(onnx.numpy_helper.from_array(values, "x").SerializeToString())
