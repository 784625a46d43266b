#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the digits 0 to 9 as small pictures, digits/0.png to digits/9.png, in white strokes on black.

They are ours, so they can lie in the repository, which images of MNIST cannot; the network was not
trained on them.

usage: examples/models/draw_digits.py [-o DIRECTORY]     needs python3-numpy
"""
import argparse
import pathlib
import struct
import zlib

import numpy as np

SIZE = 28
RADIUS = 1.3   # of the pen, in pixels
LEVELS = 8     # of grey: enough for smooth edges, few enough for small files


def arc(x, y, across, down, start, end):
    """Points on an ellipse around (x, y); degrees clockwise from the right, as y points down."""
    angles = np.radians(np.linspace(start, end, 25))
    return [(x + across * np.cos(a), y + down * np.sin(a)) for a in angles]


# Strokes in pixels, each a list of points joined by straight lines.
STROKES = {
    0: [arc(14, 14, 5.5, 9, 0, 360)],
    1: [[(11.5, 8), (14.5, 5), (14.5, 23)]],
    2: [arc(13.5, 10, 5.5, 5, 190, 380) + [(9, 22.5), (20, 22.5)]],
    3: [arc(13, 9.5, 5, 4.5, 200, 450), arc(13, 18.5, 5.5, 4.5, 270, 520)],
    4: [[(10.5, 5), (8, 15.5), (19.5, 15.5)], [(17.5, 5.5), (16, 23)]],
    5: [[(19, 5.5), (10.5, 5.5), (9.5, 12.5)] + arc(13, 17, 5.5, 5.5, 235, 500)],
    6: [[(17, 5), (13, 8), (9.8, 13)] + arc(14, 18, 4.8, 5, 190, 550)],
    7: [[(8.5, 6), (19.5, 6), (13, 23)]],
    8: [arc(14, 9.5, 4.3, 4.3, 0, 360), arc(14, 18.5, 5, 4.7, 0, 360)],
    9: [arc(13.5, 10, 4.8, 5, 0, 360), [(18.3, 10), (17.5, 16), (16, 23)]],
}


def draw(strokes):
    """The picture of a pen that follows the strokes: full within its radius, fading over one pixel."""
    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    nearest = np.full((SIZE, SIZE), np.inf)
    for stroke in strokes:
        for (x0, y0), (x1, y1) in zip(stroke, stroke[1:]):
            dx, dy = x1 - x0, y1 - y0
            along = ((columns - x0) * dx + (rows - y0) * dy) / (dx * dx + dy * dy)
            along = np.clip(along, 0, 1)
            nearest = np.minimum(nearest, np.hypot(columns - x0 - along * dx, rows - y0 - along * dy))
    ink = np.clip(RADIUS + 0.5 - nearest, 0, 1)
    return np.round(np.round(ink * (LEVELS - 1)) * (255 / (LEVELS - 1))).astype(np.uint8)


def png(pixels):
    """An 8-bit grey PNG: signature, header, one compressed block of rows without filter, end."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    options = argparse.ArgumentParser(description="Draw the digits 0 to 9 as PNG files.")
    options.add_argument("-o", dest="output", type=pathlib.Path,
                         default=pathlib.Path(__file__).resolve().parent / "digits")
    options = options.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for digit, strokes in STROKES.items():
        (options.output / f"{digit}.png").write_bytes(png(draw(strokes)))


if __name__ == "__main__":
    main()
