// SPDX-License-Identifier: Apache-2.0
//
// What stands for a model in an evaluation: the model itself, or a directory of its results, one
// directory for each sample. Either gives the scores of the classes.
#pragma once

#include <memory>

#include "engine/dump_model.h"
#include "replay/class_scores.h"
#include "replay/eval.h"

namespace plumb::replay {

struct GivenScores {
  std::string output;  // tensor
  ClassScores scores;
  std::vector<engine::DumpedTensor> tensors;  // of a model: all that it gave
};

class EvalSide {
 public:
  // `scores` as EvalOptions::scores.
  static Result<EvalSide> open(const RunSideOptions& side, const EvalOptions& options);

  const std::string& path() const { return path_; }
  const engine::LoadedModel* model() const { return model_.get(); }  // null: results
  std::string engine() const;  // "ONNX Runtime 1.21.0"; "results" of a directory
  // What tells whether it is still the same: sizes, checksums and the engine's version.
  Result<std::string> print() const;

  Result<GivenScores> run(const engine::Inputs& inputs, const RunContext& context);

  // The samples that a directory has results of, by name; one without a name if it is itself one.
  std::vector<std::string> samples() const;
  // Files without a header are read as `like`, what a model gave, tells.
  Result<GivenScores> read(const std::string& sample, size_t place, bool is_golden,
                           const std::vector<engine::DumpedTensor>& like) const;

 private:
  std::string path_, weights_, scores_;
  std::string settings_;  // of the engine
  std::unique_ptr<engine::LoadedModel> model_;
  std::unique_ptr<engine::ModelDumper> dumper_;  // borrows the model
};

}  // namespace plumb::replay
