// SPDX-License-Identifier: Apache-2.0
//
// The elements of one tensor as doubles, in plain order.
#pragma once

#include <vector>

#include "dump/dump.h"

namespace plumb::compare {

// The first `most` of them. An error if they are no numbers, or cannot be read.
Result<std::vector<double>> numbers_of(dump::EntryReader& tensor, int64_t most);

}  // namespace plumb::compare
