// SPDX-License-Identifier: Apache-2.0
//
// How msaccucmp brings a device tensor and its golden counterpart to one shape: which layouts it
// converts, when it leaves both flat, and where it cuts. The rules decide rows and shapes of its
// results, so they are followed to the letter, oddities included.
#pragma once

#include "dialect/msaccucmp/tensors.h"

namespace plumb::msaccucmp {

// What the rule file says about the original tensor; empty where it says nothing.
struct Description {
  std::string format;
  Shape shape;
};

struct Aligned {
  View target, golden;     // of equal length
  bool truncated = false;  // the target's data goes on, and not as the padding of its layout
};

struct AlignOptions {
  bool golden_is_dump = false;
  // Elements are to be told by their coordinates: everything goes to NCHW (NCDHW) where possible.
  bool detailed = false;
};
Outcome<Aligned> align(const Tensor& target, const Tensor& golden, Description description,
                       const AlignOptions& options);

// Two npy files: shapes must be equal.
Outcome<Aligned> align_equal(const Tensor& target, const Tensor& golden);

// In another layout, without padding if `original`, the shape before the layout (or the recorded
// one), fits. A tensor that has the layout already stays as it is.
Outcome<View> converted_view(const Tensor& tensor, const Layout& to, const Shape& original);

// A device tensor on its own, without its padding if it is known how.
View restored(const Tensor& tensor);

}  // namespace plumb::msaccucmp
