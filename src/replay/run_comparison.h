// SPDX-License-Identifier: Apache-2.0
//
// Compares what two sides gave for each sample, and gathers it as one run.
#pragma once

#include "engine/dump_model.h"
#include "pair/scenario.h"
#include "replay/run.h"

namespace plumb::replay {

// A model that is run, or results that are there.
struct RunSide {
  std::string path;
  std::optional<engine::LoadedModel> model;
  std::filesystem::path results;              // of the sample at hand
  std::vector<engine::DumpedTensor> tensors;  // ... if they are a model's
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
  Result<void> begin(const RunSide& target, const RunSide& golden, const dump::DumpSet& target_set,
                     const dump::DumpSet& golden_set, const pair::Graphs& graphs);
  void note_missing(const std::vector<std::string>& outputs);
  bool is_asked_for(const std::string& op) const;

  const RunOptions& options_;
  std::filesystem::path work_;
  std::optional<judge::Rules> rules_;
};

}  // namespace plumb::replay
