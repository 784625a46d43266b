// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/original.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dialect/msprobe/fold.h"

namespace plumb::msprobe {
namespace {

constexpr float kSmallestGolden = 1.1920929e-07F;  // golden values up to this count as zero

struct SideSums {
  double sum = 0;
  float max = -std::numeric_limits<float>::infinity();
  float min = std::numeric_limits<float>::infinity();
  bool is_finite = true;

  void add(float x) {
    sum += static_cast<double>(x);
    max = std::max(max, x);
    min = std::min(min, x);
    is_finite = is_finite && std::isfinite(x);
  }
  void append(const SideSums& later) {
    sum += later.sum;
    max = std::max(max, later.max);
    min = std::min(min, later.min);
    is_finite = is_finite && later.is_finite;
  }
  OriginalSide finish(int64_t count) const {
    return {is_finite, static_cast<double>(max), static_cast<double>(min),
            static_cast<double>(static_cast<float>(sum / static_cast<double>(count)))};
  }
};

struct PairSums {
  SideSums target, golden;
  double tt = 0, gg = 0, tg = 0, dd = 0, rel = 0, abs = 0;
  float max_rel = 0, max_abs = 0;

  void add(float t, float g) {
    target.add(t);
    golden.add(g);
    const double x = static_cast<double>(t), y = static_cast<double>(g);
    tt += x * x;
    gg += y * y;
    tg += x * y;
    dd += (x - y) * (x - y);
    if (std::fabs(g) <= kSmallestGolden) return;
    const float relative = std::fabs(t / g - 1), absolute = std::fabs(t - g);
    rel += static_cast<double>(relative);
    abs += static_cast<double>(absolute);
    max_rel = std::max(max_rel, relative);
    max_abs = std::max(max_abs, absolute);
  }
  void append(const PairSums& later) {
    target.append(later.target);
    golden.append(later.golden);
    for (double PairSums::*sum : {&PairSums::tt, &PairSums::gg, &PairSums::tg, &PairSums::dd,
                                  &PairSums::rel, &PairSums::abs})
      this->*sum += later.*sum;
    max_rel = std::max(max_rel, later.max_rel);
    max_abs = std::max(max_abs, later.max_abs);
  }
};

// Of softmax over all elements, which needs the largest ones first.
struct Divergence {
  double t_sum = 0, g_sum = 0, product = 0;

  void add(double t, double g) {  // both less their largest
    const double share = std::exp(g);
    g_sum += share;
    t_sum += std::exp(t);
    product += share * (g - t);
  }
  void append(const Divergence& later) {
    t_sum += later.t_sum;
    g_sum += later.g_sum;
    product += later.product;
  }
  double finish() const {
    return std::max(0.0, product / g_sum - std::log(g_sum) + std::log(t_sum));
  }
};

// Two zero tensors agree; against a zero one nothing does.
double rounded_cosine(const PairSums& sums) {
  constexpr double kShortest = 1e-8;
  if (sums.tt == 0 && sums.gg == 0) return 1;
  const double length =
      std::max(std::sqrt(sums.tt), kShortest) * std::max(std::sqrt(sums.gg), kShortest);
  return std::round(sums.tg / length * 1e10) / 1e10;
}

}  // namespace

Result<std::optional<OriginalMetrics>> original_metrics(dump::EntryReader& target,
                                                        dump::EntryReader& golden,
                                                        const RunContext& context) {
  OriginalMetrics metrics;
  if (auto checked = compare::check_pair(target, golden); !checked) return checked.error();
  const int64_t count = target.reader().count();
  metrics.is_empty = count == 0;
  if (metrics.is_empty) return std::optional(metrics);
  auto sums = fold<PairSums>(target, golden, context, true, [](PairSums& to, double t, double g) {
    to.add(static_cast<float>(t), static_cast<float>(g));
  });
  if (!sums) return sums.error();
  if (context.cancelled) return std::optional<OriginalMetrics>();
  const auto n = static_cast<double>(count);
  metrics.target = sums->target.finish(count);
  metrics.golden = sums->golden.finish(count);
  if (!metrics.are_defined()) return std::optional(metrics);
  metrics.cosine = rounded_cosine(*sums);
  metrics.max_rel = static_cast<double>(sums->max_rel);
  metrics.mean_rel = sums->rel / n;
  metrics.max_abs = static_cast<double>(sums->max_abs);
  metrics.mean_abs = sums->abs / n;
  const double length = std::sqrt(sums->gg);
  metrics.rel_euclid =
      length <= static_cast<double>(kSmallestGolden) ? 0 : std::sqrt(sums->dd) / length;
  const double t_max = metrics.target.max, g_max = metrics.golden.max;
  auto divergence =
      fold<Divergence>(target, golden, context, false, [&](Divergence& to, double t, double g) {
        to.add(static_cast<double>(static_cast<float>(t)) - t_max,
               static_cast<double>(static_cast<float>(g)) - g_max);
      });
  if (!divergence) return divergence.error();
  if (context.cancelled) return std::optional<OriginalMetrics>();
  metrics.kl = divergence->finish();
  return std::optional(metrics);
}

std::vector<std::string> original_header() {
  return {"token_id",
          "data_id",
          "golden_data_path",
          "golden_op_type",
          "golden_dtype",
          "golden_shape",
          "golden_max_value",
          "golden_min_value",
          "golden_mean_value",
          "my_data_path",
          "my_op_type",
          "my_dtype",
          "my_shape",
          "my_max_value",
          "my_min_value",
          "my_mean_value",
          "cosine_similarity",
          "max_relative_error",
          "mean_relative_error",
          "max_absolute_error",
          "mean_absolute_error",
          "kl_divergence",
          "relative_euclidean_distance",
          "cmp_fail_reason"};
}

Cells original_cells(const OriginalLine& line) {
  const OriginalMetrics& m = line.metrics;
  Cells cells;
  const auto add_number = [&](bool is_known, double value) {
    if (is_known)
      cells.number(value);
    else
      cells.text("");
  };
  cells.count(line.token);
  cells.count(line.id);
  const auto add_side = [&](const std::string& path, const std::string& dtype,
                            const std::string& shape, const OriginalSide& side) {
    for (std::string_view text : {std::string_view(path), std::string_view(),
                                  std::string_view(dtype), std::string_view(shape)})
      cells.text(text);
    for (double each : {side.max, side.min, side.mean})
      add_number(!m.is_empty && side.is_finite, each);
  };
  add_side(line.golden_path, line.golden_dtype, line.golden_shape, m.golden);
  add_side(line.target_path, line.target_dtype, line.target_shape, m.target);
  for (double each : {m.cosine, m.max_rel, m.mean_rel, m.max_abs, m.mean_abs, m.kl, m.rel_euclid})
    add_number(m.are_defined(), each);
  std::string reason;
  if (!m.golden.is_finite) reason = "golden_data includes NAN or inf.";
  if (!m.target.is_finite)
    reason += (reason.empty() ? "" : " ") + std::string("my_data includes NAN or inf.");
  cells.text(reason);
  return cells;
}

}  // namespace plumb::msprobe
