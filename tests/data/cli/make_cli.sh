#!/usr/bin/env bash
# How the files here were made, from the repository's root after a build.
set -euo pipefail
cd "$(dirname "$0")/../../.."
build/bin/make_example_dump tests/data/cli/example
rm -rf tests/data/cli/npu_broken && mv tests/data/cli/example/npu_broken tests/data/cli/
mkdir -p tests/data/cli/damaged
dump=tests/data/cli/example/npu/20260101120000/0/tiny/1/0
ln -sf ../example/npu/20260101120000/0/tiny/1/0/Relu.relu1.2.7.1767268800000002 tests/data/cli/damaged/
head -c 9000 "$dump/AvgPool.pool1.3.7.1767268800000003" > tests/data/cli/damaged/AvgPool.pool1.3.7.1767268800000003
ln -sf ../pt/nested_dict.pt ../npz/crc_stored.npz ../npz/objects.npz tests/data/cli/
ln -sfn ../msaccucmp/10-overflow/dump tests/data/cli/overflow_records
ln -sf ../../graph/odd.onnx tests/data/cli/lint/model.onnx
# overflow/ was made with numpy, not with Plumbline: a network of 25 operators in float16 whose
# scale5 multiplies beyond 65504 (10 times to inf, once to -inf) and whose others pass that on.
mkdir -p tests/data/cli/statistics
ln -sf ../../msprobe/stats_summary/target/dump.json tests/data/cli/statistics/
