// SPDX-License-Identifier: Apache-2.0
#include "compare/whole_slices.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "compare/elements.h"
#include "metrics/resolution.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

constexpr int64_t kAtOnce = 4096;  // elements
constexpr int64_t kMostWholeElements = 1 << 20;
constexpr int64_t kMostSliceIndices = 1024;  // of an axis
constexpr double kGrid = 0x1p-4;             // what is quantized is often a multiple of it
constexpr int kFineDigits = 6;               // a type with so many could show that it is not
// Digits behind the point that are all zero, of values that are not the same: no chance.
constexpr int kFewDigits = 8, kManyDigits = 16;
constexpr double kNoRounding = 0x1p-4;  // of a whole number
constexpr double kRoundingSteps = 4;    // of the coarser type, in a slice
constexpr double kFarAbove = 3;         // times the error of other slices

bool is_multiple(double value, double of) { return std::floor(value / of) * of == value; }
bool counts(double value) { return value != 0 && value != -1; }  // these fill what is left over

// How many binary digits behind the point a type has beside a value.
int digits_beside(double value, DType dtype) {
  const double relative = metrics::resolution_of(dtype).relative;
  if (relative == 0 || !std::isfinite(value) || !counts(value)) return 0;
  return std::clamp(-std::ilogb(relative) - std::max(0, std::ilogb(value)), 0, 12);
}

// The values of one side in a slice.
struct WholeSide {
  bool is_whole = true;
  int digits = 0;  // of different values, as far as it matters
  std::array<double, 4> seen = {};
  size_t seen_count = 0;

  void add(double value, DType dtype) {
    if (!is_whole) return;
    is_whole = is_multiple(value, 1) && std::isfinite(value);
    const auto end = seen.begin() + static_cast<ptrdiff_t>(seen_count);
    if (!is_whole || seen_count == seen.size() || std::find(seen.begin(), end, value) != end)
      return;
    seen[seen_count++] = value;
    digits += digits_beside(value, dtype);
  }
};

struct WholeDifferences {
  int64_t count = 0, first = 0;
  double target = 0, golden = 0;  // of the first
  void add(int64_t position, double t, double g) {
    if (count++ > 0) return;
    first = position;
    target = t;
    golden = g;
  }
};

// A slice under way.
struct Look {
  WholeSide target, golden;
  WholeDifferences any, far;        // the latter by more than rounding
  double farthest = 0;              // of the errors beyond rounding
  int64_t coarse = 0, counted = 0;  // values of golden on a coarse grid, of those that need not be
};

// The slices along one axis, or the whole tensor as one.
struct Axis {
  std::optional<size_t> number;
  int64_t stride = 1;
  std::vector<Look> looks;
};

struct WholePair {
  int64_t position;
  double target, golden;
};

class Search {
 public:
  Search(const Shape& shape, int64_t count, const ShownTypes& shown)
      : count_(count),
        shown_(shown),
        step_(metrics::resolution_of(metrics::coarser_of(shown.target, shown.golden)).relative) {
    axes_.push_back({std::nullopt, std::max<int64_t>(count, 1), std::vector<Look>(1)});
    int64_t stride = 1;
    for (size_t axis = shape.size(), left = 2; axis-- > 0 && left > 0;) {
      const int64_t length = shape[axis];
      if (length > 1 && length <= kMostSliceIndices) {
        axes_.push_back({axis, stride, std::vector<Look>(static_cast<size_t>(length))});
        --left;
      }
      stride *= length;
    }
  }

  void add(const WholePair& pair) {
    const auto& [position, t, g] = pair;
    const int digits = digits_beside(g, shown_.golden);
    const double error = std::fabs(t - g);
    const double rounding = step_ * std::fabs(g);
    const bool has_fractions = rounding < 1;  // the coarser type, there
    for (Axis& axis : axes_) {
      Look& look = axis.looks[static_cast<size_t>(position / axis.stride % std::ssize(axis.looks))];
      look.target.add(t, shown_.target);
      look.golden.add(g, shown_.golden);
      if (digits >= kFineDigits) {
        ++look.counted;
        look.coarse += is_multiple(g, kGrid);
      }
      if (!(error > 0) || !std::isfinite(error)) continue;
      if (error > rounding || has_fractions) look.any.add(position, t, g);
      look.farthest = std::max(look.farthest, error - rounding);
      const double steps = axis.number ? kRoundingSteps : 1;
      if (error > std::max(kNoRounding, steps * rounding)) look.far.add(position, t, g);
    }
  }

  bool may_find() const {
    return std::any_of(axes_.begin(), axes_.end(), [](const Axis& axis) {
      return std::any_of(axis.looks.begin(), axis.looks.end(), [&](const Look& look) {
        return look.golden.is_whole || (!axis.number && look.target.is_whole);
      });
    });
  }

