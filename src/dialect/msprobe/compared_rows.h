// SPDX-License-Identifier: Apache-2.0
//
// Rows of general dumps as all results need them: what both sides recorded, which part of a call a
// row is, and which lines of code made the call.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "dialect/msprobe/statistics.h"
#include "dump/stack_json.h"
#include "pair/plan.h"

namespace plumb::msprobe {

// A Python value, no tensor.
bool is_argument(const dump::Entry& entry);

const Shape* shape_of(const dump::Entry& entry);  // nullptr if none was recorded

// "input", "output", "parameter", "gradient"
std::string_view io_of(dump::SlotKind kind);

// Calls use(rows) for the rows of each call: positions in the plan, of rows with a target.
void for_each_call(std::span<const pair::PlannedRow> plan, std::span<const size_t> rows,
                   const std::function<void(std::span<const size_t>)>& use);

// Of a row with a target. With `any_type`, types that differ are compared all the same.
StatisticRow statistic_row(const pair::PlannedRow& planned, bool any_type);

// Call stacks, from the stack.json beside each dump.json.
class StackFiles {
 public:
  explicit StackFiles(const dump::DumpSet& set) : set_(set) {}
  std::string_view of(const dump::Entry& entry);  // empty if there is none
  bool has(const dump::Entry& entry);             // there is a file for it

 private:
  const dump::Stacks& beside(const dump::Entry& entry);

  const dump::DumpSet& set_;
  std::map<std::string, dump::Stacks> stacks_;  // by dump.json
};

}  // namespace plumb::msprobe
