// SPDX-License-Identifier: Apache-2.0
//
// Makes rows of what a plan pairs: reads each pair once, turns the sums into numbers and the
// numbers into verdicts. A file that cannot be read costs its row, not the run.
#pragma once

#include <functional>
#include <unordered_map>

#include "compare/gather.h"
#include "compare/reading.h"
#include "judge/profile.h"
#include "pair/plan.h"
#include "plumb/row.h"
#include "plumb/run_context.h"

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
  virtual void recorded(const pair::PlannedRow& row, const Statistics& target,
                        const Statistics& golden) = 0;
};

struct StreamOptions {
  const judge::LimitRules& rules;
  std::vector<const metrics::Metric*> columns;  // computed for each row, in this order
  metrics::Request request;                     // what they read
  bool checksum = false;                        // compare CRC-32 only
  Observer* observer = nullptr;
  std::optional<metrics::Tolerance> tolerance = {};  // the rules have a limit on its share
  bool details = false;                              // rows have their details
  std::optional<DType> computed = {};  // what the target computed in, as the user says
  // The row of what a quantizing operator reads, where a graph tells; else null.
  std::function<const pair::PlannedRow*(const pair::PlannedRow&)> input_of = {};
  ReadingOf reading_of = {};  // asked of rows that fail
};

// Whatever row it is asked for, in any order, from any thread, any number of times: the same row.
class Streamer {
 public:
  // Borrows both.
  Streamer(const Sides& sides, const StreamOptions& options);

  // With its verdict; what only all rows together can tell is left to compare/finish.h. When the
  // run is cancelled, the row has the reason "interrupted".
  result::Row row(const pair::PlannedRow& planned, const RunContext& context) const;

 private:
  const Sides& sides_;
  const StreamOptions& options_;
  std::unordered_map<const dump::Entry*, const dump::Entry*> floor_of_;  // by golden entry
  mutable dump::FileCache files_;
};

// Calls `take(position in ids, row)` for each of the rows, by one thread at a time, in any order.
void stream(const Streamer& streamer, const std::vector<pair::PlannedRow>& plan,
            std::span<const int64_t> ids, const RunContext& context,
            const std::function<void(size_t position, result::Row&& row)>& take);
// All rows of the plan, in its order.
std::vector<result::Row> stream(const Streamer& streamer, const std::vector<pair::PlannedRow>& plan,
                                const RunContext& context);

}  // namespace plumb::compare
