// SPDX-License-Identifier: Apache-2.0
#include "metrics/type_limits.h"

#include <limits>

#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

Limits up_to(double largest) { return {-largest, largest}; }

// The extremes of a side are over the pairs of two finite values: a finite value beside one that is
// not finite is `hidden` from them.
std::optional<int64_t> by_extremes(const PairSums& s, const std::optional<Limits>& limits,
                                   double min, double max, int64_t nan, int64_t inf) {
  if (!limits) return 0;
  const int64_t hidden = s.count - s.finite - nan - inf;
  const bool within = s.finite == 0 || (limits->hold(min) && limits->hold(max));
  if (hidden == 0 && within) return inf;
  return std::nullopt;
}

// int4 ends before the int8 it is read as; what stands for other numbers ends where those do.
std::optional<Limits> target_limits(const PairFacts& facts) {
  return limits_of(facts.target_is_dequantized() ? facts.target_dtype : facts.target_stored);
}
std::optional<Limits> golden_limits(const PairFacts& facts) {
  return limits_of(facts.golden_stored);
}
std::optional<int64_t> settled_target(const PairFacts& facts) {
  return target_at_limit_by_sums(facts.sums, target_limits(facts));
}
std::optional<int64_t> settled_golden(const PairFacts& facts) {
  return golden_at_limit_by_sums(facts.sums, golden_limits(facts));
}

// Of a side, unless the sums settle it.
struct LimitCount {
  std::optional<Limits> limits;
  int64_t count = 0;
  void add(const double* values, int64_t n) {
    if (limits) count += at_limit_block(values, n, limits->low, limits->high);
  }
};

struct LimitCounts {
  [[maybe_unused]] static constexpr bool kTakesStored = true;
  LimitCount target, golden;
  void add(const PairPiece& piece) {
    for_each_block(piece, [this](const double* t, const double* g, int64_t n) {
      target.add(t, n);
      golden.add(g, n);
    });
  }
  void append(const LimitCounts& later) {
    target.count += later.target.count;
    golden.count += later.golden.count;
  }
};

Value counted(const PairFacts& facts, std::optional<int64_t> settled,
              LimitCount LimitCounts::*side) {
  if (settled) return Value::of(static_cast<double>(*settled));
  const auto* counts = facts.find<LimitCounts>();
  if (counts == nullptr) return Value::undefined(kNotComputed);
  return Value::of(static_cast<double>((counts->*side).count));
}

}  // namespace

std::optional<Limits> limits_of(DType stored) {
  switch (part_of(stored)) {
    case DType::kInt4: return Limits{-8, 7};
    case DType::kInt8: return Limits{-128, 127};
    case DType::kUint8: return Limits{0, 255};
    case DType::kInt16: return Limits{-32768, 32767};
    case DType::kUint16: return Limits{0, 65535};
    case DType::kFloat8E4M3Fn: return up_to(448);
    case DType::kFloat8E5M2: return up_to(57344);
    case DType::kHiFloat8: return up_to(32768);
    case DType::kFloat16: return up_to(65504);
    case DType::kBFloat16: return up_to(0x1.FEp127);
    case DType::kFloat32: return up_to(std::numeric_limits<float>::max());
    case DType::kFloat64: return up_to(std::numeric_limits<double>::max());
    default: return std::nullopt;
  }
}

int64_t count_at_limit(DType dtype, const std::byte* data, int64_t count, const Limits& limits) {
  const DType part = part_of(dtype);
  const int64_t values = part == dtype ? count : 2 * count;
  alignas(64) double block[kDetailBlock];
  int64_t found = 0;
  for (int64_t first = 0; first < values; first += kDetailBlock) {
    const int64_t n = std::min(kDetailBlock, values - first);
    decode_double(part, data + first * (bits_of(part) / 8), n, block);
    found += at_limit_block(block, n, limits.low, limits.high);
  }
  return found;
}

std::optional<int64_t> target_at_limit_by_sums(const PairSums& s,
                                               const std::optional<Limits>& limits) {
  return by_extremes(s, limits, s.t_min, s.t_max, s.t_nan, s.t_inf);
}

std::optional<int64_t> golden_at_limit_by_sums(const PairSums& s,
                                               const std::optional<Limits>& limits) {
  return by_extremes(s, limits, s.g_min, s.g_max, s.g_nan, s.g_inf);
}

constinit const Accumulator kLimitCounts{
    [](const PairFacts& first, bool) -> std::unique_ptr<Accumulated> {
      LimitCounts counts;
      if (!settled_target(first)) counts.target.limits = target_limits(first);
      if (!settled_golden(first)) counts.golden.limits = golden_limits(first);
      if (!counts.target.limits && !counts.golden.limits) return nullptr;
      return accumulated(counts);
    }};

Value target_at_limit(const PairFacts& facts) {
  return counted(facts, settled_target(facts), &LimitCounts::target);
}
Value golden_at_limit(const PairFacts& facts) {
  return counted(facts, settled_golden(facts), &LimitCounts::golden);
}

}  // namespace plumb::metrics
