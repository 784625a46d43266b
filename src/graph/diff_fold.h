// SPDX-License-Identifier: Apache-2.0
//
// A chain of operators as the one that it amounts to: a convolution or a matrix product with
// factors and offsets for each channel folded into its weights, and an activation behind it. So a
// model is held against what a converter made of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/model_content.h"

namespace plumb::graph {

struct Folded {
  int host = -1;  // the operator that has the weight
  // With factors folded in, and axes as a plain MatMul has them.
  ConstantTensor weight{DType::kFloat32, {0}, {}};
  std::string weight_name, bias_name;
  std::vector<double> bias;   // one for each channel; empty: none
  std::vector<double> sizes;  // of what each was summed from: rounding goes by that
  struct Activation {
    std::string type;
    std::vector<double> numbers;  // alpha, ..., as its attributes tell
    bool operator==(const Activation&) const = default;
  };
  std::vector<Activation> activations;
};

// Operators in the order in which they run. The first that has a weight is the host; behind it, as
// many are folded as can be: `used` are their places in `chain`, the host's first. nullopt: there
// is no host.
std::optional<Folded> fold(const ModelContent& model, std::span<const int> chain,
                           std::vector<size_t>& used);

// Changes no number: a product with one, a sum with zero.
bool is_neutral(const ModelContent& model, int op);

// What an operator consists of, for those that stand for several: the types of simple operators,
// and the numbers that these are told.
struct Parts {
  std::vector<std::string> types;  // sorted; without those that only reshape
  std::vector<double> numbers;     // scalars
  std::vector<std::shared_ptr<const ConstantTensor>> tensors;
  bool is_complete = true;  // nothing in it is unknown
};
Parts parts_of(const ModelContent& model, std::span<const int> operators);
// The same parts, numbers up to float's rounding.
bool are_same(const Parts& target, const Parts& golden);

}  // namespace plumb::graph
