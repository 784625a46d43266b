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
#include "metrics/decoded_pairs.h"
#include "metrics/kl_sums.h"
#include "metrics/pair_sums.h"

namespace plumb::msaccucmp {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kSmallestShare = std::numeric_limits<float>::epsilon();

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
Cell missing(std::string reason) { return {"NaN", std::move(reason)}; }

Cell finish_cosine(const Sums& s) {
  const double t = std::sqrt(in_float_range(s.tt)), g = std::sqrt(in_float_range(s.gg));
  if (t <= kEpsilon && g < kEpsilon) return {"1.0", {}};
  if (std::sqrt(t) <= kEpsilon) return missing("all elements are zero in {target}");
  if (std::sqrt(g) <= kEpsilon) return missing("all elements are zero in {golden}");
  const double cosine = s.tg / t / g;
  return number(cosine > 1 ? 1 : cosine);
}

Cell finish_max_absolute(const Sums& s) {
  if (s.count == 0) return missing("an empty tensor has no MaxAbsoluteError");
  return number(s.abs_max);
}

Cell finish_accumulated_relative(const Sums& s) { return number(s.rel_sum); }

Cell finish_relative_euclidean(const Sums& s) {
  const double gg = in_float_range(s.gg);
  if (std::sqrt(gg) <= kEpsilon) return number(0);
  return number(std::sqrt(in_float_range(s.dd) / gg));
}

Cell finish_divergence(const Sums& s) {
  if (s.count == 0) return missing("an empty tensor has no KullbackLeiblerDivergence");
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
  if (s.count == 0) return missing("an empty tensor has no MaxRelativeError");
  return number(s.rel_max);
}
Cell finish_mean_relative(const Sums& s) {
  return number(in_float_range(s.rel_sum) / static_cast<double>(s.count));
}

constexpr std::array kAlgorithms{
    Algorithm{"CosineSimilarity", finish_cosine, {}},
    Algorithm{"MaxAbsoluteError", finish_max_absolute, {}},
    Algorithm{"AccumulatedRelativeError", finish_accumulated_relative, {}},
    Algorithm{"RelativeEuclideanDistance", finish_relative_euclidean, {}},
    Algorithm{"KullbackLeiblerDivergence", finish_divergence, {.divergence = true}},
    Algorithm{"StandardDeviation", finish_deviation, {.deviation = true}},
    Algorithm{"MeanAbsoluteError", finish_mean_absolute, {}},
    Algorithm{"RootMeanSquareError", finish_root_mean_square, {}},
    Algorithm{"MaxRelativeError", finish_max_relative, {}},
    Algorithm{"MeanRelativeError", finish_mean_relative, {}},
};

// True if the relative error of some golden value counts as 0 although the value is not zero.
bool has_tiny(const float* values, int64_t count) {
  constexpr int64_t kBlock = 64;  // of fixed length, so that the compiler vectorises the loop
  const auto is_tiny = [](float value) {
    const float size = std::fabs(value);
    return static_cast<int>(size > 0) & static_cast<int>(size <= static_cast<float>(kEpsilon));
  };
  int tiny = 0;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock)
    for (int64_t j = 0; j < kBlock; ++j) tiny |= is_tiny(values[i + j]);
  for (; i < count; ++i) tiny |= is_tiny(values[i]);
  return tiny != 0;
}

metrics::PairPiece piece_of(const float* target, const float* golden, int64_t count) {
  return {DType::kFloat32, reinterpret_cast<const std::byte*>(target), DType::kFloat32,
          reinterpret_cast<const std::byte*>(golden), count};
}

// Maxima of numpy: a NaN wins.
void raise(double& maximum, double value) {
  if (!(value <= maximum) && !std::isnan(maximum)) maximum = value;
}
void lower(double& minimum, double value) {
  if (!(value >= minimum) && !std::isnan(minimum)) minimum = value;
}

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

