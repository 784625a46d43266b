// SPDX-License-Identifier: Apache-2.0
#include "compare/whole_slices.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compare/elements.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

constexpr int64_t kAtOnce = 4096;  // elements
constexpr int64_t kMostWholeElements = 1 << 20;
constexpr int64_t kMostSliceIndices = 1024;  // of an axis
constexpr int64_t kFewestElements = 16;      // of a slice
constexpr double kGrid = 0x1p-4;             // what is quantized is often a multiple of it

bool is_multiple(double value, double of) { return std::floor(value / of) * of == value; }
bool counts(double golden) { return golden != 0 && golden != -1; }  // these fill what is left over

// A slice under way, with how much of golden in it is coarse.
struct Look {
  WholeSlice slice;
  bool is_whole = true;
  int64_t coarse = 0, counted = 0;
};

// The slices along one axis.
struct Axis {
  int64_t stride = 1;
  std::vector<Look> looks;
  size_t left = 0;  // that are whole so far
};

std::vector<Axis> axes_of(const Shape& shape, int64_t count) {
  std::vector<Axis> axes;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0 && axes.size() < 2;) {
    const int64_t length = shape[axis];
    if (length > 1 && length <= kMostSliceIndices && count / length >= kFewestElements) {
      Axis& added = axes.emplace_back();
      added.stride = stride;
      added.looks.resize(static_cast<size_t>(length));
      added.left = added.looks.size();
      for (int64_t i = 0; i < length; ++i)
        added.looks[static_cast<size_t>(i)].slice = {axis, i, count / length, 0, 0, 0, 0};
    }
    stride *= length;
  }
  return axes;
}

void look_at_element(int64_t position, double target, double golden, double most, bool is_coarse,
                     Axis& axis) {
  const auto length = std::ssize(axis.looks);
  Look& look = axis.looks[static_cast<size_t>(position / axis.stride % length)];
  look.counted += counts(golden);
  look.coarse += is_coarse;
  if (!look.is_whole) return;
  look.is_whole = is_multiple(target, 1) && is_multiple(golden, 1) && std::fabs(target) < most &&
                  std::fabs(golden) < most;
  axis.left -= !look.is_whole;
  if (target == golden || look.slice.differing++ > 0) return;
  look.slice.first = position;
  look.slice.target = target;
  look.slice.golden = golden;
}

}  // namespace

Result<std::optional<WholeSlice>> find_whole_slice(const dump::EntryReader& target,
                                                   const dump::EntryReader& golden, double most,
                                                   const RunContext& context) {
  auto t = target.again(), g = golden.again();
  if (!t) return t.error();
  if (!g) return g.error();
  const int64_t count = g->reader().count();
  if (count > kMostWholeElements || count != t->reader().count())
    return std::optional<WholeSlice>();
  std::vector<Axis> axes = axes_of(g->reader().shape(), count);
  const auto any_left = [&] {
    return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.left > 0; });
  };
  int64_t coarse = 0, counted = 0;  // of all
  std::vector<double> own(kAtOnce), other(kAtOnce);
  for (int64_t first = 0; first < count; first += kAtOnce) {
    if (!any_left() || context.cancelled) return std::optional<WholeSlice>();
    const int64_t n = std::min(kAtOnce, count - first);
    const auto t_bytes = t->reader().read(first, n), g_bytes = g->reader().read(first, n);
    if (!t_bytes) return t_bytes.error();
    if (!g_bytes) return g_bytes.error();
    decode_double(t->reader().dtype(), t_bytes->data(), n, own.data());
    decode_double(g->reader().dtype(), g_bytes->data(), n, other.data());
    for (int64_t i = 0; i < n; ++i) {
      const double a = own[static_cast<size_t>(i)], b = other[static_cast<size_t>(i)];
      const bool is_coarse = counts(b) && is_multiple(b, kGrid);
      counted += counts(b);
      coarse += is_coarse;
      for (Axis& axis : axes) look_at_element(first + i, a, b, most, is_coarse, axis);
    }
  }
  for (const Axis& axis : axes)
    for (const Look& look : axis.looks)
      if (look.is_whole && look.slice.differing > 0 &&
          2 * (coarse - look.coarse) < counted - look.counted)
        return std::optional(look.slice);
  return std::optional<WholeSlice>();
}

std::string text_of(const WholeSlice& slice, const Shape& shape) {
  const bool is_one = slice.differing == 1;
  return fmt::format(
      "axis {}, index {}: {} of {} whole numbers {}, {}{}: {} instead of {}; they are compared as "
      "ids",
      slice.axis, slice.index, slice.differing, slice.elements, is_one ? "differs" : "differ",
      is_one ? "" : "the first ", plumb::to_string(coordinates(slice.first, shape)), slice.target,
      slice.golden);
}

}  // namespace plumb::compare
