// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "dialect/msprobe/dtype_match.h"

namespace plumb::msprobe {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Judged by nothing: what they give out was never written, or is only moved.
constexpr std::string_view kUnjudged[] = {"empty",
                                          "empty_like",
                                          "numpy",
                                          "to",
                                          "__setitem__",
                                          "empty_with_format",
                                          "new_empty_strided",
                                          "new_empty",
                                          "empty_strided"};
// Inputs of these are buffers that other processes fill.
constexpr std::string_view kBufferInputs[] = {"_reduce_scatter_base", "_all_gather_base",
                                              "all_to_all_single", "batch_isend_irecv"};

bool is_one_of(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::array<std::optional<double>, 4> numbers_of(const Statistics& statistics) {
  return {statistics.max, statistics.min, statistics.mean, statistics.l2};
}

bool is_finite(std::optional<double> number) { return number && std::isfinite(*number); }

constexpr double kThinMargin = 0.005;

bool has_only_extremes(const Differences& differences) {
  return !differences[3].ratio() && !differences[2].ratio();
}

// The relative difference of the norms; of data that only has extremes, the larger of theirs.
std::optional<double> norm_ratio(const Differences& differences) {
  if (!has_only_extremes(differences)) return differences[3].ratio();
  const auto max = differences[0].ratio(), min = differences[1].ratio();
  if (!max || !min) return max ? max : min;
  return std::max(*max, *min);
}

// Types of floating point numbers are compared with each other, but their difference is reported.
bool dtypes_differ(const StatisticRow& row) {
  return !row.target_dtype.empty() && !row.golden_dtype.empty() &&
         row.target_dtype != row.golden_dtype &&
         plain_dtype(row.target_dtype) != plain_dtype(row.golden_dtype);
}

void fail(Judged& judged, std::string_view clause) {
  judged.add(clause);
  judged.level = "error";
}

void finish(Judged& judged) {
  judged.result = judged.level == "error" ? "FAIL" : "PASS";
  judged.accuracy = judged.level == "error" ? "No" : "Yes";
}

Judged unmatched(const StatisticRow& row) {
  if (row.is_refused) return refused(row);
  Judged judged;
  judged.add("no golden data for this tensor");
  if (!row.why_unmatched.empty()) judged.add(row.why_unmatched);
  return judged;
}

void judge_alone(const StatisticRow& row, Judged& judged) {
  if (turned_bad(row)) fail(judged, "target max or min is NaN or inf");
  const auto& t = row.target->requires_grad;
  const auto& g = row.golden->requires_grad;
  if (t && g && *t != *g) fail(judged, "requires_grad differs");
  if (row.is_argument && row.target->text != row.golden->text)
    fail(judged, "scalar argument differs");
  if (dtypes_differ(row)) fail(judged, "dtype differs");
  if (row.target_shape && row.golden_shape && *row.target_shape != *row.golden_shape)
    fail(judged, "shape differs");
}

const char* deciding(const Differences& differences) {
  return has_only_extremes(differences) ? "max or min" : "norm";
}

// A pass of a tensor about which little is known is none to rely on.
void doubt(const StatisticRow& row, const Differences& differences, Judged& judged) {
  if (row.is_argument || row.is_empty || judged.level == "error") return;
  const auto warn = [&](std::string_view clause) {
    judged.add(clause);
    judged.level = "warning";
  };
  const bool any_number = std::any_of(differences.begin(), differences.end(),
                                      [](const Difference& d) { return d.difference.has_value(); });
  const Statistics &t = *row.target, &g = *row.golden;
  if (!any_number) {
    if (!t.text.empty() && !g.text.empty())  // of bool tensors
      return t.text == g.text ? void() : warn("max or min differs");
    judged.result = judged.accuracy = "N/A";
    return warn("nothing recorded can be compared");
  }
  if (t.l2.has_value() != g.l2.has_value())
    return warn(t.l2 ? "golden has no norm" : "target has no norm");
  const auto ratio = norm_ratio(differences);
  if (has_only_extremes(differences) && ratio && *ratio > kThinMargin)
    warn("judged by extremes only");
}

// What the outputs of an API add to the errors of its inputs.
void judge_growth(std::span<const StatisticRow> api, std::span<const Differences> differences,
                  std::vector<Judged>& judged) {
  double largest_input = 0, largest_output = 0;
  std::optional<size_t> first_output;
  for (size_t i = 0; i < api.size(); ++i) {
    const auto ratio = norm_ratio(differences[i]);
    if (api[i].is_output && !first_output && api[i].is_matched) first_output = i;
    if (!ratio || std::isnan(*ratio)) continue;
    double& largest = api[i].is_output ? largest_output : largest_input;
    largest = std::max(largest, *ratio);
  }
  for (size_t i = 0; i < api.size(); ++i) {
    const auto ratio = norm_ratio(differences[i]);
    if (api[i].is_output && ratio && largest_input < 0.1 && *ratio > 0.5)
      fail(judged[i], fmt::format("output {} relative error above 0.5 while input below 0.1",
                                  deciding(differences[i])));
  }
  const bool grows =
      largest_input == 0 ? largest_output > 0.1 : largest_output > 10 * largest_input;
  if (!first_output || !grows) return;
  Judged& first = judged[*first_output];
  first.add(fmt::format("output {} relative error is more than 10 times that of input",
                        deciding(differences[*first_output])));
  if (first.level == "pass") first.level = "warning";
}

}  // namespace

bool is_bad(std::optional<double> number) { return number && !std::isfinite(*number); }

bool turned_bad(const StatisticRow& row) {
  return (is_bad(row.target->max) || is_bad(row.target->min)) && is_finite(row.golden->max) &&
         is_finite(row.golden->min);
}

Judged refused(const StatisticRow& row) {
  Judged judged;
  fail(judged, row.why_unmatched);
  finish(judged);
  return judged;
}

Difference difference_of(std::optional<double> target, std::optional<double> golden) {
  if (!target || !golden) return {};
  const bool same = *target == *golden || (std::isnan(*target) && std::isnan(*golden));
  if (same) return {0.0, 0.0};
  const double difference = *target - *golden;
  if (std::isnan(difference)) return {difference, difference};
  if (std::isinf(difference) || *golden == 0) return {difference, kInf};
  return {difference, std::fabs(difference / *golden)};
}

Differences differences_of(const StatisticRow& row) {
  Differences differences;
  if (!row.is_matched) return differences;
  const auto target = numbers_of(*row.target);
  const auto golden = numbers_of(*row.golden);
  for (size_t i = 0; i < differences.size(); ++i)
    differences[i] = difference_of(target[i], golden[i]);
  return differences;
}

std::optional<SideNumbers> side_numbers(const Statistics& s) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (!s.max || !s.min) return {};
  return SideNumbers{*s.max, *s.min, s.mean.value_or(kNan), s.l2.value_or(kNan)};
}

