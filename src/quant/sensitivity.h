// SPDX-License-Identifier: Apache-2.0
//
// Which layers lose most when they are quantized, measured in four ways: one layer alone, seen at
// the outputs of the model; each by itself, with the float model's own inputs; all of them, at each
// layer; and all but one.
#pragma once

#include "quant/layer_requests.h"
#include "quant/trial.h"

namespace plumb::quant {

enum class Mode : uint8_t { kOne, kIsolated, kCumulative, kLeaveOneOut };
std::optional<Mode> mode_from_text(std::string_view text);
std::string_view text_of(Mode mode);

struct SensitivityOptions {
  Mode mode = Mode::kOne;  // that layers are sorted by
  Part part = Part::kBoth;
  Settings settings;
  std::vector<Precision> precisions;  // by layer
  int engines = 1;                    // that run at the same time
};

// Signal to noise ratios in dB; nullopt: not measured, or nothing to lose.
struct LayerSensitivity {
  std::string layer, type, precision;
  int64_t parameters = 0;
  std::optional<double> one, leave_one_out;    // at the outputs of the model
  std::optional<double> isolated, cumulative;  // at the layer's own output
  std::optional<double> isolated_weights, isolated_activations;
  std::optional<double> weight_sqnr_db;  // of the weights themselves
  std::optional<double> agreement;       // of the largest output, that layer alone quantized
  int64_t ties = 0;                      // of these, for the row <output>
  // Of the output's own rounding: what part of its noise lies outside of the grid, and inside.
  double clipping_share = 0;
  double clipped = 0;           // share of elements outside
  double outlier_channels = 0;  // share whose largest number is below 1/8 of the tensor's
  std::string suggestion;

  std::optional<double> by(Mode mode) const;
};

struct Sensitivity {
  std::vector<LayerSensitivity> layers;  // worst first; in order of execution if cumulative
  double all_db = 0, all_agreement = 1;  // all of them quantized, at the outputs
  size_t samples = 0;
};

// Progress counts samples; how many it will be:
int64_t runs_of(const Plan& plan, const SensitivityOptions& options);
Result<Sensitivity> measure_sensitivity(const Lab& lab, const Calibration& calibration,
                                        Trials& trials, const SensitivityOptions& options,
                                        RunContext& context);

// {"schema": "plumb.sensitivity/1", "layers": [{"layer", "sqnr_db", ...}, ...]}, see
// docs/quantization.md.
std::string sensitivity_json(const Sensitivity& sensitivity, const SensitivityOptions& options,
                             const Lab& lab);

}  // namespace plumb::quant
