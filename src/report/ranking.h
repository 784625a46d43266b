// SPDX-License-Identifier: Apache-2.0
//
// Which rows a person should see, in which order, and how those left out group by reason: the same
// in every output that is read by people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

// All but plain passes and what the user filtered. Worst first: failures that are no question of
// limits (NaN, shapes), then by cosine and rel_euclid; damaged files; inconclusive; suspicious;
// rows without a partner. In order of execution among equals. Borrows from `run`.
std::vector<const result::Row*> worth_a_look(const result::Run& run);

struct LeftOut {
  std::string reason;  // the first of the row's reasons
  std::vector<const result::Row*> rows;
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

// "4 of 17 compared tensors differ": the run's verdict as a clause.
std::string headline(const result::Run& run, const result::Summary& summary);

// "22 = 12 pass + 4 fail + 1 inconclusive + 5 not compared"
std::string totals_text(const result::Summary& summary);

// "80.9 %, 17 of 21 tensors": never rounded up to 100 %.
std::string coverage_text(const result::Summary& summary);

}  // namespace plumb::report
