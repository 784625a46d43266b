// SPDX-License-Identifier: Apache-2.0
//
// Compares what two sides gave for each sample, and gathers it as one run.
#pragma once

#include "engine/dump_model.h"
#include "plumb/session.h"
#include "replay/run.h"
#include "replay/run_network.h"

namespace plumb::replay {

// A model that is run, or results that are there.
struct RunSide {
  std::string path;
  std::optional<engine::LoadedModel> model;
  // Of the sample at hand.
  std::optional<engine::Dump> given;  // by the model
  std::filesystem::path results;      // else the directory of its tensors
  std::string gt;                     // that of a gt folder which was chosen; empty: it is none
};

class RunComparison {
 public:
  explicit RunComparison(const RunOptions& options) : options_(options) {}  // borrowed

  // Adds the rows of one sample, and whether its classes agree.
  Result<void> add(RunSide& target, RunSide& golden, std::optional<int64_t> step, Scores& scores,
                   RunContext& context);

  // Once all samples were added: who introduced the error, and why, by the tensors of the latest.
  void explain(const RunSide& target, const RunSide& golden, RunContext& context);
  // Adds the rows of a sample that was not run, as they would have been.
  void add_unreached(int64_t step);

  result::Run run;

 private:
  // Which results of a gt folder are compared: sets `results` and `gt` of both sides.
  Result<void> choose_results(RunSide& target, RunSide& golden);
  // Makes `session_` one over the tensors of the sample.
  Result<void> open(const RunSide& target, const RunSide& golden, RunContext& context);
  void begin(const RunSide& target, const RunSide& golden, const result::Run& sample);
  void give_back_memory(int64_t bytes);
  void limit_details();
  void note_missing(const std::string& output);
  bool is_asked_for(const std::string& op) const;

  const RunOptions& options_;
  bool is_board_against_simulator_ = false;
  std::optional<Session> session_;  // of the latest sample, for the next if that has the same plan
  std::shared_ptr<const graph::Graph> target_graph_, golden_graph_;  // of its models
  // Of the model that was run, if the session knows no graphs.
  std::optional<RunNetwork> network_;
  std::vector<RowId> ids_;   // of the rows of the latest sample, by row of the run; -1 for others
  size_t limited_rows_ = 0;  // whose details were limited
  int64_t compared_bytes_ = 0;  // since memory was given back
};

}  // namespace plumb::replay
