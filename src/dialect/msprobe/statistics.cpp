// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/utf8.h"
#include "dialect/msprobe/dtype_match.h"

namespace plumb::msprobe {
namespace {

constexpr double kInfiniteRatio = std::numeric_limits<double>::infinity();

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

bool has_telling_inputs(const JudgedCall& call) {
  return !call.is_saved && !is_one_of(kBufferInputs, call.function);
}

std::array<std::optional<double>, 4> numbers_of(const Statistics& statistics) {
  return {statistics.max, statistics.min, statistics.mean, statistics.l2};
}

bool is_finite(std::optional<double> number) { return number && std::isfinite(*number); }

// NaN or an infinity that golden does not have there.
bool is_new_bad(std::optional<double> target, std::optional<double> golden) {
  return is_bad(target) && golden && difference_of(target, golden).difference != 0;
}

// A value for a message, which need not hold a whole list.
std::string shown_value(std::string_view text) {
  constexpr size_t kMost = 60;
  size_t end = 0;
  while (end < text.size() && end < kMost) end += std::max<size_t>(1, character_length(text, end));
  return std::string(text.substr(0, end)) + (end < text.size() ? "…" : "");
}

std::string argument_differs(const StatisticRow& row) {
  return fmt::format("scalar argument differs: {} instead of {}", shown_value(row.target->text),
                     shown_value(row.golden->text));
}

// The tool's rule, which looks at nothing if golden is not finite, either.
bool turned_bad_from_finite(const StatisticRow& row) {
  return (is_bad(row.target->max) || is_bad(row.target->min)) && is_finite(row.golden->max) &&
         is_finite(row.golden->min);
}

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

// An error is no accuracy; without one the numbers have to show it.
void finish(Judged& judged, std::string_view evidence, bool as_original) {
  judged.result = judged.level == "error" ? "FAIL" : "PASS";
  judged.accuracy = judged.level == "error" ? "No" : evidence;
  if (judged.level == "pass" && evidence == "No" && !as_original)
    judged.warn("accuracy is not reached");
}

// Of what is not judged nobody says that it is wrong.
std::string_view shown(std::string_view evidence, bool is_judged) {
  return is_judged || evidence == "Yes" ? evidence : "N/A";
}

// What the recorded numbers say of the accuracy: the norm is within a tenth, and the others are
// within a tenth of the largest value.
std::string_view evidence_of(const StatisticRow& row, const Differences& differences) {
  const Statistics &t = *row.target, &g = *row.golden;
  if (row.is_argument) return t.text == g.text ? "Yes" : "No";
  if (row.is_empty) return "Yes";
  const double largest = std::max(std::fabs(g.max.value_or(0)), std::fabs(g.min.value_or(0)));
  const bool is_whole = is_whole_dtype(row.target_dtype);
  bool any = false;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (!differences[i].difference) continue;
    any = true;
    const double difference = std::fabs(*differences[i].difference);
    if (difference == 0) continue;
    const bool is_near = i == 3 ? *differences[i].relative <= kGoodNorm
                                : std::isfinite(largest) && difference <= kGoodNorm * largest;
    if (is_whole || !is_near) return "No";
  }
  if (any) return "Yes";
  if (t.text.empty() || g.text.empty()) return "N/A";  // of bool tensors
  return t.text == g.text ? "Yes" : "No";
}

Judged unmatched(const StatisticRow& row) {
  if (row.is_refused) return refused(row);
  Judged judged;
  judged.warn("no golden data for this tensor");
  judged.add(row.why_unmatched);
  return judged;
}

void judge_alone(const StatisticRow& row, bool as_original, Judged& judged) {
  if (as_original ? turned_bad_from_finite(row) : turned_bad(row))
    judged.fail("target max or min is NaN or inf");
  const auto& t = row.target->requires_grad;
  const auto& g = row.golden->requires_grad;
  if (t && g && *t != *g) judged.fail("requires_grad differs");
  if (row.is_argument && row.target->text != row.golden->text) judged.fail(argument_differs(row));
  if (dtypes_differ(row)) judged.fail("dtype differs");
  if (row.target_shape && row.golden_shape && *row.target_shape != *row.golden_shape)
    judged.fail("shape differs");
}

const char* deciding(const Differences& differences) {
  return has_only_extremes(differences) ? "max or min" : "norm";
}

// A pass of a tensor about which little is known is none to rely on.
void doubt(const StatisticRow& row, const Differences& differences, Judged& judged) {
  if (row.is_argument || row.is_empty || judged.level == "error") return;
  const bool any_number = std::any_of(differences.begin(), differences.end(),
                                      [](const Difference& d) { return d.difference.has_value(); });
  const Statistics &t = *row.target, &g = *row.golden;
  if (!any_number) {
    if (!t.text.empty() && !g.text.empty())  // of bool tensors
      return t.text == g.text ? void() : judged.warn("max or min differs");
    judged.result = judged.accuracy = "N/A";
    return judged.warn("nothing recorded can be compared");
  }
  if (t.l2.has_value() != g.l2.has_value())
    return judged.warn(t.l2 ? "golden has no norm" : "target has no norm");
  const auto ratio = norm_ratio(differences);
  if (has_only_extremes(differences) && ratio && *ratio > kThinMargin)
    judged.warn("judged by extremes only");
}

// An output is blamed only if its inputs are known to be good: not by a tensor that has no ratio,
// be it that golden has none or that NaN stands against an infinity. `ratios`: of each row, if it
// has one. The tool takes what it does not know for good.
bool inputs_are_known(const JudgedCall& call, std::span<const std::optional<double>> ratios,
                      std::span<const std::string_view> evidence) {
  bool any_tensor = false, any_known = false;
  for (size_t i = 0; i < call.rows.size(); ++i) {
    const StatisticRow& row = call.rows[i];
    if (row.is_output || row.is_argument) continue;
    any_tensor = true;
    const bool is_known = row.is_matched && (ratios[i] || evidence[i] == "Yes");
    if (row.is_matched && !is_known && evidence[i] == "No" && !call.as_original) return false;
    any_known = any_known || is_known;
  }
  return call.as_original || any_known || !any_tensor;
}

// What the outputs of an API add to the errors of its inputs. An argument that is no longer zero
// excuses no output; msprobe knows no input that is infinitely wrong.
void judge_growth(const JudgedCall& call, std::span<const Differences> differences,
                  std::span<const std::string_view> evidence, std::vector<Judged>& judged) {
  const std::span<const StatisticRow> api = call.rows;
  double largest_input = 0, largest_output = 0;
  std::optional<size_t> first_output;
  std::vector<std::optional<double>> ratios(api.size());
  for (size_t i = 0; i < api.size(); ++i) ratios[i] = norm_ratio(differences[i]);
  if (!inputs_are_known(call, ratios, evidence)) return;
  for (size_t i = 0; i < api.size(); ++i) {
    const auto ratio = ratios[i];
    if (api[i].is_output && !first_output && api[i].is_matched) first_output = i;
    if (!ratio || std::isnan(*ratio)) continue;
    const bool may_excuse = !std::isinf(*ratio) || !(api[i].is_argument || call.as_original);
    if (!api[i].is_output && !may_excuse) continue;
    double& largest = api[i].is_output ? largest_output : largest_input;
    largest = std::max(largest, *ratio);
  }
  for (size_t i = 0; i < api.size(); ++i) {
    const auto ratio = ratios[i];
    if (api[i].is_output && ratio && largest_input < 0.1 && *ratio > 0.5)
      judged[i].fail(fmt::format("output {} relative error above 0.5 while input below 0.1",
                                 deciding(differences[i])));
  }
  const bool grows =
      largest_input == 0 ? largest_output > 0.1 : largest_output > 10 * largest_input;
  if (!first_output || !grows) return;
  judged[*first_output].warn(
      fmt::format("output {} relative error is more than 10 times that of input",
                  deciding(differences[*first_output])));
}

// ... by their data.
void judge_growth(const JudgedCall& call, std::span<const TensorNumbers> numbers,
                  std::span<const std::string_view> evidence, std::vector<Judged>& judged) {
  const std::span<const StatisticRow> api = call.rows;
  std::vector<std::optional<double>> ratios(api.size());
  for (size_t i = 0; i < api.size(); ++i) ratios[i] = numbers[i].below_1e3;
  if (!inputs_are_known(call, ratios, evidence)) return;
  const auto least = [&](std::optional<double> TensorNumbers::*member, bool is_output) {
    double found = 1;
    for (size_t i = 0; i < api.size(); ++i)
      if (const auto& number = numbers[i].*member; number && api[i].is_output == is_output)
        found = std::fmin(found, *number);  // not by NaN
    return found;
  };
  const auto first = std::find_if(api.begin(), api.end(), [](const StatisticRow& row) {
    return row.is_output && row.is_matched;
  });
  if (first == api.end()) return;
  Judged& output = judged[static_cast<size_t>(first - api.begin())];
  if (least(&TensorNumbers::below_1e3, false) > 0.9 && least(&TensorNumbers::below_1e3, true) < 0.6)
    output.fail("One Thousandth Err Ratio of output is below 0.6 while input is above 0.9");
  const double cosine = least(&TensorNumbers::cosine, false);
  if (cosine > 0.9 && cosine - least(&TensorNumbers::cosine, true) > 0.1)
    output.warn("Cosine of output is 0.1 below that of input");
}

}  // namespace

