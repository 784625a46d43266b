// SPDX-License-Identifier: Apache-2.0
#include "plumb/verdict.h"

#include <algorithm>
#include <iterator>

namespace plumb::result {
namespace {

constexpr std::string_view kNames[] = {"pass", "fail", "inconclusive", "not_compared"};

}  // namespace

std::string_view name_of(Verdict verdict) { return kNames[static_cast<size_t>(verdict)]; }

std::optional<Verdict> verdict_by_name(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Verdict>(found - std::begin(kNames));
}

}  // namespace plumb::result
