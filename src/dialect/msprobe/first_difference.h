// SPDX-License-Identifier: Apache-2.0
//
// Where several processes first computed something else than their golden runs. A process that
// communicates takes over what others got wrong: so what differs before any communication counts
// first, then what differs in the earliest round of communication, and last what differs behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace plumb::msprobe {

struct Call {
  std::string_view name;  // "Functional.relu.0.forward"
  bool differs = false;   // one of its outputs does
  // Of communication, as far as its arguments tell.
  std::vector<int64_t> group;  // ranks that take part; empty: all
  std::optional<int64_t> source, destination;
};

// The calls of one process, in the order they ran.
struct RankCalls {
  int64_t rank = 0;
  std::vector<Call> calls;
};

struct FirstDifference {
  size_t rank = 0, call = 0;  // positions in the lists
  bool operator==(const FirstDifference&) const = default;
};

// Ordered by rank; empty if nothing differs. `ranks` is in the order of their numbers.
std::vector<FirstDifference> first_differences(std::span<const RankCalls> ranks);

bool is_communication(std::string_view call);
// Calls that only take memory, or write into it in part: what they give out means nothing.
bool is_ignored(std::string_view call);

}  // namespace plumb::msprobe
