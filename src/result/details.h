// SPDX-License-Identifier: Apache-2.0
//
// Which rows keep which details when there are many: a report is to stay small enough to mail.
#pragma once

#include "plumb/row.h"

namespace plumb::result {

inline constexpr size_t kMostFullDetails = 2000;  // rows with heat map and errors by channel
inline constexpr size_t kMostDetails = 10000;     // rows with any

// Those that fail first, then those that are inconclusive or near a limit, then those with the
// largest rel_euclid keep theirs.
void limit_details(Run& run, size_t most_full = kMostFullDetails, size_t most = kMostDetails);

}  // namespace plumb::result
