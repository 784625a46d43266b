// SPDX-License-Identifier: Apache-2.0
//
// The functions that stand in the table of functions.cpp.
#pragma once

#include "diagnose/example.h"

namespace plumb::diagnose {

// pointwise.cpp
std::optional<Should> of_one_element(const Example& example);
std::optional<Should> limited(const Example& example);
std::optional<Should> leaky(const Example& example);
std::optional<Should> of_line(const Example& example);
std::optional<Should> with_constant(const Example& example);
std::optional<Should> of_two_elements(const Example& example);
std::optional<Should> sum_of_all(const Example& example);
// moves.cpp
std::optional<Should> joined(const Example& example);
std::optional<Should> transposed(const Example& example);
std::optional<Should> enlarged(const Example& example);
std::optional<Should> cut_out(const Example& example);
// reductions.cpp
std::optional<Should> softmax(const Example& example);
std::optional<Should> normalised(const Example& example);
std::optional<Should> reduced(const Example& example);
std::optional<Should> pooled(const Example& example);
// products.cpp
std::optional<Should> product_of_two(const Example& example);
std::optional<Should> linear(const Example& example);

}  // namespace plumb::diagnose
