// SPDX-License-Identifier: Apache-2.0
#include "tensor/statistics.h"

#include <limits>

#include <fmt/format.h>

#include "tensor/dtype.h"

namespace plumb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool FullStatistics::operator==(const FullStatistics& other) const {
  const auto same = [](long double a, long double b) { return a == b || (a != a && b != b); };
  return dtype == other.dtype && shape == other.shape && count == other.count && nan == other.nan &&
         positive_inf == other.positive_inf && negative_inf == other.negative_inf &&
         zeros == other.zeros && crc32 == other.crc32 && same(min, other.min) &&
         same(max, other.max) && same(mean, other.mean) && same(std, other.std) &&
         same(l2, other.l2);
}

Extremes extremes_of(const FullStatistics& s) {
  if (s.count == 0) return {};
  if (s.nan > 0) return {kNan, kNan};
  const bool any = s.finite() > 0;
  return {s.negative_inf > 0 ? -kInf
          : any              ? s.min
                             : kInf,
          s.positive_inf > 0 ? kInf
          : any              ? s.max
                             : -kInf};
}

Statistics recorded_from(const FullStatistics& s) {
  Statistics recorded;
  recorded.dtype = s.dtype;
  recorded.shape = s.shape;
  if (s.crc32) recorded.checksum = fmt::format("{:08x}", *s.crc32);
  recorded.nan_count = s.nan;
  recorded.inf_count = s.positive_inf + s.negative_inf;
  recorded.zeros = s.zeros;
  if (s.count == 0 || s.dtype == name_of(DType::kOpaque)) return recorded;
  const bool low = s.negative_inf > 0, high = s.positive_inf > 0;
  const Extremes extremes = extremes_of(s);
  recorded.min = static_cast<double>(extremes.min);
  recorded.max = static_cast<double>(extremes.max);
  recorded.mean = low && high ? kNan : low ? -kInf : high ? kInf : s.mean;
  recorded.l2 = low || high ? kInf : s.l2;
  recorded.std = low || high ? kNan : s.std;
  if (s.nan > 0) recorded.mean = recorded.l2 = recorded.std = kNan;
  return recorded;
}

}  // namespace plumb
