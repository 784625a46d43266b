#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the HDF5 files of this directory with h5py, and beside each file a directory of what numpy
says its datasets hold. npu.h5 and gpu.h5 are PyTorch dumps made for this project; only their expected
arrays are written here."""
import os
import shutil

import h5py
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def expect(file, path, array):
    folder = os.path.join(here, file + ".expected")
    os.makedirs(folder, exist_ok=True)
    array = np.asarray(array)
    array = array.astype(array.dtype.newbyteorder("<")).copy(order="C")
    np.save(os.path.join(folder, path.strip("/").replace("/", "_") + ".npy"), array)


def datasets(file, libver, **options):
    """The same in each file, so that they share what is expected."""
    rng = np.random.default_rng(5)
    with h5py.File(os.path.join(here, file), "w", libver=libver, **options) as f:

        def put(path, array, **how):
            f.create_dataset(path, data=array, **how)
            expect("datasets", path, array)

        floats = rng.standard_normal((3, 4)).astype("f4")
        put("contiguous", floats)
        put("half", floats.astype("f2"))
        put("scalar", np.float64(2.5))
        put("empty", np.zeros((0, 3), "f4"))
        put("bool", floats > 0)
        put("nested/a/b/c/deep", np.arange(24, dtype="i4").reshape(2, 3, 4))
        for code in "i1 u1 i2 u2 i4 u4 i8 u8".split():
            info = np.iinfo(code)
            put("ints/" + code, np.array([info.min, 1, 2, info.max], code))
        for code in "f2 f4 f8 i2 u4 i8 c8 c16".split():
            put("big/" + code, (rng.standard_normal(5) * 100).astype(">" + code))
        put("complex", (floats + 1j * floats[::-1]).astype("c8"))

        table = rng.integers(0, 50, (40, 30)).astype("f4")
        put("packed/gzip", table, chunks=(16, 7), compression="gzip", shuffle=True)
        put("packed/gzip_big", table.astype(">f4"), chunks=(16, 7), compression="gzip")
        put("packed/checksum", table[:5], chunks=(2, 30), fletcher32=True)
        put("packed/offset", table[:5].astype("i4"), chunks=(5, 30), scaleoffset=0)
        put("packed/chunked", table[:7, :5], chunks=(4, 4))
        f.create_dataset("packed/unwritten", (6, 5), "i2", chunks=(4, 4), fillvalue=7)
        expect("datasets", "packed/unwritten", np.full((6, 5), 7, "i2"))
        f.create_dataset("late", (6,), "f4", fillvalue=-1)
        expect("datasets", "late", np.full(6, -1, "f4"))
        f.create_dataset("late_scalar", (), "f4", fillvalue=3)
        expect("datasets", "late_scalar", np.float32(3))

        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(floats.shape)
        made = h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, space, compact)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, floats)
        expect("datasets", "compact", floats)

        brain = h5py.h5t.IEEE_F32LE.copy()  # bfloat16: the upper half of a float
        brain.set_fields(15, 7, 8, 0, 7)
        brain.set_size(2)
        brain.set_ebias(127)
        halves = (floats.view("u4") >> 16).astype("u2")
        made = h5py.h5d.create(f.id, b"bfloat16", brain, space)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, halves, brain)
        expect("datasets", "bfloat16", halves)  # the codes


def oddities(file):
    """What is listed but not read, and what is not even followed."""
    with h5py.File(os.path.join(here, file), "w", libver="latest") as f:
        f["plain"] = np.arange(3, dtype="f4")
        f["z_again"] = f["plain"]
        f["soft"] = h5py.SoftLink("/plain")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["outside"] = h5py.ExternalLink("/etc/passwd", "/")
        f["group/cycle"] = f["/"]
        f["group/self"] = f["group"]
        f["text"] = ["a", "bcd"]
        f["fixed_text"] = np.array([b"abc", b"de"], "S3")
        f["record"] = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])
        f["null"] = h5py.Empty("f4")
        f["enumeration"] = np.array([0, 2], h5py.enum_dtype({"a": 0, "b": 2}, "u1"))
        f["type"] = np.dtype("f4")
        f.create_dataset("lzf", data=np.zeros(100, "f4"), compression="lzf")
        f.create_dataset("elsewhere", (4,), "f4", external=[("/etc/passwd", 0, 16)])
        layout = h5py.VirtualLayout((3,), "f4")
        layout[:] = h5py.VirtualSource(".", "plain", (3,))
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("bomb", (1 << 20, 1 << 20), "f4", chunks=(1024, 1024))
        deep = f.create_group("deep")
        for _ in range(70):
            deep = deep.create_group("d")
        deep["unreached"] = 1


def strided(file):
    """A PyTorch dump whose tensors lie in their storage in another order."""
    values = np.arange(12, dtype="f4")
    with h5py.File(os.path.join(here, file), "w") as f:

        def put(path, shape, stride, device, kind=0, restrided=True, **how):
            data = values[: int(np.prod(shape))].reshape(shape)
            made = f.create_dataset(path, data=data, **how)
            made.attrs.update(Type=kind, DataType=1, DeviceType=device, FormatType=0, Stride=stride)
            if restrided:
                view = np.lib.stride_tricks.as_strided(data, shape, [4 * s for s in stride])
                expect(file, path, view)
            else:
                expect(file, path, data)

        put("Add/1/output/transposed", (3, 4), [1, 3], 0)
        put("Add/1/output/packed", (3, 4), [1, 3], 0, chunks=(2, 2), compression="gzip")
        put("Add/1/output/expanded", (3, 4), [1, 0], 1)
        put("Add/1/output/plain", (3, 4), [4, 1], 1)
        put("Add/1/output/npu", (3, 4), [1, 3], 10, restrided=False)
        put("Add/1/output/too_far", (3, 4), [1, 4], 0, restrided=False)
        put("Add/1/output/negative", (3, 4), [-1, 3], 0, restrided=False)
        put("Add/1/output/short", (3, 4), [1], 0, restrided=False)
        put("Add/1/input/alpha", (1,), [1], 0, kind=6)


def large(file):
    """Bigger than one piece of the plug-in's answer; its values are position % 7."""
    with h5py.File(os.path.join(here, file), "w") as f:
        values = (np.arange(9_000_000) % 7).astype("u1").reshape(1_000_000, 9)
        f.create_dataset("sevens", data=values, chunks=(100_000, 9), compression=9)


for name in os.listdir(here):
    if name.endswith(".expected"):
        shutil.rmtree(os.path.join(here, name))
datasets("earliest.h5", "earliest")
datasets("latest.h5", "latest")
datasets("user_block.h5", "latest", userblock_size=1024)
oddities("oddities.h5")
strided("strided.h5")
large("large.h5")
for name in ("npu.h5", "gpu.h5"):
    with h5py.File(os.path.join(here, name)) as dump:
        dump.visititems(lambda path, item, name=name: isinstance(item, h5py.Dataset)
                        and expect(name, path, item[()]) or None)
