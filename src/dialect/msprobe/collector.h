// SPDX-License-Identifier: Apache-2.0
//
// Keeps what each row of a comparison was made from, as the result files need it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/boxed_optional.h"
#include "compare/session_state.h"
#include "dialect/msprobe/result_file.h"

namespace plumb::msprobe {

struct RecordedPair {
  Statistics target, golden;
};

// At most one of them: data, or what a dump recorded instead.
struct Collected {
  BoxedOptional<RealData> real;
  BoxedOptional<RecordedPair> recorded;
};

// How dumps are compared for msprobe's results; which tensors belong together is for its heirs.
class Collector : public compare::Policy, private compare::Observer {
 public:
  std::vector<const metrics::Metric*> columns() const override;
  compare::Observer* observer() override { return this; }
  const Collected& operator[](size_t row) const { return rows_[row]; }

 protected:
  void begin(std::span<const pair::PlannedRow> plan) {  // which stays where it is
    plan_ = plan;
    rows_.resize(plan.size());
  }

 private:
  // Each row is told of once, by one thread.
  void pair(const pair::PlannedRow& row, const metrics::PairFacts& facts) override {
    at(row).real = real_data(facts);
  }
  void recorded(const pair::PlannedRow& row, const Statistics& target,
                const Statistics& golden) override {
    at(row).recorded = RecordedPair{target, golden};
  }
  Collected& at(const pair::PlannedRow& row) {
    return rows_[static_cast<size_t>(&row - plan_.data())];
  }
  std::span<const pair::PlannedRow> plan_;
  std::vector<Collected> rows_;  // parallel to the plan
};

// Both sides of a run, and the directory for its results.
// What is to be said of both sides, before any row is looked at.
std::vector<std::string> warnings_about(const CompareRun& run, const SessionState& state);

Result<Session> open_comparison(const CompareRun& run, Collector& policy, RunContext& context);

}  // namespace plumb::msprobe
