// SPDX-License-Identifier: Apache-2.0
#include "compare/common_offset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "metrics/type_limits.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

constexpr int64_t kCodesAtOnce = 4096;  // elements
constexpr int64_t kMostCodes = int64_t{1} << 26;
constexpr int64_t kFewestCodes = 4;  // of a slice
constexpr double kNearlyAllCodes = 0.9;
constexpr double kNoChanceOfOffset = 1e-4;

struct StepCounts {
  int64_t up = 0, down = 0, stuck = 0;
  // Codes of golden that are off. Those of one value, of a dead channel, say, are rounded alike.
  std::array<double, 4> seen = {};
  size_t different = 0;

  void add(double target, double golden, bool is_stuck) {
    up += target > golden;
    down += target < golden;
    stuck += is_stuck;
    const auto end = seen.begin() + static_cast<ptrdiff_t>(different);
    if (target != golden && different < seen.size() && std::find(seen.begin(), end, golden) == end)
      seen[different++] = golden;
  }
};

struct OffsetAxis {
  std::optional<size_t> number;
  int64_t stride = 1;
  std::vector<StepCounts> slices;
};

bool is_colour(int64_t length) { return length == 3 || length == 4; }

// Of a picture: where a row of pixels is not.
bool may_be_offset(const Shape& shape, size_t axis, bool is_picture) {
  if (shape[axis] < 2 || shape[axis] > 1 << 16) return false;
  if (!is_picture) return true;
  const size_t rank = shape.size();
  return (rank == 4 && axis == 0) ||
         (is_colour(shape[axis]) && (axis == rank - 1 || axis == rank - 3));
}

std::vector<OffsetAxis> offset_axes(const Shape& shape, int64_t count, bool is_picture) {
  std::vector<OffsetAxis> axes;
  axes.push_back({std::nullopt, std::max<int64_t>(count, 1), std::vector<StepCounts>(1)});
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (may_be_offset(shape, axis, is_picture))
      axes.push_back({axis, stride, std::vector<StepCounts>(static_cast<size_t>(shape[axis]))});
    stride *= shape[axis];
  }
  return axes;
}

// That at least `off` of them are off by chance, at most (Chernoff's bound).
double chance_of(int64_t off, int64_t of, double share) {
  const double q = static_cast<double>(off) / static_cast<double>(of);
  if (share >= q) return 1;
  const double others = q < 1 ? (1 - q) * std::log((1 - q) / (1 - share)) : 0;
  return std::exp(-static_cast<double>(of) * (q * std::log(q / share) + others));
}

// Chance gives each element of a slice the share that is off elsewhere; all of them a direction.
std::optional<CommonOffset> offset_of(const OffsetAxis& axis, const StepCounts& all,
                                      int64_t count) {
  const auto slices = std::ssize(axis.slices);
  const int64_t each = count / slices;
  for (int64_t i = 0; i < slices; ++i) {
    const StepCounts& steps = axis.slices[static_cast<size_t>(i)];
    const bool is_up = steps.up >= steps.down;
    const int64_t off = is_up ? steps.up : steps.down, of = each - steps.stuck;
    if (of < kFewestCodes || steps.different < steps.seen.size() ||
        static_cast<double>(off) < kNearlyAllCodes * static_cast<double>(of))
      continue;
    const int64_t elsewhere = (is_up ? all.up : all.down) - off;
    const int64_t possible = (count - all.stuck) - of;
    const double share =
        axis.number ? static_cast<double>(elsewhere + 1) / static_cast<double>(possible + 2) : 0.5;
    if (chance_of(off, of, share) * static_cast<double>(slices) < kNoChanceOfOffset)
      return CommonOffset{axis.number, i, off, of, is_up};
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<CommonOffset>> find_common_offset(const dump::EntryReader& target,
                                                       const dump::EntryReader& golden,
                                                       bool is_picture, const RunContext& context) {
  auto t = target.again(), g = golden.again();
  if (!t) return t.error();
  if (!g) return g.error();
  const int64_t count = g->reader().count();
  if (count > kMostCodes || count != t->reader().count()) return std::optional<CommonOffset>();
  std::vector<OffsetAxis> axes = offset_axes(g->reader().shape(), count, is_picture);
  const metrics::Limits ends =
      is_picture
          ? metrics::Limits{0, 255}
          : metrics::limits_of(g->info().dtype).value_or(metrics::Limits{-HUGE_VAL, HUGE_VAL});
  std::vector<double> own(kCodesAtOnce), other(kCodesAtOnce);
  for (int64_t first = 0; first < count; first += kCodesAtOnce) {
    if (context.cancelled) return std::optional<CommonOffset>();
    const int64_t n = std::min(kCodesAtOnce, count - first);
    const auto t_bytes = t->reader().read(first, n), g_bytes = g->reader().read(first, n);
    if (!t_bytes) return t_bytes.error();
    if (!g_bytes) return g_bytes.error();
    decode_double(t->reader().dtype(), t_bytes->data(), n, own.data());
    decode_double(g->reader().dtype(), g_bytes->data(), n, other.data());
    for (int64_t i = 0; i < n; ++i) {
      const double a = own[static_cast<size_t>(i)], b = other[static_cast<size_t>(i)];
      const bool is_stuck = a == b && (b == ends.low || b == ends.high);
      if (a == b && !is_stuck) continue;
      for (OffsetAxis& axis : axes)
        axis.slices[static_cast<size_t>((first + i) / axis.stride % std::ssize(axis.slices))].add(
            a, b, is_stuck);
    }
  }
  for (const OffsetAxis& axis : axes)
    if (auto offset = offset_of(axis, axes.front().slices.front(), count)) return offset;
  return std::optional<CommonOffset>();
}

std::string text_of(const CommonOffset& offset) {
  const std::string where =
      offset.axis ? fmt::format("axis {}, index {}: ", *offset.axis, offset.index) : std::string();
  return fmt::format("{}{} of {} values are {} than golden's: rounding has no direction", where,
                     offset.off, offset.of, offset.is_up ? "higher" : "lower");
}

}  // namespace plumb::compare