std::vector<Judged> judge_statistics(std::span<const StatisticRow> api,
                                     std::span<const Differences> differences,
                                     std::string_view function) {
  std::vector<Judged> judged(api.size());
  for (size_t i = 0; i < api.size(); ++i) {
    judged[i].level = "pass";
    if (api[i].is_matched && !is_one_of(kUnjudged, function)) judge_alone(api[i], judged[i]);
  }
  if (!is_one_of(kUnjudged, function) && !is_one_of(kBufferInputs, function))
    judge_growth(api, differences, judged);
  for (size_t i = 0; i < api.size(); ++i) {
    if (!api[i].is_matched) {
      judged[i] = unmatched(api[i]);
      continue;
    }
    finish(judged[i]);
    if (!is_one_of(kUnjudged, function)) doubt(api[i], differences[i], judged[i]);
  }
  return judged;
}

void judge_magnitude(const StatisticRow& row, double most, Judged& judged) {
  constexpr const char* kNames[] = {"max", "min", "mean", "norm"};
  constexpr double kSmallest = 1e-10;  // below it nothing is large
  if (!row.is_matched) return;
  const auto target = numbers_of(*row.target), golden = numbers_of(*row.golden);
  for (size_t i = 0; i < target.size(); ++i) {
    if (!is_finite(target[i]) || !is_finite(golden[i])) continue;
    const double size = std::max(std::fabs(*target[i]), std::fabs(*golden[i])) + kSmallest;
    if (!(std::fabs(*target[i] - *golden[i]) / size > most)) continue;
    judged.add(fmt::format("{} differs by more than {} of its size", kNames[i], most));
    if (judged.level == "pass") judged.level = "warning";
    return;
  }
}

std::string checksum_of(const Statistics& statistics, bool is_argument) {
  if (!is_argument || !statistics.checksum.empty()) return statistics.checksum;
  return fmt::format("{:08x}", crc32(0, as_bytes(statistics.text)));
}

std::vector<Judged> judge_checksums(std::span<const StatisticRow> api, std::string_view function) {
  std::vector<Judged> judged(api.size());
  for (size_t i = 0; i < api.size(); ++i) {
    if (!api[i].is_matched) {
      judged[i] = unmatched(api[i]);
      continue;
    }
    judged[i].level = "pass";
    const std::string target = checksum_of(*api[i].target, api[i].is_argument);
    const std::string golden = checksum_of(*api[i].golden, api[i].is_argument);
    if (target.empty() && golden.empty()) {
      judged[i].level = "warning";
      judged[i].add("neither side has a checksum");
      continue;
    }
    if (is_one_of(kUnjudged, function)) {
      // what it gives out is not judged
    } else if (target.empty() != golden.empty()) {
      judged[i].level = "warning";
      judged[i].add("one side has no checksum");
    } else if (target != golden) {
      fail(judged[i], "CRC-32 differs");
    }
    finish(judged[i]);
  }
  return judged;
}

}  // namespace plumb::msprobe
