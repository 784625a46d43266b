// SPDX-License-Identifier: Apache-2.0
//
// Compares what two sides gave for each sample, and gathers it as one run.
#pragma once

#include "engine/dump_model.h"
#include "plumb/session.h"
#include "replay/run.h"

namespace plumb::replay {

// A model that is run, or results that are there.
struct RunSide {
  std::string path;
  std::optional<engine::LoadedModel> model;
  // Of the sample at hand.
  std::filesystem::path results;      // directory of its tensors, unless they are in memory
  std::optional<engine::Dump> given;  // by the model
  bool is_in_memory = false;
};

class RunComparison {
 public:
  // Borrows the options. Files without a header get one, in `work`.
  RunComparison(const RunOptions& options, std::filesystem::path work)
      : options_(options), work_(std::move(work)) {}

  // Adds the rows of one sample, and whether its classes agree.
  Result<void> add(RunSide& target, RunSide& golden, std::optional<int64_t> step, Scores& scores,
                   RunContext& context);

  result::Run run;

 private:
  Result<void> find_results(RunSide& side, const RunSide& other, bool is_target) const;
  Result<Session> open(const RunSide& target, const RunSide& golden, RunContext& context) const;
  void begin(const RunSide& target, const RunSide& golden, const Session& session,
             const result::Run& sample);
  void note_missing(const std::string& output);
  bool is_asked_for(const std::string& op) const;

  const RunOptions& options_;
  std::filesystem::path work_;
};

}  // namespace plumb::replay
