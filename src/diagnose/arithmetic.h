// SPDX-License-Identifier: Apache-2.0
//
// Whether an operator's output follows from what it reads: golden itself shows what operators
// compute (functions.cpp lists what is tried), and the target's own inputs show what should have
// come out. So a difference of large numbers, which only makes an error visible, is told from an
// operator that made one. Needs no model.
#pragma once

#include <optional>

#include "diagnose/net.h"
#include "diagnose/tensors.h"

namespace plumb::diagnose {

struct Follows {
  double own = 0;  // rel_euclid of the output to what should have come from the target's inputs
  double inherited = 0;  // ... of that to golden
  double misfit = 0;     // of the function to golden, on golden's inputs
};

// What looking at all operators together may cost, in steps of about a nanosecond.
inline constexpr int64_t kMostWork = int64_t{200} << 20;
// ... where nothing tells who reads what, and where nothing fails.
inline constexpr int64_t kGuessingWork = int64_t{24} << 20, kLittleWork = int64_t{8} << 20;

// nullopt if golden's output is no simple function of golden's inputs, or they are not at hand.
std::optional<Follows> follows(const Net& net, const Node& node, size_t output_row,
                               Tensors& tensors);

// The same for all operators whose own error is not known yet, as far as tensors are small enough
// and `work` lasts, those first that seem to add most: Node::own.
void measure_by_arithmetic(Net& net, Tensors& tensors, const RunContext& context, int64_t work);

// What an operator reads, if that is one tensor alone and at hand.
std::shared_ptr<const compare::PairValues> only_input(const Net& net, const Node& node,
                                                      size_t output_row, Tensors& tensors);

}  // namespace plumb::diagnose
