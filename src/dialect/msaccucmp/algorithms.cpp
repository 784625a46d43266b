// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/algorithms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/nearest.h"
#include "metrics/centred_sums.h"
#include "metrics/kl_sums.h"

namespace plumb::msaccucmp {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Sums of the tool are float32: beyond its range they are infinite.
double in_float_range(double value) {
  return std::fabs(value) > std::numeric_limits<float>::max()
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : value;
}

std::string decimals(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

Cell number(double value) { return {decimals(in_float_range(value), 6), {}}; }
Cell missing_cell(std::string reason) { return {"NaN", std::move(reason)}; }

Cell finish_cosine(const Sums& s) {
  const double t = std::sqrt(in_float_range(s.tt)), g = std::sqrt(in_float_range(s.gg));
  if (t <= kEpsilon && g < kEpsilon) return {"1.0", {}};
  if (std::sqrt(t) <= kEpsilon) return missing_cell("all elements are zero in {target}");
  if (std::sqrt(g) <= kEpsilon) return missing_cell("all elements are zero in {golden}");
  const double cosine = s.tg / t / g;
  return number(cosine > 1 ? 1 : cosine);
}

Cell finish_max_absolute(const Sums& s) {
  if (s.count == 0) return missing_cell("an empty tensor has no MaxAbsoluteError");
  return number(s.abs_max);
}

Cell finish_accumulated_relative(const Sums& s) { return number(s.rel_sum); }

Cell finish_relative_euclidean(const Sums& s) {
  const double gg = in_float_range(s.gg);
  if (std::sqrt(gg) <= kEpsilon) return number(0);
  return number(std::sqrt(in_float_range(s.dd) / gg));
}

Cell finish_divergence(const Sums& s) {
  if (s.count == 0) return missing_cell("an empty tensor has no KullbackLeiblerDivergence");
  return number(std::fabs(s.divergence) < kEpsilon ? 0 : s.divergence);
}

Cell finish_deviation(const Sums& s) {
  const auto part = [&](double sum, double squares) {
    const auto count = static_cast<double>(s.count);
    const auto text = [](double v) { return decimals(std::fabs(v) < 0.001 ? 0 : v, 3); };
    return fmt::format("({};{})", text(sum / count), text(std::sqrt(squares / count)));
  };
  return {part(s.t_sum, s.t_squares) + "," + part(s.g_sum, s.g_squares), {}};
}

Cell finish_mean_absolute(const Sums& s) {
  return number(in_float_range(s.abs_sum) / static_cast<double>(s.count));
}
Cell finish_root_mean_square(const Sums& s) {
  return number(std::sqrt(in_float_range(s.dd) / static_cast<double>(s.count)));
}
Cell finish_max_relative(const Sums& s) {
  if (s.count == 0) return missing_cell("an empty tensor has no MaxRelativeError");
  return number(s.rel_max);
}
Cell finish_mean_relative(const Sums& s) {
  return number(in_float_range(s.rel_sum) / static_cast<double>(s.count));
}

// Maxima of numpy: a NaN wins.
void raise(double& maximum, double value) {
  if (!(value <= maximum) && !std::isnan(maximum)) maximum = value;
}

// Of pairs with values that are not finite, by definition, one pair at a time: the sums of the
// first pass leave these pairs out.
struct OddSums {
  Sums sums;
  double t_mean = 0, g_mean = 0;

  void add(const double* target, const double* golden, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double t = target[i], g = golden[i], error = std::fabs(t - g);
      const double relative = std::fabs(g) > kEpsilon ? std::fabs(t / g - 1) : 0;
      const auto n = static_cast<double>(++sums.count);
      add_deviation(t, n, t_mean, sums.t_squares);
      add_deviation(g, n, g_mean, sums.g_squares);
      sums.t_sum += t;
      sums.g_sum += g;
      sums.tt += t * t;
      sums.gg += g * g;
      sums.tg += t * g;
      sums.dd += error * error;
      sums.abs_sum += error;
      sums.rel_sum += relative;
      raise(sums.abs_max, error);
      raise(sums.rel_max, relative);
    }
  }

  void append(const OddSums& later) {
    if (later.sums.count == 0) return;
    const auto n = static_cast<double>(sums.count), m = static_cast<double>(later.sums.count);
    merge_deviation(n, m, later.t_mean, later.sums.t_squares, t_mean, sums.t_squares);
    merge_deviation(n, m, later.g_mean, later.sums.g_squares, g_mean, sums.g_squares);
    double abs_max = sums.abs_max, rel_max = sums.rel_max;
    raise(abs_max, later.sums.abs_max);
    raise(rel_max, later.sums.rel_max);
    sums.append(later.sums);
    sums.abs_max = abs_max;
    sums.rel_max = rel_max;
  }

 private:
  static void add_deviation(double value, double n, double& mean, double& squares) {
    const double from = value - mean;
    mean += from / n;
    squares += from * (value - mean);
  }
  static void merge_deviation(double n, double m, double later_mean, double later_squares,
                              double& mean, double& squares) {
    const double apart = later_mean - mean;
    squares += later_squares + apart * apart * n * m / (n + m);
    mean += apart * m / (n + m);
  }
};

bool is_odd(const metrics::PairSums& sums) { return sums.finite != sums.count; }

constinit const metrics::Accumulator kOddSums{[](const metrics::PairFacts& first, bool) {
  return is_odd(first.sums) ? metrics::accumulated(OddSums()) : nullptr;
}};
// A share of something infinite is no number, and no number is left of the whole; equal values have
// equal shares. Six decimals are shown.
constinit const metrics::Accumulator kDivergence{[](const metrics::PairFacts& first, bool) {
  const bool is_settled = is_odd(first.sums) || first.sums.equal == first.sums.count;
  return is_settled ? nullptr : metrics::accumulated(metrics::RoughKlSums(first.sums));
}};

constexpr std::array kAlgorithms{
    Algorithm{"CosineSimilarity", finish_cosine},
    Algorithm{"MaxAbsoluteError", finish_max_absolute},
    Algorithm{"AccumulatedRelativeError", finish_accumulated_relative, nullptr, true},
    Algorithm{"RelativeEuclideanDistance", finish_relative_euclidean},
    Algorithm{"KullbackLeiblerDivergence", finish_divergence, &kDivergence},
    Algorithm{"StandardDeviation", finish_deviation, &metrics::kCentredSums},
    Algorithm{"MeanAbsoluteError", finish_mean_absolute},
    Algorithm{"RootMeanSquareError", finish_root_mean_square},
    Algorithm{"MaxRelativeError", finish_max_relative},
    Algorithm{"MeanRelativeError", finish_mean_relative, nullptr, true},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

Selection file_algorithms() {
  Selection selection;
  for (const Algorithm& each : kAlgorithms)
    if (each.needs == nullptr) selection.push_back(&each);
  return selection;
}

Outcome<Selection> select_algorithms(std::string_view text, std::vector<std::string>& warnings) {
  Selection selection;
  if (text == "all") {
    for (const Algorithm& each : kAlgorithms) selection.push_back(&each);
    return selection;
  }
  std::vector<std::string> names;
  for (const Algorithm& each : kAlgorithms) names.emplace_back(each.name);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = end + 1;
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const Algorithm* found = nullptr;
    size_t index = kAlgorithms.size();
    const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (code == std::errc() && stop == word.data() + word.size() && index < kAlgorithms.size())
      found = &kAlgorithms[index];
    for (const Algorithm& each : kAlgorithms)
      if (each.name == word) found = &each;
    if (found == nullptr)
      warnings.push_back(
          fmt::format("unknown algorithm '{}' is left out; {}algorithms are 0 to 9 or "
                      "their names, plug-ins in Python are not run",
                      word, did_you_mean(word, names)));
    else if (std::find(selection.begin(), selection.end(), found) == selection.end())
      selection.push_back(found);
  }
  if (selection.empty())
    return {Code::kNoAlgorithm, Error{"no algorithm is left", fmt::format("-alg {}", text),
                                      fmt::format("choose among {}", fmt::join(names, ", "))}};
  return selection;
}

metrics::Request request_for(const Selection& selection) {
  metrics::Request request;
  request.least_golden = kEpsilon;
  request.second_pass.push_back({&kOddSums, true});
  for (const Algorithm* algorithm : selection) {
    request.relative |= algorithm->relative;
    if (algorithm->needs != nullptr) request.second_pass.push_back({algorithm->needs, true});
  }
  return request;
}

Sums sums_of(const metrics::PairFacts& facts) {
  Sums s{facts.sums};
  if (const auto* odd = facts.find<OddSums>()) {
    s = odd->sums;
    s.divergence = std::numeric_limits<double>::quiet_NaN();
    s.t_nan = facts.sums.t_nan;
    s.t_inf = facts.sums.t_inf;
    s.g_nan = facts.sums.g_nan;
    s.g_inf = facts.sums.g_inf;
    return s;
  }
  const auto squares = [&](double sum_of_squares, double sum) {
    return std::max(0.0, sum_of_squares - sum * sum / static_cast<double>(s.count));
  };
  const auto* centred = facts.find<metrics::CentredSums>();
  s.t_squares = centred ? squares(centred->tt, centred->t_sum) : squares(s.tt, s.t_sum);
  s.g_squares = centred ? squares(centred->gg, centred->g_sum) : squares(s.gg, s.g_sum);
  if (const auto* kl = facts.find<metrics::RoughKlSums>()) s.divergence = kl->divergence();
  return s;
}

namespace {

std::vector<std::string> doubts(const Sums& s, const PairTraits& traits) {
  const bool overflows = std::isfinite(s.tt) && std::isfinite(s.gg) &&
                         (std::isinf(in_float_range(s.tt)) || std::isinf(in_float_range(s.gg)));
  const bool t_zero = s.count > 0 && s.tt == 0, g_zero = s.count > 0 && s.gg == 0;
  struct Doubt {
    bool holds;
    const char* code;
  };
  std::vector<std::string> codes;
  for (const Doubt& doubt : {
           Doubt{traits.is_scalar, "SCALAR"},
           Doubt{traits.both_bool, "BOOL_UNSUPPORTED"},
           Doubt{s.count == 0, "EMPTY"},
           Doubt{t_zero && g_zero, "BOTH_ALL_ZERO"},
           Doubt{t_zero && !g_zero, "LEFT_ALL_ZERO"},
           Doubt{g_zero && !t_zero, "RIGHT_ALL_ZERO"},
           Doubt{s.t_nan > 0, "LEFT_NAN"},
           Doubt{s.g_nan > 0, "RIGHT_NAN"},
           Doubt{s.t_inf > 0, "LEFT_INF"},
           Doubt{s.g_inf > 0, "RIGHT_INF"},
           Doubt{overflows, "FLOAT32_OVERFLOW"},
           Doubt{!t_zero && !g_zero && s.count > 0 && std::sqrt(s.tt) <= kEpsilon &&
                     std::sqrt(s.gg) < kEpsilon,
                 "BELOW_EPSILON"},
       })
    if (doubt.holds) codes.emplace_back(doubt.code);
  return codes;
}

}  // namespace

Scores score(const Selection& selection, const PairTraits& traits, const Sums& sums) {
  Scores scores;
  scores.codes = doubts(sums, traits);
  for (const Algorithm* algorithm : selection) {
    const bool is_cosine = algorithm == &kAlgorithms.front();
    Cell cell;
    if (is_cosine && traits.is_scalar)
      cell = {"1.000000", "this tensor is a scalar"};
    else if (traits.both_bool && !is_cosine)
      cell = missing_cell(fmt::format("{} is not computed of bool", algorithm->name));
    else
      cell = algorithm->finish(sums);
    for (const auto& [word, file] :
         {std::pair("{target}", &traits.target_file), std::pair("{golden}", &traits.golden_file)}) {
      const size_t at = cell.reason.find(word);
      if (at == std::string::npos) continue;
      cell.reason.replace(at, std::string_view(word).size(), *file);
      break;  // what follows is the file's name
    }
    scores.cells.push_back(std::move(cell.text));
    if (!cell.reason.empty()) scores.reasons.push_back(std::move(cell.reason));
  }
  return scores;
}

bool counts_as_scalar(std::span<const int64_t> shape) {
  std::optional<int64_t> sum = 0;
  for (int64_t size : shape)
    if (!(sum = checked_add(*sum, size))) return false;
  return *sum == static_cast<int64_t>(shape.size());
}

}  // namespace plumb::msaccucmp
