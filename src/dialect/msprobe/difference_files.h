// SPDX-License-Identifier: Apache-2.0
//
// The files of `msprobe compare -da`: compare_result_rankR_TIME.json with every call of a rank and
// whether its outputs are the same, and diff_analyze_TIME.json with the calls that first differ.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msprobe/compared_rows.h"
#include "pair/plan.h"

namespace plumb::msprobe {

enum class Mode : uint8_t { kRealData, kStatistics, kChecksum };

// The rows of one rank that have a target, by position in the plan, in the order of calls.
struct RankRows {
  std::optional<int64_t> rank;
  std::vector<size_t> rows;
};

struct DifferenceSearch {
  const dump::DumpSet &target, &golden;
  const std::vector<pair::PlannedRow>& plan;
  const std::vector<RankRows>& ranks;
  Mode mode;
  bool any_type = false;  // types that differ are compared all the same
  const std::filesystem::path& output;
};

struct FirstDifferences {
  struct Found {
    std::optional<int64_t> rank;
    std::string call;
  };
  std::vector<Found> calls;  // empty: nothing differs, and there is no diff_analyze file
  bool by_checksum = false;
  int64_t compared = 0, unmatched = 0;  // outputs of calls
  std::vector<std::filesystem::path> files;
};

Result<FirstDifferences> write_first_differences(const DifferenceSearch& search,
                                                 StackFiles& stacks);

// The ranks in "group_ranks=[0, 1], group_id=tp", as a process group is recorded; empty if it is
// none.
std::vector<int64_t> group_ranks(std::string_view text);

}  // namespace plumb::msprobe
