// SPDX-License-Identifier: Apache-2.0
//
// The numbers that metrics must survive.
#pragma once

#include <limits>

namespace plumb::metrics {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace plumb::metrics
