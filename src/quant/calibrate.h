// SPDX-License-Identifier: Apache-2.0
//
// Runs the float model on the calibration samples and observes the tensors that are to have a grid,
// in one pass: samples are loaded, run and observed at the same time, and nothing of a sample stays
// when its turn is over. Memory does not depend on the number of samples.
#pragma once

#include "engine/engine.h"
#include "input/samples.h"
#include "plumb/run_context.h"
#include "quant/plan.h"

namespace plumb::quant {

struct CalibrationOptions {
  bool with_histograms = true;
  int threads = 1;  // of the engine
  bool with_sample_ranges = false;
};

struct Calibration {
  std::vector<Observation> seen;     // by Plan::quantizers
  std::vector<std::string> samples;  // names
  // By Plan::quantizers: what each sample alone reaches, if asked for.
  std::vector<std::vector<Range>> sample_ranges;
  double run_s = 0;  // the engine's part
};

// NaN or infinity in a tensor is an error that names it and the sample.
Result<Calibration> calibrate(engine::Engine& engine, const engine::Model& model, const Plan& plan,
                              input::Samples& samples, const CalibrationOptions& options,
                              RunContext& context);

}  // namespace plumb::quant
