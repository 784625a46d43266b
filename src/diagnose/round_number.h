// SPDX-License-Identifier: Apache-2.0
//
// A fitted number as a person would write it.
#pragma once

#include <string>

namespace plumb::diagnose {

// Whole numbers as they are; else the number with the fewest digits that is not farther than
// `tolerance`, at most seven digits;// reciprocals of small whole numbers (1/255) are recognised
// and written with six: "0.00392157".
std::string round_number(double value, double tolerance);

}  // namespace plumb::diagnose
