// SPDX-License-Identifier: Apache-2.0
//
// Ranges of activations that another tool has found, to quantize with instead of our own. Known by
// content:
// - calibration.json, calibration.flatbuffers and calibration.cache, which write_calibration_table
//   of ONNX Runtime writes (onnxruntime/python/tools/quantization/quant_utils.py), and the cache of
//   its save_tensors_data;
// - a calibration cache of TensorRT ("TRT-8400-EntropyCalibration2", then "NAME: HEX");
// - a record file of AMCT (scale_offset_record.txt, record.txt), which names layers, not tensors;
//   its messages: scale_offset_record_pytorch.proto of github.com/hicann/amct, and the manual;
// - a calibration table of tpu-mlir ("NAME THRESHOLD MIN MAX");
// - quant.json of `plumb quantize`.
#pragma once

#include <memory>
#include <vector>

#include "plumb/tensor.h"
#include "quant/observer.h"

namespace plumb::quant {

struct Plan;

struct TableRange {
  std::string name;  // of a tensor; of a layer: then it is that of what the layer reads
  double hi = 0;     // with `lo` absent: the largest magnitude
  std::optional<double> lo;
  bool is_layer = false;
};

struct RangeTable {
  std::string path, tool;
  uint32_t crc = 0;  // of the file
  std::vector<TableRange> ranges;
};

Result<RangeTable> ranges_from_file(const std::string& path);
// The same of its bytes; `path` is for messages.
Result<RangeTable> ranges_from_table(Bytes file, const std::string& path);

// Gives the quantizers of a plan the ranges that the table has for their tensors: one that several
// share holds all that are named. An error if nothing of the model is named at all.
Result<void> give_ranges(const RangeTable& table, Plan& plan);

// Both ends. A magnitude alone says how far the negative side may reach, not that it does: that is
// taken from what was seen.
Range range_from(const TableRange& given, const Observation& seen);

}  // namespace plumb::quant
