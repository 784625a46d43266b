#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the example network on the 60,000 labelled digits of MNIST and writes digits.npz.

Needs python3-numpy only, one core and some minutes. The same seed gives the same weights, bit for
bit, on the same machine and numpy: all sums are numpy's own (einsum, not BLAS), in one thread.

Tensors are kept as channels x rows x columns x images: what a layer adds up then lies in long rows,
which numpy works through at full speed.

usage: examples/models/train.py [--data DIR] [--epochs N] [--seed N] [-o FILE]
"""
import argparse
import functools
import pathlib
import time

import numpy as np

import network

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH = 100
RATE = 4e-3       # of Adam at its highest; rises for the first steps, then falls to zero
MOMENTUM = 0.99   # of the running mean and variance
SHIFT = 2         # pixels by which a training image moves at random
TRAINED = ("weight", "bias", "gamma", "beta")


def first_weights(random):
    """Normal for weights, of the size that keeps the signal's; neutral for the rest."""
    weights = {}
    for name, shape in network.weight_shapes().items():
        if name.endswith(".weight"):
            weights[name] = random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape).astype(np.float32)
        else:
            one = name.endswith((".variance", ".gamma"))
            weights[name] = np.full(shape, float(one), np.float32)
    return weights


def taps(x, layer, size):
    """For each place in the kernel: the strided part of x that it meets."""
    for i in range(layer.kernel):
        for j in range(layer.kernel):
            yield x[:, i:i + layer.stride * (size - 1) + 1:layer.stride,
                    j:j + layer.stride * (size - 1) + 1:layer.stride]


def pad(x, before, after, value=0):
    return np.pad(x, ((0, 0), (before, after), (before, after), (0, 0)), constant_values=value)


# Each function below computes a layer and returns its tensor and `back`, which takes the gradient of
# the tensor and returns those of the inputs, and of the weights by name.

def convolve(layer, x, weight):
    shape = x.shape
    size = (shape[1] + 2 * layer.pad - layer.kernel) // layer.stride + 1
    padded = pad(x, layer.pad, layer.pad) if layer.pad else x
    images = shape[3]

    def spread(columns):  # the gradients of the taps, added up where they overlap
        result = np.zeros_like(padded)
        for part, column in zip(taps(result, layer, size), columns):
            part += column
        end = layer.pad + shape[1]
        return result[:, layer.pad:end, layer.pad:end]

    if layer.group > 1:
        flat = weight.reshape(layer.out, -1).T[:, :, None, None, None]
        y = sum(tap * w for tap, w in zip(taps(padded, layer, size), flat))

        def back(dy):
            dw = [np.einsum("chwn,chwn->c", tap, dy) for tap in taps(padded, layer, size)]
            return [spread(dy * w for w in flat)], {"weight": np.stack(dw, 1).reshape(weight.shape)}
        return y, back

    # One matrix product: rows are channels and places in the kernel, columns are outputs.
    each = shape[0]
    matrix = np.ascontiguousarray(weight.transpose(0, 2, 3, 1)).reshape(layer.out, -1)
    columns = np.stack(list(taps(padded, layer, size))).reshape(-1, size * size * images)
    y = np.einsum("ok,kn->on", matrix, columns).reshape(layer.out, size, size, images)

    def back(dy):
        dy = dy.reshape(layer.out, -1)
        dw = np.einsum("on,kn->ok", dy, columns).reshape(layer.out, layer.kernel, layer.kernel, each)
        gradients = {"weight": dw.transpose(0, 3, 1, 2)}
        if layer.bottoms == ["data"]:
            return [None], gradients
        dcolumns = np.einsum("ko,on->kn", np.ascontiguousarray(matrix.T), dy)
        return [spread(dcolumns.reshape(-1, each, size, size, images))], gradients
    return y, back


def batch_norm(x, mean, variance):
    """Normalises by this batch, and moves the running mean and variance towards it."""
    rows = x.reshape(len(x), -1)
    count = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.einsum("cn,cn->c", centred, centred) / np.float32(count)
    scale = (1 / np.sqrt(spread + np.float32(network.EPSILON)))[:, None]
    y = centred * scale
    mean += (1 - MOMENTUM) * (rows.mean(axis=1) - mean)
    variance += (1 - MOMENTUM) * (spread * count / (count - 1) - variance)

    def back(dy):
        dy = dy.reshape(rows.shape)
        along = (np.einsum("cn,cn->c", dy, y) / np.float32(count))[:, None]
        return [((dy - dy.mean(axis=1, keepdims=True) - y * along) * scale).reshape(x.shape)], {}
    return y.reshape(x.shape), back


def scale_channels(x, gamma, beta):
    y = x * gamma[:, None, None, None] + beta[:, None, None, None]

    def back(dy):
        rows = dy.reshape(len(dy), -1)
        return [dy * gamma[:, None, None, None]], {
            "gamma": np.einsum("cn,cn->c", rows, x.reshape(rows.shape)), "beta": rows.sum(axis=1)}
    return y, back


