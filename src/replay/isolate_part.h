// SPDX-License-Identifier: Apache-2.0
//
// Which operators of the original model are replayed, and where what they read and give is in the
// two dumps that a result compared.
#pragma once

#include "base/mapped_file.h"
#include "replay/isolate_sources.h"
#include "result/replayed.h"

namespace plumb::replay {

// A part of the model that can be run alone: both dumps have all that it reads.
struct IsolatedPart {
  std::vector<result::ReplayOperator>
      operators;              // what the user means, with what the target fused with it
  std::vector<size_t> nodes;  // of the model: these, and what makes their weights
  std::vector<std::pair<std::string, TensorSources>> inputs;  // by tensor of the model
  std::vector<std::pair<std::string, TensorSources>> outputs;
  std::vector<std::string> left_out;  // outputs that one of the sides did not dump
};

// Where the two dumps are, and which of their tensors count.
struct ComparedDumps {
  std::string target, golden;
  std::optional<int64_t> step;      // the first if not given
  std::vector<std::string> inputs;  // NAME=FILE: inputs of the model that were not dumped
};

class OriginalModel {
 public:
  // Borrows the run, which tells the tensors that belong together.
  static Result<std::unique_ptr<OriginalModel>> open(const std::string& path,
                                                     const result::Run& run,
                                                     const ComparedDumps& dumps);

  // The operator of that name, of the model or of the target, or all up to `to`. Where the model
  // has branches and the dump is of what was run, they may be in one of them: it is laid open.
  Result<IsolatedPart> find(const std::string& op, const std::string& to);

  const graph::OnnxModel& model() const { return model_; }
  engine::Model view() const;  // for an engine; borrows from this object

 private:
  explicit OriginalModel(const std::string& path) : path_(path) {}
  Result<IsolatedPart> find_at_surface(const std::string& op, const std::string& to) const;
  Result<std::vector<size_t>> nodes_between(const std::string& op, const std::string& to) const;
  void add_fused(std::vector<size_t>& nodes) const;
  std::string advice_without(const IsolatedPart& part,
                             const std::vector<std::string>& outputs) const;
  Result<void> find_outputs(IsolatedPart& part, const std::vector<std::string>& outputs) const;
  Result<void> find_inputs(IsolatedPart& part, const std::vector<std::string>& inputs,
                           const std::string& last) const;
  Result<void> open_branches();

  std::string path_;
  MappedFile file_;
  graph::OnnxModel model_;  // borrows from file_
  std::string edited_;      // the model with its branches laid open, if that was done
  std::optional<Sources> sources_;
  dump::DumpSet files_root_;                               // of inputs that were not dumped
  std::map<std::string, dump::Entry, std::less<>> files_;  // by tensor
};

}  // namespace plumb::replay
