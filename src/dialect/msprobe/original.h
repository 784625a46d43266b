// SPDX-License-Identifier: Apache-2.0
//
// What msprobe itself writes in mode torchair, other than its manual says: its columns, and its
// formulas, which work in float32 and do not see errors where golden is (nearly) zero. For results
// that must stay comparable with earlier ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dialect/msprobe/cells.h"
#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::msprobe {

struct OriginalSide {
  bool is_finite = true;
  double max = 0, min = 0, mean = 0;  // of values rounded to float32
};

struct OriginalMetrics {
  OriginalSide target, golden;
  bool is_empty = false;
  double cosine = 0, max_rel = 0, mean_rel = 0, max_abs = 0, mean_abs = 0, kl = 0, rel_euclid = 0;

  bool are_defined() const { return !is_empty && target.is_finite && golden.is_finite; }
};

// Both of the same size. nullopt if the run was cancelled.
Result<std::optional<OriginalMetrics>> original_metrics(dump::EntryReader& target,
                                                        dump::EntryReader& golden,
                                                        const RunContext& context);

// One line, and the header of all.
struct OriginalLine {
  int64_t token = 0, id = 0;
  std::string golden_path, golden_dtype, golden_shape, target_path, target_dtype, target_shape;
  OriginalMetrics metrics;
};
std::vector<std::string> original_header();
Cells original_cells(const OriginalLine& line);

}  // namespace plumb::msprobe
