#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A comparison by a Dask cluster: compare_dask.py SCHEDULER SHARES TARGET GOLDEN [OPTION of plumb compare]...

SCHEDULER is the address of a running one, or `local`. Workers and this script see the same directories.
"""
import subprocess
import sys

from dask.distributed import Client


def compare(shard, words):
    part = f"part-{shard.replace('/', '-of-')}.json"
    subprocess.run(["plumb", "compare", *words, "--shard", shard, "-o", part], check=True)
    return part


if __name__ == "__main__":
    scheduler, shares, *words = sys.argv[1:]
    with Client(n_workers=2, threads_per_worker=1) if scheduler == "local" else Client(scheduler) as client:
        parts = client.gather([client.submit(compare, f"{k}/{shares}", words, pure=False) for k in range(1, int(shares) + 1)])
    sys.exit(subprocess.run(["plumb", "merge", *parts, "-o", "result.json"]).returncode)
