// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that quantize: the model, the sets of samples, and how it is done.
#pragma once

#include "cli/engine_options.h"
#include "cli/input_options.h"
#include "quant/quantize.h"

namespace plumb::cli {

struct LabOptions {
  std::vector<std::string> paths, calib, layers;
  std::string weights, calib_size = "32", scheme = "ort-u8s8", method, weight_method, mixed, ranges;
  std::string activation_type, weight_type, margin, block = "32";
  bool per_tensor = false, per_channel = false, quantize_outputs = false, float_bias = false,
       weight_only = false, power_of_two = false, reduced_range = false;
  int threads = 1;
  InputOptions inputs;  // of all sets, without their files
  EngineOptions limits;

  void declare_samples(Options& options);
  void declare_quantizing(Options& options);
  void declare_running(Options& options);

  // What the options, and the configuration if there is one, ask for. `measurement` is the
  // configuration's own set, if it has one.
  Result<quant::QuantizeOptions> options(const RunContext& context) const;
  // A set of samples that is fed as the calibration is.
  Result<input::SampleOptions> set_of(const std::vector<std::string>& words,
                                      const std::string& size, std::string_view option) const;
};

}  // namespace plumb::cli
