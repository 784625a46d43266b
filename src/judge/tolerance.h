// SPDX-License-Identifier: Apache-2.0
//
// A tolerance by element as a limit: every element is close, as numpy's allclose has it. Beside the
// limits of a profile, or in their place.
#pragma once

#include "judge/profile.h"
#include "metrics/close_share.h"

namespace plumb::judge {

// From what a user gave; nullopt if that is nothing, an error if it is no number from 0 on.
Result<std::optional<metrics::Tolerance>> tolerance_from(std::optional<double> atol,
                                                         std::optional<double> rtol);

LimitRules rules_of_tolerance();        // it alone judges; their name is "tolerance"
void add_tolerance(LimitRules& rules);  // it judges, too
inline constexpr std::string_view kToleranceRules = "tolerance";

// Says what the share of close elements means: how many are off, the --atol that they would pass
// with, and whether the tolerance is so large that it says nothing: where it alone judges, the row
// is inconclusive then.
void explain(const metrics::Closeness& closeness, const metrics::PairSums& sums, bool is_alone,
             result::Row& row);

}  // namespace plumb::judge