bool is_bad(std::optional<double> number) { return number && !std::isfinite(*number); }

bool turned_bad(const StatisticRow& row) {
  return is_new_bad(row.target->max, row.golden->max) ||
         is_new_bad(row.target->min, row.golden->min);
}

Judged refused(const StatisticRow& row) {
  Judged judged;
  judged.fail(row.why_unmatched);
  finish(judged, "No", false);
  return judged;
}

Difference difference_of(std::optional<double> target, std::optional<double> golden) {
  if (!target || !golden) return {};
  const bool same = *target == *golden || (std::isnan(*target) && std::isnan(*golden));
  if (same) return {0.0, 0.0};
  const double difference = *target - *golden;
  if (std::isnan(difference)) return {difference, difference};
  if (std::isinf(difference) || *golden == 0) return {difference, kInfiniteRatio};
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

std::vector<Judged> judge_statistics(const JudgedCall& call,
                                     std::span<const Differences> differences) {
  const std::span<const StatisticRow> api = call.rows;
  const bool is_judged = !is_one_of(kUnjudged, call.function);
  std::vector<Judged> judged(api.size());
  std::vector<std::string_view> evidence(api.size(), "N/A");
  for (size_t i = 0; i < api.size(); ++i) {
    judged[i].level = "pass";
    if (!api[i].is_matched) continue;
    evidence[i] = evidence_of(api[i], differences[i]);
    if (is_judged) judge_alone(api[i], call.as_original, judged[i]);
  }
  if (is_judged && has_telling_inputs(call)) judge_growth(call, differences, evidence, judged);
  for (size_t i = 0; i < api.size(); ++i) {
    if (!api[i].is_matched) {
      judged[i] = unmatched(api[i]);
      continue;
    }
    finish(judged[i], shown(evidence[i], is_judged), call.as_original);
    if (is_judged && !call.as_original) doubt(api[i], differences[i], judged[i]);
  }
  return judged;
}

namespace {

// What the data of one row say; the accuracy they show.
std::string_view judge_data(const StatisticRow& row, const TensorNumbers& numbers, Judged& judged) {
  if (row.is_argument) return evidence_of(row, {});
  if (numbers.data == nullptr) {
    if (numbers.is_failure && judged.level != "error") judged.fail(numbers.trouble);
    return "N/A";
  }
  const std::string_view remark = numbers.data->remark;
  if (remark.starts_with("target has") && !turned_bad(row))
    judged.fail(remark);
  else
    judged.add(remark);
  return accuracy_of(*numbers.data, is_whole_dtype(row.target_dtype));
}

// Whatever else is known of a tensor that nobody could read, that is no pass.
void doubt_unread(const StatisticRow& row, const TensorNumbers& numbers, Judged& judged) {
  if (row.is_argument || numbers.data != nullptr || numbers.is_failure) return;
  judged.warn(numbers.trouble);
  if (judged.level != "error") judged.result = judged.accuracy = "N/A";
}

}  // namespace

std::vector<Judged> judge_tensors(const JudgedCall& call, std::span<const TensorNumbers> numbers) {
  const std::span<const StatisticRow> api = call.rows;
  const bool is_judged = !is_one_of(kUnjudged, call.function);
  std::vector<Judged> judged(api.size());
  std::vector<std::string_view> evidence(api.size(), "N/A");
  for (size_t i = 0; i < api.size(); ++i) {
    judged[i].level = "pass";
    if (!api[i].is_matched) continue;
    Judged unjudged;
    if (is_judged) judge_alone(api[i], call.as_original, judged[i]);
    evidence[i] =
        shown(judge_data(api[i], numbers[i], is_judged ? judged[i] : unjudged), is_judged);
  }
  if (is_judged && has_telling_inputs(call)) judge_growth(call, numbers, evidence, judged);
  for (size_t i = 0; i < api.size(); ++i) {
    if (!api[i].is_matched) {
      judged[i] = unmatched(api[i]);
      continue;
    }
    finish(judged[i], evidence[i], call.as_original);
    doubt_unread(api[i], numbers[i], judged[i]);
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
    return judged.warn(fmt::format("{} differs by more than {} of its size", kNames[i], most));
  }
}

std::string checksum_of(const Statistics& statistics, bool is_argument) {
  if (!is_argument || !statistics.checksum.empty()) return statistics.checksum;
  return fmt::format("{:08x}", crc32(0, as_bytes(statistics.text)));
}

std::vector<Judged> judge_checksums(const JudgedCall& call) {
  std::vector<Judged> judged(call.rows.size());
  const bool is_judged = !is_one_of(kUnjudged, call.function);
  for (size_t i = 0; i < call.rows.size(); ++i) {
    const StatisticRow& row = call.rows[i];
    if (!row.is_matched) {
      judged[i] = unmatched(row);
      continue;
    }
    judged[i].level = "pass";
    const std::string target = checksum_of(*row.target, row.is_argument);
    const std::string golden = checksum_of(*row.golden, row.is_argument);
    if (target.empty() && golden.empty()) {
      judged[i].warn("neither side has a checksum");
      continue;
    }
    if (!is_judged) {
      // what it gives out is not judged
    } else if (target.empty() != golden.empty()) {
      judged[i].warn("one side has no checksum");
    } else if (target != golden) {
      const bool has_values = row.is_argument && row.target->text != row.golden->text;
      judged[i].fail(has_values ? argument_differs(row) : "CRC-32 differs");
    }
    finish(judged[i], target == golden ? "Yes" : "N/A", call.as_original);
  }
  return judged;
}

}  // namespace plumb::msprobe
