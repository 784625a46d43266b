// SPDX-License-Identifier: Apache-2.0
//
// Files that cannot be read: what they should have held, as far as their names tell, and the rows
// of a plan that they cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pair/plan.h"

namespace plumb::pair {

struct Promise {
  std::string op;
  std::optional<dump::Slot> slot;  // nullopt: any
  bool is_told = true;             // by a convention of names; else `op` is the path
};

Promise promise_of(std::string_view path);

// A damaged file stands for the missing side of the rows whose operator it names, one of each slot
// (of the next execution there may be another file); otherwise it is a row of its own.
void place_damaged(const dump::DumpSet& set, bool is_target, const PlanOptions& options,
                   std::vector<PlannedRow>& rows);

}  // namespace plumb::pair
