// SPDX-License-Identifier: Apache-2.0
//
// What is known about the two sides of a comparison beside their tensors: versions around them, and
// how well the models do their task. A diagnosis takes it as evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

// Something around the models that is not the same on both sides.
struct EnvironmentChange {
  std::string what;            // "driver.Version", "model.atc_version", "engine.onnxruntime"
  std::string target, golden;  // empty: not there
  bool operator==(const EnvironmentChange&) const = default;
};

// Whether two packages of the target, such as driver and toolkit, name each other as compatible.
struct PackageFit {
  std::string verdict;  // "fits", "does_not_fit", "unknown"
  std::string message;  // "driver 24.1 and toolkit 9.0 do not belong together: ..."
  bool operator==(const PackageFit&) const = default;
};

struct Circumstances {
  std::vector<EnvironmentChange> changes;  // what matters most first
  std::vector<PackageFit> fits;
  // Top-N accuracy as a share, 0..1: of the original model, of the quantized original, and of the
  // converted quantized model on the device; and how many samples that was measured with.
  std::optional<double> topn_float, topn_quant, topn_offline;
  std::optional<int64_t> topn_samples;
  std::optional<int64_t> calibration_size;  // samples that the quantization was calibrated with
  bool operator==(const Circumstances&) const = default;
};

}  // namespace plumb::result
#pragma GCC visibility pop
