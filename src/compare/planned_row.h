// SPDX-License-Identifier: Apache-2.0
//
// A row before its tensors are read.
#pragma once

#include "pair/plan.h"
#include "plumb/row.h"

namespace plumb::compare {

// What the plan says of a row, which is all if there is nothing to compare.
result::Row planned_row(const pair::PlannedRow& planned);

}  // namespace plumb::compare
