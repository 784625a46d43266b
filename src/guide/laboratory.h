// SPDX-License-Identifier: Apache-2.0
//
// What the laboratory measures where models and samples are at hand, in place of what a person
// would have to answer: top-N of the models, whether the calibration set represents the data, and
// which layers lose most when they are quantized.
#pragma once

#include "guide/walk.h"

namespace plumb::guide {

// Answers topn_float and topn_quant, or topn_offline, and how many samples that were: from `model`,
// `quant_model` or `offline_results`, `eval_data`, `labels` and `config`. Answers nothing if one of
// them is not known.
Result<void> measure_topn(Walk& walk, RunContext& context);
Result<void> measure_topn_offline(Walk& walk, RunContext& context);

// Answers calibration_size, and from `model`, `calibration_data` and `eval_data` whether these
// represent the data: calibration_represents.
Result<void> measure_calibration(Walk& walk, RunContext& context);

// The layers that lose most, by `model` and `calibration_data`: a finding for the worst.
Result<Outcome> rank_layers(Walk& walk, RunContext& context);

}  // namespace plumb::guide
