// SPDX-License-Identifier: Apache-2.0
//
// Keeps what each row of a comparison was made from, as the result files need it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/boxed_optional.h"
#include "compare/stream.h"
#include "dialect/msprobe/real_data.h"

namespace plumb::msprobe {

struct RecordedPair {
  Statistics target, golden;
};

// At most one of them: data, or what a dump recorded instead.
struct Collected {
  std::optional<RealData> real;
  BoxedOptional<RecordedPair> recorded;
};

class Collector : public compare::Observer {
 public:
  Collector(std::span<const pair::PlannedRow> plan, const RunContext& context)
      : plan_(plan), context_(context), rows_(plan.size()) {}
  // From now on pairs that fail are looked at once more, for their first bad element.
  void look_closer(const compare::Sides& sides) { sides_ = &sides; }

  // Each row is told of once, by one thread.
  void pair(const pair::PlannedRow& row, const metrics::PairFacts& facts) override;
  void recorded(const pair::PlannedRow& row, const Statistics& target,
                const Statistics& golden) override {
    at(row).recorded = RecordedPair{target, golden};
  }
  const Collected& operator[](size_t row) const { return rows_[row]; }

 private:
  Collected& at(const pair::PlannedRow& row) {
    return rows_[static_cast<size_t>(&row - plan_.data())];
  }
  std::span<const pair::PlannedRow> plan_;
  const compare::Sides* sides_ = nullptr;
  const RunContext& context_;
  std::vector<Collected> rows_;  // parallel to the plan
};

}  // namespace plumb::msprobe
