// SPDX-License-Identifier: Apache-2.0
//
// Two operators that belong together, attribute by attribute and constant by constant.
#pragma once

#include "graph/diff.h"

namespace plumb::graph {

struct PairTotals {
  size_t attributes = 0, constants = 0, not_compared = 0;
};

// One operator of each model. What differs is added to `out`, what was compared to `totals`.
struct OperatorPair {
  const ModelContent& target;
  int target_place;
  const ModelContent& golden;
  int golden_place;

  const Operator& own() const { return target.graph.operators[static_cast<size_t>(target_place)]; }
  const Operator& other() const {
    return golden.graph.operators[static_cast<size_t>(golden_place)];
  }
  const OperatorContent& own_content() const {
    return target.operators[static_cast<size_t>(target_place)];
  }
  const OperatorContent& other_content() const {
    return golden.operators[static_cast<size_t>(golden_place)];
  }
};

// A difference that names the pair.
Difference difference_of(const OperatorPair& pair, DiffKind kind);

// Types, attributes, constants.
void compare_pair(const OperatorPair& pair, const DiffOptions& options, PairTotals& totals,
                  std::vector<Difference>& out);
void compare_attributes(const OperatorPair& pair, PairTotals& totals, std::vector<Difference>& out);
// Two constants, `what` being golden's name, or the target's if golden has none.
void compare_constants(const OperatorPair& pair, const std::string& what,
                       const ConstantTensor& target, const ConstantTensor& golden,
                       const WeightLimits& limits, std::vector<Difference>& out);

// Written in different ways: Flatten and Reshape, FusedConv and Conv.
bool are_akin(std::string_view type, std::string_view other);

}  // namespace plumb::graph
