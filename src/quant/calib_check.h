// SPDX-License-Identifier: Apache-2.0
//
// Does a calibration set represent the data that the model will see? Ranges of all tensors over the
// one set are held against what the other shows; labels are not needed.
#pragma once

#include "quant/trial.h"

namespace plumb::quant {

enum class Fitness : uint8_t { kPass, kWarning, kError };
std::string_view text_of(Fitness fitness);  // "pass", "warn", "error"

struct CheckedMeasure {
  std::string_view name;  // "excess"
  double value = 0;
  Fitness fitness = Fitness::kPass;
  std::string message;  // what the value is, and what to do
};

struct CheckedTensor {
  std::string tensor;
  Range calibrated, seen;
  double excess = 0;    // share of elements outside of the calibrated range
  double coverage = 1;  // how much of the range seen the calibrated one covers
  double drift = 0;     // area between the two distributions, relative to the range seen
};

struct CalibrationCheck {
  std::vector<CheckedMeasure> measures;
  std::vector<CheckedTensor> tensors;  // worst excess first
  size_t calibration_samples = 0, data_samples = 0;

  Fitness fitness() const;  // the worst of all
};

struct CalibCheckOptions {
  Settings settings;
  std::vector<Precision> precisions;  // by Plan::layers
  int threads = 1;
};

// The width that half of the samples reach, on average over all halves.
double width_of_half(const std::vector<Range>& ranges);

// Progress counts samples of both sets, three times each.
Result<CalibrationCheck> check_calibration(const Lab& lab, input::Samples& calibration,
                                           input::Samples& data, const CalibCheckOptions& options,
                                           RunContext& context);

std::string calibration_check_json(const CalibrationCheck& check, const Lab& lab);

}  // namespace plumb::quant
