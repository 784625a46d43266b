// SPDX-License-Identifier: Apache-2.0
//
// Two models compared without running them: operators that one has and the other has not,
// attributes and weights of those that both have, what goes in and out. Which operators belong
// together is decided elsewhere (pair/model_alignment.h) and handed in; everything here is about
// what they are told.
#pragma once

#include <string>
#include <vector>

#include "graph/model_content.h"
#include "graph/weight_diff.h"

namespace plumb::graph {

// What an operator does for the result.
enum class Role : uint8_t {
  kComputes,
  kMoves,     // puts values in other places, or in other shapes: Reshape, Transpose
  kHandsOn,   // changes no value, or only its precision: Identity, Cast, QuantizeLinear
  kConstant,  // made of shapes and constants alone
  kEnd,       // an input or output of the model
};

// Operators are given by their place in Graph::operators, -1: none.
struct ModelAlignment {
  std::vector<int> golden_of, target_of;
  std::vector<Role> target_roles, golden_roles;
  // Operators that belong together, but not one to one: what was merged or taken apart, and what
  // has no counterpart, with what it touches. In the order in which they run. A pair that others
  // were merged into is among them.
  struct Region {
    std::vector<int> target, golden;
  };
  std::vector<Region> regions;
  // Inputs of a pair that are not each other's.
  struct Rewired {
    int target = -1, golden = -1;
    int64_t input = 0;
  };
  std::vector<Rewired> rewired;
};

enum class DiffKind : uint8_t {
  kMissing,       // golden has an operator that the target has not
  kAdded,         // ... and the other way round
  kReplaced,      // an operator of another type
  kMerged,        // several operators for one, or others for several
  kAttribute,     // of two operators that belong together
  kWeights,       // constants of them
  kQuantization,  // constants that are rounded to few levels
  kPrecision,     // constants of another type, the same values
  kWiring,        // reads another tensor
  kInput,         // of the model: name, shape or type
  kOutput,
  kOpset,
};
std::string_view name_of(DiffKind kind);  // "missing", "attribute", ...

// Whether it changes what the model computes.
enum class DiffGrade : uint8_t {
  kDifferent,
  kUnverified,  // cannot be told without running it
  kEquivalent,  // another way to write the same: a name, a folded batch norm
};
std::string_view name_of(DiffGrade grade);  // "different", "unverified", "equivalent"

struct Difference {
  DiffKind kind = DiffKind::kMissing;
  DiffGrade grade = DiffGrade::kDifferent;
  std::string target,
      golden;  // operators, or inputs and outputs of the model; empty: there is none
  std::string target_type, golden_type;
  std::string what;    // name of the attribute, of golden's constant, "shape" of an input
  std::string detail;  // "missing:Relu", "added:Relu", "replaced:Relu,Elu" (golden's type first),
                       // "attribute:epsilon", "scale:1.03" (see weight_diff.h), "dtype:float16"
  std::string target_value, golden_value;   // as text, of attributes, shapes and types
  std::optional<WeightDifference> numbers;  // of weights
  std::vector<std::string> target_operators, golden_operators;  // of kMerged: all of them
  std::string message;                                          // one sentence
};

struct DiffOptions {
  double tolerance = 0;  // relative norm of a difference of weights that counts as none
};

struct ModelDiff {
  std::vector<Difference> differences;  // the worst first
  // Totals that add up: each operator of a side is paired, in a region, or needs no counterpart.
  struct Side {
    size_t operators = 0, paired = 0, in_regions = 0, idle = 0;
  };
  Side target, golden;
  size_t attributes = 0, constants = 0;  // compared
  size_t not_compared = 0;  // constants of pairs that are computed on one side or cannot be read

  size_t count(DiffGrade grade) const;
  bool is_same() const { return count(DiffGrade::kEquivalent) == differences.size(); }
};

ModelDiff diff_models(const ModelContent& target, const ModelContent& golden,
                      const ModelAlignment& alignment, const DiffOptions& options = {});

// schema plumb.diff/1
struct DiffPaths {
  std::string target, golden;
};
std::string to_json(const ModelDiff& diff, const DiffPaths& paths);

}  // namespace plumb::graph
