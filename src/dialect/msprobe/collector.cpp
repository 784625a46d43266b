// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/collector.h"

#include "compare/elements.h"

namespace plumb::msprobe {
namespace {

// The files were just read, so that opening them again costs little. nullopt also if they cannot
// be.
std::optional<int64_t> first_bad_element(const compare::Sides& sides, const pair::PlannedRow& row,
                                         const RunContext& context) {
  auto target = dump::EntryReader::open(sides.target, *row.target, sides.target_hints);
  if (!target) return {};
  auto golden = dump::EntryReader::open(sides.golden_of(row), *row.golden, sides.golden_hints);
  if (!golden) return {};
  const auto found = compare::first_beyond(*target, *golden, kRelativeLimit, context);
  return found ? *found : std::nullopt;
}

}  // namespace

void Collector::pair(const pair::PlannedRow& row, const metrics::PairFacts& facts) {
  RealData data = real_data(facts);
  if (sides_ != nullptr && judge(data).result == "FAIL")
    data.first_bad = first_bad_element(*sides_, row, context_);
  at(row).real = std::move(data);
}

}  // namespace plumb::msprobe
