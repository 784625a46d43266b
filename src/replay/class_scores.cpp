// SPDX-License-Identifier: Apache-2.0
#include "replay/class_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/decode.h"

namespace plumb::replay {
namespace {

constexpr int64_t kMostClasses = 1'000'000;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool are_class_scores(DType dtype, const Shape& shape) {
  const DKind kind = kind_of(dtype);
  const Shape axes = squeezed(shape);
  return axes.size() == 1 && axes[0] >= 2 && axes[0] <= kMostClasses &&
         (kind == DKind::kFloat || kind == DKind::kInteger);
}

std::optional<ClassScores> class_scores(DType dtype, const Shape& shape, Bytes bytes) {
  if (!are_class_scores(dtype, shape)) return std::nullopt;
  const int64_t count = *element_count(shape);
  ClassScores scores(static_cast<size_t>(count));
  decode_double(dtype, bytes.data(), count, scores.data());
  return scores;
}

bool has_nan(const ClassScores& scores) {
  return std::any_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); });
}

int64_t first_class(const ClassScores& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

bool is_tied(const ClassScores& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  return std::count(scores.begin(), scores.end(), most) > 1;
}

int64_t rank_of(int64_t label, const ClassScores& scores) {
  if (label < 0 || label >= std::ssize(scores)) return std::ssize(scores);
  const auto at = scores.begin() + label;
  return std::count_if(scores.begin(), at, [&](double score) { return score >= *at; }) +
         std::count_if(at, scores.end(), [&](double score) { return score > *at; });
}

double pearson_of(const ClassScores& target, const ClassScores& golden) {
  const auto count = static_cast<double>(golden.size());
  const double t_mean = std::accumulate(target.begin(), target.end(), 0.0) / count;
  const double g_mean = std::accumulate(golden.begin(), golden.end(), 0.0) / count;
  double tt = 0, gg = 0, tg = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double t = target[i] - t_mean, g = golden[i] - g_mean;
    tt += t * t;
    gg += g * g;
    tg += t * g;
  }
  const double value = tg / std::sqrt(tt) / std::sqrt(gg);
  return std::isfinite(value) ? value : kUnknown;
}

double sqnr_db_of(const ClassScores& target, const ClassScores& golden) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double off = target[i] - golden[i];
    signal += golden[i] * golden[i];
    noise += off * off;
  }
  const double value = 10 * std::log10(signal / noise);
  return std::isfinite(value) ? value : kUnknown;
}

}  // namespace plumb::replay