def max_pool(layer, x):
    steps = -(-(x.shape[1] - layer.kernel) // layer.stride)
    padded = pad(x, 0, steps * layer.stride + layer.kernel - x.shape[1], -np.inf)
    y = functools.reduce(np.maximum, taps(padded, layer, steps + 1))

    def back(dy):
        result = np.zeros_like(padded)
        left = dy.copy()  # a gradient goes to the first place that holds the maximum
        for tap, part in zip(taps(padded, layer, steps + 1), taps(result, layer, steps + 1)):
            here = np.where(tap == y, left, np.float32(0))
            part += here
            left -= here
        return [result[:, :x.shape[1], :x.shape[2]]], {}
    return y, back


def connect(x, weight, bias):
    flat = x.reshape(len(x), -1)
    y = np.einsum("oc,cn->on", weight, flat) + bias[:, None]

    def back(dy):
        dx = np.einsum("oc,on->cn", weight, dy).reshape(x.shape)
        return [dx], {"weight": np.einsum("on,cn->oc", dy, flat), "bias": dy.sum(axis=1)}
    return y, back


def compute(layer, inputs, weights):
    x = inputs[0]
    if layer.kind == "conv":
        return convolve(layer, x, weights[layer.name + ".weight"])
    if layer.kind == "bn":
        return batch_norm(x, weights[layer.name + ".mean"], weights[layer.name + ".variance"])
    if layer.kind == "scale":
        return scale_channels(x, weights[layer.name + ".gamma"], weights[layer.name + ".beta"])
    if layer.kind == "relu":
        y = np.maximum(x, 0)
        return y, lambda dy: ([dy * (y > 0)], {})
    if layer.kind == "max":
        return max_pool(layer, x)
    if layer.kind == "add":
        return x + inputs[1], lambda dy: ([dy, dy], {})
    if layer.kind == "concat":
        return np.concatenate(inputs), lambda dy: (np.split(dy, [len(x)]), {})
    if layer.kind == "mean":
        area = np.float32(x.shape[1] * x.shape[2])
        return (x.mean(axis=(1, 2), keepdims=True),
                lambda dy: ([np.broadcast_to(dy / area, x.shape)], {}))
    assert layer.kind == "fc"
    return connect(x, weights[layer.name + ".weight"], weights[layer.name + ".bias"])


def learn(weights, x, labels):
    """One batch: the mean loss (cross entropy) and the gradient of every trained array."""
    tensors, backs = {"data": x}, []
    for layer in network.LAYERS[1:-1]:
        tensors[layer.name], back = compute(layer, [tensors[b] for b in layer.bottoms], weights)
        backs.append((layer, back))
    logits = tensors["fc6"] - tensors["fc6"].max(axis=0)
    logarithms = logits - np.log(np.exp(logits).sum(axis=0))
    every = np.arange(len(labels))
    dy = np.exp(logarithms)
    dy[labels, every] -= 1
    flowing, gradients = {"fc6": dy / np.float32(len(labels))}, {}
    for layer, back in reversed(backs):
        inputs, own = back(flowing.pop(layer.name))
        for what, gradient in own.items():
            gradients[f"{layer.name}.{what}"] = gradient
        for bottom, gradient in zip(layer.bottoms, inputs):
            flowing[bottom] = flowing[bottom] + gradient if bottom in flowing else gradient
    return -logarithms[labels, every].mean(), gradients


class Adam:
    def __init__(self, weights):
        self.first = {n: np.zeros_like(w) for n, w in weights.items() if n.endswith(TRAINED)}
        self.second = {n: np.zeros_like(w) for n, w in self.first.items()}
        self.step = 0

    def move(self, weights, gradients, rate):
        self.step += 1
        size = rate * np.sqrt(1 - 0.999 ** self.step) / (1 - 0.9 ** self.step)
        for name, gradient in gradients.items():
            self.first[name] += np.float32(0.1) * (gradient - self.first[name])
            self.second[name] += np.float32(0.001) * (gradient * gradient - self.second[name])
            weights[name] -= np.float32(size) * self.first[name] / (np.sqrt(self.second[name]) + np.float32(1e-8))


def shifted(pixels, random):
    """The images, each moved by up to SHIFT pixels in each direction; black comes in from outside."""
    padded = np.pad(pixels, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)))
    down, right = random.integers(0, 2 * SHIFT + 1, (2, len(pixels)))
    view = np.lib.stride_tricks.sliding_window_view(padded, pixels.shape[1:], axis=(1, 2))
    return view[np.arange(len(pixels)), down, right]


def main():
    options = argparse.ArgumentParser(description="Train the example network; takes some minutes.")
    options.add_argument("--data", default=ROOT / "third_party/data/mnist", help="directory of the MNIST files")
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("-o", dest="output", default=network.WEIGHTS, help="where the weights go")
    options = options.parse_args()

    pixels, labels = network.read_mnist(options.data, "train")
    random = np.random.default_rng(options.seed)
    weights = first_weights(random)
    adam = Adam(weights)
    total = options.epochs * (len(pixels) // BATCH)
    started = time.monotonic()
    for epoch in range(options.epochs):
        order = random.permutation(len(pixels))
        losses = []
        for i in range(0, len(pixels) - BATCH + 1, BATCH):
            chosen = order[i:i + BATCH]
            images = network.normalise(shifted(pixels[chosen], random))
            x = np.ascontiguousarray(images.transpose(1, 2, 3, 0))
            loss, gradients = learn(weights, x, labels[chosen])
            done = adam.step / total
            adam.move(weights, gradients, RATE * min(1, 20 * done) * (1 + np.cos(np.pi * done)) / 2)
            losses.append(loss)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {time.monotonic() - started:.0f} s", flush=True)

    np.savez(options.output, **weights)
    pixels, labels = network.read_mnist(options.data, "t10k")
    right = network.accuracy(weights, pixels, labels)
    print(f"{right} of {len(labels)} test images right; {sum(w.size for w in weights.values())} numbers")


if __name__ == "__main__":
    main()
