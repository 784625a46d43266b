// SPDX-License-Identifier: Apache-2.0
//
// What a selection of the user means for a dump.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "plumb/selection.h"

namespace plumb::dump {

struct Selection : plumb::Selection {
  Selection() = default;
  Selection(plumb::Selection words) : plumb::Selection(std::move(words)) {}

  // True if the entry is wanted. One that records no step or rank belongs to all of them.
  bool wants(const Entry& entry) const;

  // The two halves of it: steps and ranks say which runs are compared, names and slots only which
  // of their tensors are shown.
  Selection of_runs() const { return Selection(plumb::Selection{{}, {}, steps, ranks}); }
  Selection of_tensors() const { return Selection(plumb::Selection{ops, slots, {}, {}}); }
  bool is_everything() const {
    return ops.empty() && slots.empty() && steps.empty() && ranks.empty();
  }

  // An error if a slot is of no known kind, which would match nothing.
  Result<void> check_slots() const;
  // An error if none of the dumps has a step or rank that was asked for.
  Result<void> check(std::span<const DumpSet* const> sets) const;
};

// What a dump has of each.
struct StepsAndRanks {
  std::set<int64_t> steps, ranks;
  bool all_have_steps = true, all_have_ranks = true;
};
StepsAndRanks steps_and_ranks(const DumpSet& set);
std::string list_of(const std::set<int64_t>& numbers);  // "0, 1 and 2"

// The hints they stand for; borrow nothing.
Result<io::ReadHints> hints_from_words(const HintWords& words);

// An error if there is no convention of this name; "" is none.
Result<void> check_convention(const std::string& name);

}  // namespace plumb::dump
