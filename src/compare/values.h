// SPDX-License-Identifier: Apache-2.0
//
// The numbers of one pair, for whoever looks at them in more than one way: both tensors as doubles
// in plain order, read as the comparison reads them. Of large tensors only the beginning.
#pragma once

#include <vector>

#include "compare/session_state.h"

namespace plumb::compare {

struct PairValues {
  Shape target_shape, golden_shape;  // of the whole tensors
  DType target_dtype = DType::kFloat32, golden_dtype = DType::kFloat32;
  std::vector<double> target, golden;  // their first elements
  bool is_whole = true;                // they hold all elements

  // Element by element: as many on both sides.
  bool is_aligned() const { return target.size() == golden.size(); }
};

// At most `most` elements of each side. An error if the row has no two tensors that can be decoded.
Result<PairValues> values_of(const SessionState& state, RowId row, int64_t most);

// One tensor of the target, in the same way.
Result<std::vector<double>> target_values(const SessionState& state, const dump::Entry& entry,
                                          int64_t most);

}  // namespace plumb::compare
