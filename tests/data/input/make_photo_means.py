#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Means of B, G and R of labelled photos after `short:256+crop` to 227x227, by OpenCV's own Python.

usage: make_photo_means.py DIRECTORY > photo_means.csv   (a directory of .jpg files; not part of this project)
"""
import pathlib
import sys

import cv2

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jpg")):
    image = cv2.imread(str(path), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    height, width = image.shape[:2]
    short = min(height, width)
    image = cv2.resize(image, (width * 256 // short, height * 256 // short), interpolation=cv2.INTER_LINEAR)
    top, left = (image.shape[0] - 227) // 2, (image.shape[1] - 227) // 2
    means = image[top:top + 227, left:left + 227].reshape(-1, 3).mean(0)
    print(path.name, *(f"{mean:.4f}" for mean in means), sep=",")
