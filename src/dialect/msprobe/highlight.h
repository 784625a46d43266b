// SPDX-License-Identifier: Apache-2.0
//
// The colours of rows as earlier releases of msprobe gave them in workbooks (`--highlight legacy`):
// an output is held against every input of its API. Most rows have none.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "report/spreadsheet.h"

namespace plumb::msprobe {

// What counts of a row; numbers that are not known do not.
struct HighlightRow {
  bool is_input = false, is_output = false;
  bool is_finite = true;                    // largest and smallest value of target
  bool requires_grad_agrees = true;         // or is not known
  std::optional<double> max_diff;           // of statistics; of tensors the largest absolute error
  std::optional<double> max_relative;       // of statistics
  std::optional<double> cosine, below_1e3;  // of tensors
};

std::vector<report::Fill> legacy_fills(std::span<const HighlightRow> api);

}  // namespace plumb::msprobe
