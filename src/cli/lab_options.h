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

 private:
  // Of the calibration, from options and configuration.
  struct SampleWords {
    std::vector<std::string> paths;
    std::string size, method;
  };
  Result<void> take_config(quant::QuantizeOptions& made, SampleWords& words) const;
  Result<void> set_observers(quant::QuantizeOptions& made, const std::string& method_word) const;
  Result<void> set_types(quant::Settings& settings) const;
  Result<void> add_requests(quant::QuantizeOptions& made) const;
};

}  // namespace plumb::cli
