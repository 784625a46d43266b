// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/original_tensors.h"

#include <cmath>
#include <limits>

#include "dialect/msprobe/fold.h"

namespace plumb::msprobe {
namespace {

struct TensorSums {
  double tt = 0, gg = 0, tg = 0, dd = 0, max_abs = 0, max_rel = 0;
  int64_t below_1e3 = 0, below_5e3 = 0;
  bool marks_differ = false;  // NaN or infinities are not in the same places

  void add(double t, double g, bool is_single) {
    if (!std::isfinite(t) || !std::isfinite(g)) {
      marks_differ |= std::isnan(t) != std::isnan(g) || std::isinf(t) != std::isinf(g);
      t = g = 0;
    }
    tt += t * t;
    gg += g * g;
    tg += t * g;
    dd += (t - g) * (t - g);
    max_abs = std::max(max_abs, std::fabs(t - g));
    const double relative = is_single ? relative_error(static_cast<float>(t), static_cast<float>(g))
                                      : relative_error(t, g);
    max_rel = std::max(max_rel, relative);
    below_1e3 += relative < 0.001 ? 1 : 0;
    below_5e3 += relative < 0.005 ? 1 : 0;
  }
  void append(const TensorSums& later) {
    for (double TensorSums::*sum :
         {&TensorSums::tt, &TensorSums::gg, &TensorSums::tg, &TensorSums::dd})
      this->*sum += later.*sum;
    max_abs = std::max(max_abs, later.max_abs);
    max_rel = std::max(max_rel, later.max_rel);
    below_1e3 += later.below_1e3;
    below_5e3 += later.below_5e3;
    marks_differ |= later.marks_differ;
  }

 private:
  template <class Real>
  static double relative_error(Real t, Real g) {
    const Real step = g == 0 ? std::numeric_limits<Real>::epsilon() : 0;
    t += step;
    g += step;
    return static_cast<double>(std::fabs((t - g) / g));
  }
};

double to_decimals(double value, int decimals) {
  const double scale = std::pow(10, decimals);
  const double scaled = std::round(value * scale);
  return std::isfinite(scaled) ? scaled / scale : value;
}

OriginalNumber cosine_number(const TensorSums& sums) {
  constexpr double kNothing = std::numeric_limits<double>::epsilon();
  const double t = std::sqrt(sums.tt), g = std::sqrt(sums.gg);
  if (t <= kNothing && g <= kNothing) return {1};
  if (t <= kNothing || g <= kNothing) return {0, "Nan"};
  const double cosine = sums.tg / (t * g);
  if (std::isnan(cosine)) return {0, "Nan"};
  return {to_decimals(cosine, cosine > 0.9999 ? 6 : 12)};
}

bool is_single(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         (kind_of(dtype) == DKind::kFloat && bits_of(dtype) == 8);
}

}  // namespace

OriginalNumbers all_of(std::string_view word) {
  OriginalNumbers numbers;
  numbers.fill({0, word});
  return numbers;
}

Result<std::optional<OriginalNumbers>> original_numbers(dump::EntryReader& target,
                                                        dump::EntryReader& golden,
                                                        const RunContext& context) {
  if (squeezed(target.info().shape) != squeezed(golden.info().shape))
    return std::optional(all_of("shape unmatched"));
  if (auto checked = compare::check_pair(target, golden); !checked) return checked.error();
  const int64_t count = target.reader().count();
  if (count == 0) return std::optional(all_of("unsupported"));
  const bool single = is_single(target.info().dtype) && is_single(golden.info().dtype);
  auto sums = fold<TensorSums>(target, golden, context, true,
                               [&](TensorSums& to, double t, double g) { to.add(t, g, single); });
  if (!sums) return sums.error();
  if (context.cancelled) return std::optional<OriginalNumbers>();
  if (sums->marks_differ) return std::optional(all_of("N/A"));
  const auto share = [&](int64_t n) {
    return OriginalNumber{to_decimals(static_cast<double>(n) / static_cast<double>(count), 12)};
  };
  OriginalNumbers numbers = {cosine_number(*sums),
                             OriginalNumber{std::sqrt(sums->dd)},
                             OriginalNumber{to_decimals(sums->max_abs, 12)},
                             OriginalNumber{to_decimals(sums->max_rel, 12)},
                             share(sums->below_1e3),
                             share(sums->below_5e3)};
  if (count == 1)  // nothing is left of its shape
    for (const size_t i : {0, 1, 4, 5}) numbers[i].word = "unsupported";
  return std::optional(numbers);
}

}  // namespace plumb::msprobe
