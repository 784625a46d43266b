// SPDX-License-Identifier: Apache-2.0
//
// Options that say what to read and which part of it: shared by the commands that take dumps.
#pragma once

#include <set>

#include "cli/command.h"
#include "dump/dump.h"

namespace plumb::cli {

// What a dump has of each.
struct StepsAndRanks {
  std::set<int64_t> steps, ranks;
  bool all_have_steps = true, all_have_ranks = true;
};
StepsAndRanks steps_and_ranks(const dump::DumpSet& set);
std::string list_of(const std::set<int64_t>& numbers);  // "0, 1 and 2"

class Selection {
 public:
  void declare(Options& options);

  // After parsing: complains about values that make no sense. The hints borrow from this object.
  Result<io::ReadHints> hints() const;
  const std::string& convention() const { return convention_; }

  // True if the entry is wanted; base/name_pattern.h says how names match.
  bool wants(const dump::Entry& entry) const;
  const std::vector<int64_t>& ranks() const { return ranks_; }
  const std::vector<int64_t>& steps() const { return steps_; }

  // An error if none of the dumps has a step or rank that was asked for.
  Result<void> check(const std::vector<const dump::DumpSet*>& sets) const;

 private:
  std::vector<std::string> ops_, slots_;
  std::vector<int64_t> steps_, ranks_;
  std::string dtype_, shape_, fp8_, convention_;
};

}  // namespace plumb::cli
