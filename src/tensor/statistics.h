// SPDX-License-Identifier: Apache-2.0
//
// What is known of a tensor's values where the data are not at hand. Dumps record it, reduced files
// keep it, and it is judged wherever it comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/shape.h"

namespace plumb {

// As dump tools record it: NaN and infinities get through to the numbers, and any may be missing.
struct Statistics {
  std::string dtype;  // in the tool's own words, "torch.float16"; empty if not known
  std::optional<Shape> shape;
  std::optional<double> min, max, mean, l2, std;
  std::optional<int64_t> nan_count, inf_count, zeros;
  std::optional<bool> requires_grad;
  std::string checksum;     // CRC-32 or the tool's own digest, lower-case hex
  std::string text;         // of a non-tensor argument; "max=True, min=False" of a bool tensor
  bool has_sketch = false;  // in the reduced file, see dump/reduced.h
};

// As we measure it: numbers over the finite elements, and how many elements there are of each kind.
struct FullStatistics {
  std::string dtype;  // "bfloat16"
  Shape shape;        // logical
  int64_t count = 0, nan = 0, positive_inf = 0, negative_inf = 0, zeros = 0;
  long double min = 0, max = 0;  // holds every 64-bit integer
  double mean = 0, std = 0, l2 = 0;
  std::optional<uint32_t> crc32;  // of the elements in plain order

  int64_t finite() const { return count - nan - positive_inf - negative_inf; }
  bool operator==(const FullStatistics& other) const;  // NaN is NaN
};

// The extremes of all elements as numpy finds them: NaN wins, then infinities; 0 of no elements.
struct Extremes {
  long double min = 0, max = 0;
};
Extremes extremes_of(const FullStatistics& statistics);

// What a dump tool would have recorded.
Statistics recorded_from(const FullStatistics& statistics);

}  // namespace plumb
