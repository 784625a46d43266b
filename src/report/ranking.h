// SPDX-License-Identifier: Apache-2.0
//
// Which rows a person should see, in which order, and how those left out group by reason: the same
// in every output that is read by people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

// The row of the operator that is most probably to blame, else the first divergence; null if there
// is none, or if the order of execution is not known.
const result::Row* culprit_row(const result::Run& run, const result::Summary& summary);

// At most so many of those worth a look. Borrows from `run`, which keeps these in memory.
struct ShownRows {
  std::vector<const result::Row*> rows;
  std::vector<size_t> places;  // of them, among the rows of the run
  size_t more = 0;             // worth a look, but not among them
};

// All but plain passes and what the user filtered, as far as they are wanted. Worst first: failures
// that are no question of limits (NaN, shapes), then by cosine and rel_euclid; damaged files;
// inconclusive; suspicious; rows without a partner. In order of execution among equals.
using WantsRow = std::function<bool(const result::Row&)>;
ShownRows worth_a_look(const result::Run& run, size_t most, const WantsRow& wants = {});

// With the rows around the culprit; in order of execution, where that is known.
ShownRows rows_to_show(const result::Run& run, const result::Summary& summary, size_t most);

struct LeftOut {
  static constexpr size_t kMostNamed = 5;
  std::string reason;  // the first of the row's reasons
  size_t count = 0;
  std::vector<const result::Row*> rows;  // the first of them
};
// Rows that were not compared, the most frequent reason first. Borrows from `run`.
std::vector<LeftOut> left_out_by_reason(const result::Run& run);

// Where to start looking: the first divergence, or the worst one if the order of execution is not
// recorded. No row if nothing failed.
struct Divergence {
  const result::Row* row = nullptr;
  std::string_view title;  // "first divergence"
};
Divergence divergence_of(const result::Run& run, const result::Summary& summary);

}  // namespace plumb::report