Selection file_algorithms() {
  Selection selection;
  for (const Algorithm& each : kAlgorithms)
    if (!each.needs.divergence && !each.needs.deviation) selection.push_back(&each);
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

Result<Sums> sum_pairs_plainly(const Pairs& pairs, const Wanted& wanted) {
  Sums s;
  auto first = pairs([&](const float* target, const float* golden, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
      const double error = std::fabs(t - g);
      const double relative = std::fabs(g) > kEpsilon ? std::fabs(t / g - 1) : 0;
      if (s.count++ == 0) {
        s.t_min = s.t_max = t;
        s.g_min = s.g_max = g;
      }
      s.t_nan += std::isnan(t);
      s.t_inf += std::isinf(t);
      s.g_nan += std::isnan(g);
      s.g_inf += std::isinf(g);
      s.t_sum += t;
      s.g_sum += g;
      s.tt += t * t;
      s.gg += g * g;
      s.tg += t * g;
      s.dd += error * error;
      s.abs_sum += error;
      s.rel_sum += relative;
      raise(s.abs_max, error);
      raise(s.rel_max, relative);
      lower(s.t_min, t);
      raise(s.t_max, t);
      lower(s.g_min, g);
      raise(s.g_max, g);
    }
  });
  if (!first) return first.error();
  if ((!wanted.deviation && !wanted.divergence) || s.count == 0) return s;

  const double t_mean = s.t_sum / static_cast<double>(s.count);
  const double g_mean = s.g_sum / static_cast<double>(s.count);
  const double t_range = in_float_range(s.t_max - s.t_min);
  const double g_range = in_float_range(s.g_max - s.g_min);
  const auto share = [](double value, double min, double range) {
    const double raw = range == 0 ? value : (value - min) / range;
    return raw < kSmallestShare ? kSmallestShare : raw;  // NaN stays
  };
  double t_shares = 0, g_shares = 0, logs = 0;
  auto second = pairs([&](const float* target, const float* golden, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
      const double p = share(t, s.t_min, t_range), q = share(g, s.g_min, g_range);
      s.t_squares += (t - t_mean) * (t - t_mean);
      s.g_squares += (g - g_mean) * (g - g_mean);
      t_shares += p;
      g_shares += q;
      if (p != q) logs += p * std::log(p / q);  // also if one of them is NaN
    }
  });
  if (!second) return second.error();
  s.divergence = logs / t_shares - std::log(t_shares / g_shares);
  return s;
}

// Ordinary pairs take the vectorised sums; where a value is not finite, or golden is so small that
// the tool calls it zero, the definition counts.
Result<Sums> sum_pairs(const Pairs& pairs, const Wanted& wanted) {
  metrics::PairSums sums;
  bool is_ordinary = true;
  auto first = pairs([&](const float* target, const float* golden, int64_t count) {
    if (!is_ordinary || count == 0) return;
    sums.append(metrics::pair_sums(piece_of(target, golden, count),
                                   {.relative = true, .exponent = 0, .products = true}));
    is_ordinary = sums.finite == sums.count && !has_tiny(golden, count);
  });
  if (!first) return first.error();
  if (!is_ordinary || sums.count == 0) return sum_pairs_plainly(pairs, wanted);

  Sums s;
  s.count = sums.count;
  s.t_sum = sums.t_sum;
  s.g_sum = sums.g_sum;
  s.tt = sums.tt;
  s.gg = sums.gg;
  s.tg = sums.tg;
  s.dd = sums.dd;
  s.abs_sum = sums.abs_sum;
  s.abs_max = sums.abs_max;
  s.rel_sum = sums.rel_sum;
  s.rel_max = sums.rel_max;
  s.t_min = sums.t_min;
  s.t_max = sums.t_max;
  s.g_min = sums.g_min;
  s.g_max = sums.g_max;
  const auto squares = [&](double sum_of_squares, double sum) {
    return std::max(0.0, sum_of_squares - sum * sum / static_cast<double>(s.count));
  };
  s.t_squares = squares(s.tt, s.t_sum);
  s.g_squares = squares(s.gg, s.g_sum);
  const bool is_centred = wanted.deviation && metrics::needs_centring(sums);
  if (!wanted.divergence && !is_centred) return s;

  metrics::KlSums divergence(sums);
  metrics::CentredSums centred(sums);
  auto second = pairs([&](const float* target, const float* golden, int64_t n) {
    metrics::for_each_block(piece_of(target, golden, n),
                            [&](const double* t, const double* g, int64_t count) {
                              if (wanted.divergence) divergence.add(t, g, count);
                              if (is_centred) centred.add(t, g, count);
                            });
  });
  if (!second) return second.error();
  if (wanted.divergence) s.divergence = divergence.divergence();
  if (is_centred) {
    s.t_squares = squares(centred.tt, centred.t_sum);
    s.g_squares = squares(centred.gg, centred.g_sum);
  }
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

Result<Scores> score(const Selection& selection, const PairTraits& traits, const Pairs& pairs) {
  Wanted wanted;
  for (const Algorithm* algorithm : selection) {
    wanted.deviation |= algorithm->needs.deviation && !traits.both_bool;
    wanted.divergence |= algorithm->needs.divergence && !traits.both_bool;
  }
  auto sums = sum_pairs(pairs, wanted);
  if (!sums) return sums.error();
  Scores scores;
  scores.codes = doubts(*sums, traits);
  for (const Algorithm* algorithm : selection) {
    const bool is_cosine = algorithm == &kAlgorithms.front();
    Cell cell;
    if (is_cosine && traits.is_scalar)
      cell = {"1.000000", "this tensor is a scalar"};
    else if (traits.both_bool && !is_cosine)
      cell = missing(fmt::format("{} is not computed of bool", algorithm->name));
    else
      cell = algorithm->finish(*sums);
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

Scores no_scores(const Selection& selection) {
  return {std::vector<std::string>(selection.size(), "NaN"), {}, {}};
}

bool counts_as_scalar(std::span<const int64_t> shape) {
  std::optional<int64_t> sum = 0;
  for (int64_t size : shape)
    if (!(sum = checked_add(*sum, size))) return false;
  return *sum == static_cast<int64_t>(shape.size());
}

}  // namespace plumb::msaccucmp
