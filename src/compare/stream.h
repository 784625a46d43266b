// SPDX-License-Identifier: Apache-2.0
//
// Works a plan off: reads each pair once, turns the sums into numbers and the numbers into
// verdicts. A file that cannot be read costs its row, not the run.
#pragma once

#include "base/run_context.h"
#include "compare/gather.h"
#include "judge/profile.h"
#include "pair/plan.h"
#include "result/row.h"

namespace plumb::compare {

// Both sides of a comparison, opened.
struct Sides {
  const dump::DumpSet& target;
  const dump::DumpSet& golden;
  const dump::DumpSet* floor = nullptr;  // a second golden run, whose noise sets the limits
  io::ReadHints target_hints, golden_hints;

  const dump::DumpSet& golden_of(const pair::PlannedRow& row) const {
    return row.golden_is_own ? target : golden;
  }
};

// Whoever wants more than a row keeps is told what its values were made from. Called from any
// thread, once for each row that was compared.
struct Observer {
  virtual ~Observer() = default;
  virtual void pair(const pair::PlannedRow& row, const metrics::PairFacts& facts) = 0;
  virtual void recorded(const pair::PlannedRow& row, const dump::RecordedStatistics& target,
                        const dump::RecordedStatistics& golden) = 0;
};

struct StreamOptions {
  const judge::Rules& rules;
  std::vector<const metrics::Metric*> columns;  // computed for each row, in this order
  metrics::Request request;                     // what they read
  bool checksum = false;                        // compare CRC-32 only
  Observer* observer = nullptr;
};

struct Streamed {
  std::vector<result::Row> rows;
  int64_t bytes = 0;  // of both sides, as they were compared
};

// The rows of the plan in its order, each with its verdict. When the run is cancelled, rows that
// were not reached have the reason "interrupted".
Streamed stream(const Sides& sides, const std::vector<pair::PlannedRow>& plan,
                const StreamOptions& options, const RunContext& context);

}  // namespace plumb::compare
