// SPDX-License-Identifier: Apache-2.0
//
// What a Session holds: both sides opened, what is known of their models, the plan, and the limits.
// Read by the code of this library that looks closer at a comparison (plan views, elements of a
// pair, dialects); it changes nothing.
#pragma once

#include <chrono>
#include <optional>

#include "compare/policy.h"
#include "compare/stream.h"
#include "dump/selection.h"
#include "judge/baseline.h"
#include "pair/matcher.h"
#include "pair/scenario.h"
#include "pair/torchair.h"
#include "plumb/session.h"

namespace plumb {

struct SessionState {
  Spec spec;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  io::ReadHints hints;
  dump::Selection selection;
  dump::DumpSet target, golden;
  std::optional<dump::DumpSet> floor;
  pair::Graphs graphs;
  std::vector<std::string> graph_files, doubts, warnings;
  std::optional<pair::Matcher> matcher;  // borrows from `graphs`
  const pair::Scenario* scenario = nullptr;
  std::optional<pair::Torchair> torchair;  // borrows from `target` and `golden`
  std::optional<judge::LimitRules> rules;
  std::optional<metrics::Tolerance> tolerance;  // by element, beside or in place of other limits
  std::optional<DType> computed;                // Spec::precision: the type whose limits hold
  std::optional<result::Saved> baseline;
  std::vector<const metrics::Metric*> wanted;  // what the user asked for, in that order
  std::vector<pair::PlannedRow> rows;          // the plan, by id
  compare::Policy* policy = nullptr;           // of a dialect
  std::optional<compare::Sides> sides;
  std::optional<compare::StreamOptions> stream_options;
  std::optional<compare::Streamer> streamer;

  const pair::Matcher* matcher_or_null() const { return matcher ? &*matcher : nullptr; }
};

namespace compare {

// The type whose limits hold for what is computed in "tf32", "float16" or "bfloat16".
Result<DType> computed_in(const std::string& precision);

// Fills a state from its spec, step by step; see session.cpp for the order.
Result<void> open_dumps(SessionState& state);
Result<void> understand(SessionState& state, RunContext& context);  // graphs and scenario
Result<void> make_plan(SessionState& state, RunContext& context);

// What needs all rows. `rows` are all of the plan, in order.
Result<result::Summary> finish(const SessionState& state, RowSource& rows, RunSink& run);

}  // namespace compare
}  // namespace plumb
