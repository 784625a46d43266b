// SPDX-License-Identifier: Apache-2.0
//
// Version tracking: a result held against an earlier one of the same model, from before the
// toolkit, the driver or the model was changed. Pure functions of two runs;
// docs/version-tracking.md says what they decide.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plumb/row.h"
#include "result/json_read.h"

namespace plumb::judge {

// How much worse an output may get. Cosine: by this much. rel_euclid: to this multiple of what it
// was, and by this much at least, since twice next to nothing is nothing.
inline constexpr double kMostCosineDrop = 0.001;
inline constexpr double kMostRelEuclidFactor = 2;
inline constexpr double kMostRelEuclidGrowth = 0.001;

// What both results have to tell.
inline constexpr std::string_view kTrackedMetrics[] = {"cosine", "rel_euclid"};

// A result that others can be held against: it compared something and has the tracked metrics.
Result<result::Saved> load_baseline(const std::filesystem::path& path);

// How `now` stands against `before`, which was read from `path`. Tensors are the same if their
// target operator, slot, step, rank and graph are (what all rows of both runs share does not
// count), or, where the operator has another name now, if they stand for the same golden tensor.
result::Baseline hold_against(const result::Run& now, const result::Saved& before,
                              std::string path);

}  // namespace plumb::judge
