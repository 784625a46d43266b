// SPDX-License-Identifier: Apache-2.0
//
// An output that tells a class: a list with a score for each. Of equal scores the first comes
// first, in every model, so that ties are broken alike.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::replay {

using ClassScores = std::vector<double>;

// Whether a tensor looks like one: one axis of at least two numbers, beside axes of 1.
bool are_class_scores(DType dtype, const Shape& shape);
// nullopt if it does not.
std::optional<ClassScores> class_scores(DType dtype, const Shape& shape, Bytes bytes);

bool has_nan(const ClassScores& scores);  // then none is the largest
int64_t first_class(const ClassScores& scores);
bool is_tied(const ClassScores& scores);  // the largest score is that of several classes
// How many classes come before this one; all, if there is no such class.
int64_t rank_of(int64_t label, const ClassScores& scores);

// How alike two lists of scores are; NaN if that cannot be told: a constant list, equal lists.
double pearson_of(const ClassScores& target, const ClassScores& golden);
double sqnr_db_of(const ClassScores& target, const ClassScores& golden);

}  // namespace plumb::replay
