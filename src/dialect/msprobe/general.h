// SPDX-License-Identifier: Apache-2.0
//
// `msprobe compare` of general dumps (mode auto): two dump.json with tensors, statistics or
// checksums, or directories that hold them by step and rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "dialect/msprobe/mapping.h"
#include "dialect/msprobe/result_file.h"
#include "plumb/run_context.h"

namespace plumb::msprobe {

struct GeneralRun : CompareRun {
  bool as_original = false;              // msprobe's columns, formulas and rows alone
  bool finds_first = false;              // the first difference of each rank, instead of all rows
  bool legacy_colours = false;           // see msprobe/highlight.h
  std::optional<double> most_magnitude;  // see judge_magnitude()
  Mapping mapping;
};

Result<Written> compare_general(const GeneralRun& run, RunContext& context);

}  // namespace plumb::msprobe
