// SPDX-License-Identifier: Apache-2.0
//
// One comparison, as everybody drives it: open both sides and pair their tensors, stream any of the
// rows in any order, finish when all are there. Commands, dialects, replays, the Python module and
// runs on many machines use these four calls; nobody else compares.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"
#include "plumb/row.h"
#include "plumb/run_context.h"
#include "plumb/selection.h"
#include "plumb/tensor.h"

namespace plumb::graph {
struct Graph;
}
namespace plumb::dump {
struct DumpSet;
}

#pragma GCC visibility push(default)  // the library exports this
namespace plumb {

using RowId = int64_t;  // position in the plan; --op and --slot do not change it

// One side: what a path holds, or tensors in memory.
struct SideSpec {
  std::string path;                           // a file or directory of any known kind; or
  std::vector<NamedTensor> tensors;           // these, if the path is empty; or
  std::shared_ptr<const dump::DumpSet> dump;  // what the caller opened or made, if it is there
  std::string graph;                          // a file that describes its model; or
  std::shared_ptr<graph::Graph> model;        // the description itself
};

struct Spec {
  SideSpec target, golden;
  std::string quant;           // what the quantization tool made of the model (AMCT json)
  std::string name_map;        // pairs that only the user knows, a CSV or TOML file
  std::string mode;            // kind of comparison; empty: told by the content
  Selection selection;         // which tensors
  HintWords hints;             // what files without a header hold
  std::string convention;      // how directories name their files; empty: told by the content
  std::string profile, rules;  // limits: a profile, or a file of rules; empty: by the scenario
  // Limits of their own, by element: |target - golden| <= atol + rtol * |golden| as
  // numpy's allclose has it; one that is not given is 0. Beside the
  // limits of `profile` or `rules`; alone if neither is named.
  std::optional<double> atol, rtol;
  // What the target computes in, although it stores float32: "tf32", "float16" or "bfloat16".
  // Empty: as it is stored, or as the values and the network around them show.
  std::string precision;
  std::vector<std::string> metrics;  // names or "all"; empty: all that one pass gives
  bool checksum = false;             // compare CRC-32 only
  bool details = false;              // rows have their details: see plumb/details.h
  std::string floor;                 // a second golden run, whose noise sets the limits
  std::string baseline;              // an earlier result that this one is held against
  std::string command = "compare";   // for the report
  // Map large files. The first mapping installs a handler of SIGBUS, which chains to the one before
  // it. False: files are read into memory instead, two of them at a time for each thread.
  bool map = true;
};

// A row to be. Views are valid as long as the session.
struct PlanRow {
  RowId id = 0;
  // Operator and slot of each side; empty if there is none, or if its file cannot be read.
  std::string target, target_slot, golden, golden_slot;
  std::string_view rule;      // how the two were paired
  std::string_view evidence;  // a clause
  std::string_view reason;    // a reason code if there is nothing to compare, else empty
  std::string_view message;   // ... in words
};

class Session;
namespace compare {
class Policy;
Result<Session> open_session(Spec spec, Policy& policy, RunContext& context);
}  // namespace compare

class Plan {
 public:
  RowId size() const;
  PlanRow row(RowId id) const;
  int64_t bytes(RowId id) const;  // of both sides, as stored; asks the file system
  int64_t bytes() const;          // of all rows

 private:
  friend class Session;
  const struct SessionState* state_ = nullptr;
};

// Where streamed rows go. Called by one thread at a time, in any order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void row(RowId id, result::Row&& row) = 0;
};

// Where rows come from when the run is finished: memory, shards, a journal. Hands out every row of
// the plan once, in the order of ids; called several times. Rows may be changed or moved from.
class RowSource {
 public:
  virtual ~RowSource() = default;
  using Use = std::function<Result<void>(RowId id, result::Row& row)>;
  virtual Result<void> each(const Use& use) = 0;
};

// Where a finished run goes: what is known of it as a whole, then its rows in order.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual Result<void> begin(const result::Run& run, const result::Summary& summary) = 0;
  virtual Result<void> row(result::Row&& row) = 0;
};

class Session {
 public:
  // Reads headers, graphs and profiles. The session owns all that its rows refer to.
  static Result<Session> open(Spec spec, RunContext& context);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const Plan& plan() const;
  // Other tensors in memory in place of those of both sides, such as the next sample of two models
  // gives: the plan stays. False, and nothing has changed, if names, types or shapes differ.
  bool exchange_tensors(const dump::DumpSet& target, const dump::DumpSet& golden);
  // Any subset, any order, any number of times: the same rows. When the run is cancelled, rows that
  // were not reached have the reason "interrupted".
  Result<void> stream(std::span<const RowId> rows, Sink& sink, RunContext& context) const;
  // What needs all rows: outputs of the model, precision of the network, baseline, summary.
  Result<result::Summary> finish(RowSource& rows, RunSink& run) const;

  // For code of this library that looks closer: see compare/session_state.h.
  const SessionState& state() const { return *state_; }

 private:
  friend Result<Session> compare::open_session(Spec, compare::Policy&, RunContext&);
  explicit Session(std::unique_ptr<SessionState> state);
  std::unique_ptr<SessionState> state_;
  Plan plan_;
};

// A run in memory, from its stream to its finish: the rows are changed where they are.
class RunInMemory : public Sink, public RowSource, public RunSink {
 public:
  explicit RunInMemory(const Plan& plan) { run.rows.resize(static_cast<size_t>(plan.size())); }
  void row(RowId id, result::Row&& row) override;
  Result<void> each(const Use& use) override;
  Result<void> begin(const result::Run& header, const result::Summary& summary) override;
  Result<void> row(result::Row&& row) override;

  result::Run run;

 private:
  size_t finished_ = 0;  // rows
};

// Every row of the plan, not yet finished.
std::vector<result::Row> stream_all(const Session& session, RunContext& context);

// All of it: every row of the plan, finished.
Result<result::Run> compare_all(const Session& session, RunContext& context);

}  // namespace plumb
#pragma GCC visibility pop