  std::optional<WholeSlice> found() const {
    for (const Axis& axis : axes_) {
      if (auto slice = axis.number ? of_slices(axis) : of_all(axis.looks.front())) return slice;
    }
    return std::nullopt;
  }

 private:
  static bool both_show_ids(const Look& look) {
    return look.target.is_whole && look.golden.is_whole &&
           look.target.digits + look.golden.digits >= kFewDigits;
  }

  WholeSlice slice_of(const Axis* axis, int64_t index, const WholeDifferences& of) const {
    const int64_t elements = axis == nullptr ? count_ : count_ / std::ssize(axis->looks);
    return {axis == nullptr ? std::nullopt : axis->number,
            index,
            elements,
            of.count,
            of.first,
            of.target,
            of.golden};
  }

  std::optional<WholeSlice> of_all(const Look& all) const {
    if (all.any.count > 0 && both_show_ids(all)) return slice_of(nullptr, 0, all.any);
    // Fractions that one side alone has: ids that are none, or numbers that lost theirs.
    const bool by_golden = all.golden.is_whole && all.golden.digits >= kFewDigits;
    const bool by_target = all.target.is_whole && all.target.digits >= kManyDigits &&
                           step_ <= metrics::resolution_of(DType::kFloat32).relative;
    if (all.far.count > 0 && (by_golden || by_target)) return slice_of(nullptr, 0, all.far);
    return std::nullopt;
  }

  std::optional<WholeSlice> of_slices(const Axis& axis) const {
    int64_t coarse = 0, counted = 0, others = 0;  // of slices that are no ids
    double usual = 0;
    for (const Look& look : axis.looks) {
      if (look.golden.is_whole) continue;
      ++others;
      coarse += look.coarse;
      counted += look.counted;
      usual = std::max(usual, look.farthest);
    }
    if (others == 0 || (counted > 0 && 2 * coarse >= counted)) return std::nullopt;
    const int fewest = counted > 0 ? kFewDigits : kManyDigits;
    for (int64_t i = 0; i < std::ssize(axis.looks); ++i) {
      const Look& look = axis.looks[static_cast<size_t>(i)];
      if (!look.golden.is_whole) continue;
      if (look.any.count > 0 && look.target.is_whole &&
          look.target.digits + look.golden.digits >= fewest)
        return slice_of(&axis, i, look.any);
      if (look.far.count > 0 && look.golden.digits >= fewest && look.farthest > kFarAbove * usual)
        return slice_of(&axis, i, look.far);
    }
    return std::nullopt;
  }

  int64_t count_;
  ShownTypes shown_;
  double step_;  // of the coarser type, relatively
  std::vector<Axis> axes_;
};

}  // namespace

Result<std::optional<WholeSlice>> find_whole_slice(const dump::EntryReader& target,
                                                   const dump::EntryReader& golden,
                                                   const ShownTypes& shown, double marks_from,
                                                   const RunContext& context) {
  auto t = target.again(), g = golden.again();
  if (!t) return t.error();
  if (!g) return g.error();
  const int64_t count = g->reader().count();
  if (count > kMostWholeElements || count != t->reader().count())
    return std::optional<WholeSlice>();
  Search search(g->reader().shape(), count, shown);
  std::vector<double> own(kAtOnce), other(kAtOnce);
  for (int64_t first = 0; first < count; first += kAtOnce) {
    if (!search.may_find() || context.cancelled) return std::optional<WholeSlice>();
    const int64_t n = std::min(kAtOnce, count - first);
    const auto t_bytes = t->reader().read(first, n), g_bytes = g->reader().read(first, n);
    if (!t_bytes) return t_bytes.error();
    if (!g_bytes) return g_bytes.error();
    decode_double(t->reader().dtype(), t_bytes->data(), n, own.data());
    decode_double(g->reader().dtype(), g_bytes->data(), n, other.data());
    for (int64_t i = 0; i < n; ++i) {
      const double a = own[static_cast<size_t>(i)], b = other[static_cast<size_t>(i)];
      const bool are_marks = marks_from < 0   ? std::max(a, b) <= marks_from
                             : marks_from > 0 ? std::min(a, b) >= marks_from
                                              : false;
      if (!are_marks) search.add({first + i, a, b});
    }
  }
  return search.found();
}

std::string text_of(const WholeSlice& slice, const Shape& shape) {
  const bool is_one = slice.differing == 1;
  const std::string where =
      slice.axis ? fmt::format("axis {}, index {}: ", *slice.axis, slice.index) : std::string();
  return fmt::format(
      "{}{} of {} whole numbers {}, {}{}: {} instead of {}; they are compared as ids", where,
      slice.differing, slice.elements, is_one ? "differs" : "differ", is_one ? "" : "the first ",
      plumb::to_string(coordinates(slice.first, shape)), slice.target, slice.golden);
}

}  // namespace plumb::compare
