// SPDX-License-Identifier: Apache-2.0
//
// Rows of a result to be, and the one way to fill them: whatever paired the tensors, a session
// streams them (compare/policy.h) and msaccucmp's algorithms make cells of what it gathered.
#pragma once

#include <span>

#include "dialect/msaccucmp/result_table.h"
#include "dialect/msaccucmp/tensors.h"

namespace plumb::msaccucmp {

struct ViewPair {
  View target, golden;  // of equal length
  PairTraits traits;
  std::vector<std::string> codes;  // what is doubtful before any element is read
};

// A row that has everything but its scores, and what they are to be made of, if that is possible.
struct Line {
  ResultRow row;
  std::optional<ViewPair> pair;
};

struct PairOptions {
  Selection algorithms;
  int64_t max_elements = 0;  // 0: all
};
// Fills the scores of all lines with a pair. Nothing but the context ends it early; a tensor that
// turns out to be unreadable costs its row.
Result<void> compare_lines(std::span<Line> lines, const PairOptions& options, RunContext& context);

// The same of two tensors in files of their own.
Outcome<ResultRow> compare_two(ViewPair pair, const PairOptions& options, RunContext& context);

}  // namespace plumb::msaccucmp
