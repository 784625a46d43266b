// SPDX-License-Identifier: Apache-2.0
//
// The two models behind a run against each other (graph/diff.h), by operator: an epsilon, a pad, 3
// % in a bias or 15 distinct weights are evidence that needs no run. Only what can matter: other
// ways to write the same are no difference, and what holds for a good part of the operators (all
// weights of a quantized model stand on levels) tells nothing about one of them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/diff.h"

namespace plumb::diagnose {

class ModelDifferences {
 public:
  struct Files {
    std::string target, target_weights, golden, golden_weights;  // weights of Caffe, else empty
  };
  // An error if one cannot be read, or if they are of two kinds.
  static Result<ModelDifferences> load(const Files& files);
  ModelDifferences(const graph::ModelContent& target, const graph::ModelContent& golden);

  // What is different at an operator or right before it, the worst first: by the names that the
  // operator has in the target and in golden.
  std::vector<const graph::Difference*> at(const std::vector<std::string_view>& target_names,
                                           const std::vector<std::string_view>& golden_names) const;
  const graph::ModelDiff& diff() const { return diff_; }

 private:
  void add_readers(size_t place, const graph::Graph& graph, const std::string& op,
                   std::unordered_multimap<std::string, size_t>& by_name);
  std::vector<bool> common_ones(const graph::ModelContent& golden) const;

  graph::ModelDiff diff_;
  // Places in diff_.differences by operator, as dump tools write names.
  std::unordered_multimap<std::string, size_t> by_target_, by_golden_;
};

}  // namespace plumb::diagnose
