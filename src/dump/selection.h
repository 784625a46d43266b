// SPDX-License-Identifier: Apache-2.0
//
// Which part of a dump is wanted, and what the user knows about files that do not say it
// themselves. Plain data that a command's options or a caller of the library fills in.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

// Of each list: empty = all.
struct Selection {
  std::vector<std::string> ops;    // patterns, see base/name_pattern.h
  std::vector<std::string> slots;  // "output:0", "input"
  std::vector<int64_t> steps, ranks;

  // True if the entry is wanted. One that records no step or rank belongs to all of them.
  bool wants(const Entry& entry) const;

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

// Read hints in the user's words; empty = not given.
struct HintWords {
  std::string dtype;  // of headerless files, e.g. "float16"
  std::string shape;  // of headerless files, e.g. "1,3,224,224"
  std::string fp8;    // what npy's one-byte void type is
};
// The hints they stand for; borrow nothing.
Result<io::ReadHints> hints_from_words(const HintWords& words);

// An error if there is no convention of this name; "" is none.
Result<void> check_convention(const std::string& name);

}  // namespace plumb::dump
