// SPDX-License-Identifier: Apache-2.0
//
// A closer look at one pair: its worst elements, its error along an axis, and the difference as a
// tensor of its own. Streams like the comparison itself.
#pragma once

#include <optional>

#include "compare/gather.h"

namespace plumb::compare {

struct Element {
  int64_t position = 0;        // in plain order
  std::string target, golden;  // with all their digits
  double error = 0;            // |target - golden|; infinite if only one of them is a number
  double relative = 0;         // error / |golden|; infinite if golden is zero or no number
};
// At most `count`, the worst first, then by position; elements that agree are not among them.
Result<std::vector<Element>> worst_elements(dump::EntryReader& target, dump::EntryReader& golden,
                                            size_t count, const RunContext& context);

// The first element that differs, in plain order; none if all agree. Reads as far as that.
Result<std::optional<Element>> first_difference(const dump::EntryReader& target,
                                                const dump::EntryReader& golden,
                                                const RunContext& context);

// "1 of 10 elements differs, [0, 3]: 12 instead of 13"; without the counts if `off` is 0.
std::string difference_text(const Element& first, const Shape& shape, int64_t off, int64_t count);

// Where an element is: [n, c, h, w].
Shape coordinates(int64_t position, const Shape& shape);

// The errors of all elements with one index along an axis: of a channel, say.
struct AxisError {
  int64_t index = 0;
  int64_t count = 0;
  int64_t odd = 0;  // NaN and infinities that do not agree
  double dd = 0, gg = 0;
  double max_abs = 0;
  double rel_euclid() const;  // 0 if nothing differs, infinite if golden is zero and target is not
};
// In order of the index. `axis` counts from 0, or from -1 backwards.
Result<std::vector<AxisError>> errors_along(dump::EntryReader& target, dump::EntryReader& golden,
                                            int64_t axis, const RunContext& context);

// target - golden as npy: float64 if a side is wider than float32, else float32.
Result<void> save_difference(dump::EntryReader& target, dump::EntryReader& golden,
                             const std::filesystem::path& path, const RunContext& context);

}  // namespace plumb::compare
