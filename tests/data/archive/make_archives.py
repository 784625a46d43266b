#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the same twelve small files, two of them equal, in every kind of archive."""
import gzip
import io
import os
import tarfile
import zipfile

here = os.path.dirname(os.path.abspath(__file__))
files = {f"set/{i:02}.bin": bytes([i % 11]) * (600 if i % 11 == 3 else 5) for i in range(12)}
files["set/" + "long_name_" * 12 + ".bin"] = b"long"

for name, form in [("set.tar", tarfile.GNU_FORMAT), ("pax.tar", tarfile.PAX_FORMAT)]:
    with tarfile.open(os.path.join(here, name), "w", format=form) as tar:
        directory = tarfile.TarInfo("set")
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        for member, data in files.items():
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
with open(os.path.join(here, "set.tar"), "rb") as plain:
    with gzip.GzipFile(os.path.join(here, "set.tar.gz"), "wb", mtime=0) as packed:
        packed.write(plain.read())
with zipfile.ZipFile(os.path.join(here, "set.zip"), "w", zipfile.ZIP_DEFLATED) as packed:
    for member, data in files.items():
        packed.writestr(zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0)), data)
