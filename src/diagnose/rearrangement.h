// SPDX-License-Identifier: Apache-2.0
//
// Golden with its elements in other places: axes in another order, reversed, shifted, or inside a
// larger tensor. One description serves all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "diagnose/transform_fit.h"
#include "tensor/shape.h"

namespace plumb::diagnose {

inline constexpr int64_t kNowhere = INT64_MIN / 16;
inline constexpr size_t kMostAxes = 8;
inline constexpr size_t kMostVerified = 2;  // on all elements, the best by the sample
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();  // golden has none

struct Rearrangement {
  std::string detail, text;
  Shape shape;  // of the result
  // For each axis of the result and each index along it, what it adds to the place in golden;
  // kNowhere: golden says nothing about it.
  std::vector<std::vector<int64_t>> steps;
};

// Golden as it is.
Rearrangement plain(const Shape& shape);

// The place in golden that an element of the result comes from; negative: nowhere.
int64_t place_in_golden(const Rearrangement& rearrangement, int64_t place);

// The first `count` elements of the result; `missing` where golden has none.
std::vector<double> rearranged(const Rearrangement& rearrangement, std::span<const double> golden,
                               int64_t count, double missing);

// Golden as the best of the candidates has it, if that explains the target. They may leave
// 1 - `least_covered` of the target open.
void try_rearrangements(const Problem& problem, const std::vector<Rearrangement>& candidates,
                        const Freedom& freedom, std::vector<Claim>& claims);

// The families, for combinations with other numbers.
std::vector<Rearrangement> channel_reversals(const Shape& shape);
std::vector<Rearrangement> flips(const Shape& shape);
std::vector<Rearrangement> axis_orders(const Shape& shape, const Shape& target_shape);

}  // namespace plumb::diagnose
