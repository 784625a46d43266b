// SPDX-License-Identifier: Apache-2.0
//
// How another tool compares, where that is not our way: which tensors it pairs, how it reads them
// and what it computes. The session does everything else. See dialect/.
#pragma once

#include <vector>

#include "compare/stream.h"
#include "plumb/result.h"
#include "plumb/run_context.h"
#include "plumb/session.h"

namespace plumb::compare {

class Policy {
 public:
  virtual ~Policy() = default;
  // Opens a side; by default as `plumb compare` does.
  virtual Result<dump::DumpSet> open(const SideSpec& side, const Spec& spec,
                                     const io::ReadHints& hints) const;
  // The rows, once both sides are open. May keep what they borrow in itself: it outlives the
  // session.
  virtual Result<std::vector<pair::PlannedRow>> plan(const dump::DumpSet& target,
                                                     const dump::DumpSet& golden,
                                                     RunContext& context) = 0;
  // What is computed of each pair; of any table.
  virtual std::vector<const metrics::Metric*> columns() const = 0;
  // What is gathered for them; more or less than they say themselves.
  virtual void refine(metrics::Request& request) const { static_cast<void>(request); }
  // Told what rows were made from; may be null.
  virtual Observer* observer() { return nullptr; }
};

// A session that compares as the policy says. Nothing is looked for in graphs, and what needs all
// rows is left to the dialect.
Result<Session> open_session(Spec spec, Policy& policy, RunContext& context);

}  // namespace plumb::compare
