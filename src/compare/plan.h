// SPDX-License-Identifier: Apache-2.0
//
// Which tensor is compared with which, and what is not compared and why. Reads no data: the plan of
// twenty thousand tensors takes milliseconds.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"

namespace plumb::compare {

// One row of the result to be. What it points to belongs to the two dump sets.
struct PlannedRow {
  const dump::Entry* target = nullptr;
  const dump::Entry* golden = nullptr;
  const dump::Skipped* damaged = nullptr;  // the file that should have held a side
  bool damaged_is_target = false;
  std::string_view rule;  // how the two were paired; empty if they were not
  std::string evidence;
  std::string_view reason;  // a reason code if there is nothing to compare, else empty
  std::string message;      // ... in words
  int64_t index = 0;        // the operator's position in the order of execution
};

struct PlanOptions {
  std::function<bool(const dump::Entry&)> wants;  // empty: everything
  // Golden operators by the name of the target operator they are compared with.
  std::unordered_map<std::string, std::string> golden_of;
};

// Every entry of either set is in exactly one row. A damaged file stands in the rows of what it
// should have been compared with, or in one of its own. Rows are in order of execution.
std::vector<PlannedRow> make_plan(const dump::DumpSet& target, const dump::DumpSet& golden,
                                  const PlanOptions& options = {});

// A name as dump tools write it: '/', '.' and ':' as '_'.
std::string normalised(std::string_view name);

}  // namespace plumb::compare
