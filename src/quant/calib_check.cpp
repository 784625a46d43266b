// SPDX-License-Identifier: Apache-2.0
#include "quant/calib_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/crc32.h"
#include "base/json_values.h"

namespace plumb::quant {
namespace {

constexpr std::string_view kFitness[] = {"pass", "warn", "error"};  // by Fitness

// Above the first number it is doubtful, above the second it is wrong.
Fitness above(double value, double warning, double error) {
  return value > error ? Fitness::kError : value > warning ? Fitness::kWarning : Fitness::kPass;
}
Fitness below(double value, double warning, double error) {
  return value < error ? Fitness::kError : value < warning ? Fitness::kWarning : Fitness::kPass;
}

double outside(const Histogram& histogram, Range range) {
  if (histogram.total() == 0) return 0;
  int64_t count = 0;
  const auto counts = histogram.counts();
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    const auto place = static_cast<int64_t>(bin);
    if (histogram.left_edge(place + 1) <= range.lo || histogram.left_edge(place) > range.hi)
      count += counts[bin];
  }
  return static_cast<double>(count) / static_cast<double>(histogram.total());
}

// Of `a` and `b`, what part of the width of `a` the other reaches on that side.
double reach(double a, double b) { return a == 0 ? 1 : std::clamp(b / a, 0.0, 1.0); }

// The share of numbers below each edge of 512 steps over a range.
std::vector<double> distribution(const Histogram& histogram, Range range) {
  constexpr size_t kSteps = 512;
  std::vector<double> shares(kSteps + 1);
  const auto counts = histogram.counts();
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    const double place = (histogram.centre(static_cast<int64_t>(bin)) - range.lo) /
                         (range.hi - range.lo) * static_cast<double>(kSteps);
    const auto step = static_cast<size_t>(std::clamp(std::ceil(place), 0.0, double{kSteps}));
    shares[step] += static_cast<double>(counts[bin]) / static_cast<double>(histogram.total());
  }
  for (size_t i = 1; i < shares.size(); ++i) shares[i] += shares[i - 1];
  return shares;
}

double drift_between(const Observation& calibrated, const Observation& seen) {
  if (calibrated.histogram.total() == 0 || seen.histogram.total() == 0 || seen.min == seen.max)
    return 0;
  const Range range{seen.min, seen.max};
  const auto a = distribution(calibrated.histogram, range), b = distribution(seen.histogram, range);
  double area = 0;
  for (size_t i = 0; i < a.size(); ++i) area += std::abs(a[i] - b[i]);
  return area / static_cast<double>(a.size());
}

double width_of(const Observation& seen) { return seen.max - seen.min; }

// The largest of `count` of these numbers, on average over all ways to choose them: the i-th
// largest is it when it is chosen and none of those before it.
double mean_largest(std::vector<double> values, size_t count) {
  std::sort(values.begin(), values.end(), std::greater<>());
  const auto all = static_cast<double>(values.size()), chosen = static_cast<double>(count);
  double share = chosen / all, mean = 0;
  for (size_t i = 0; i + count <= values.size() && share > 0; ++i) {
    const double place = static_cast<double>(i);
    mean += share * values[i];
    share *= (all - place - chosen) / (all - place - 1);
  }
  return mean;
}

class Checker {
 public:
  Checker(const Lab& lab, const CalibCheckOptions& options, RunContext& context)
      : lab_(lab), options_(options), context_(context) {}

  Result<CalibrationCheck> check(input::Samples& calibration, input::Samples& data) {
    made_.calibration_samples = calibration.size();
    made_.data_samples = data.size();
    if (auto done = count(calibration); !done) return done.error();
    auto calibrated = lab_.calibrate(calibration, {true, options_.threads, true}, context_);
    if (!calibrated) return calibrated.error();
    auto seen = lab_.calibrate(data, {true, options_.threads}, context_);
    if (!seen) return seen.error();
    compare(*calibrated, *seen);
    if (auto done = score(*calibrated, calibration, data); !done) return done.error();
    std::stable_sort(made_.tensors.begin(), made_.tensors.end(),
                     [](const auto& a, const auto& b) { return a.excess > b.excess; });
    return std::move(made_);
  }

 private:
  void add(std::string_view name, double value, Fitness fitness, std::string message) {
    made_.measures.push_back({name, value, fitness, std::move(message)});
  }

  // How many, and how many of them are the same.
  Result<void> count(input::Samples& calibration) {
    std::set<std::pair<uint32_t, size_t>> contents;
    for (size_t i = 0; i < calibration.size(); ++i) {
      auto sample = calibration.load(i);
      if (!sample) return sample.error();
      uint32_t crc = 0;
      size_t bytes = 0;
      for (const auto& [name, tensor] : sample->inputs) {
        crc = crc32(crc, tensor.bytes);
        bytes += tensor.bytes.size();
      }
      contents.insert({crc, bytes});
    }
    const auto samples = static_cast<double>(calibration.size());
    add("count", samples, samples < 10 || samples > 1000 ? Fitness::kWarning : Fitness::kPass,
        fmt::format("{} samples; 10 to 100 are usual", calibration.size()));
    const double repeated = 1 - static_cast<double>(contents.size()) / samples;
    add("duplicates", repeated, above(repeated, 0, 0.2),
        fmt::format("{:.1f} % of the samples are there more than once", repeated * 100));
    return {};
  }

  void compare(const Calibration& calibrated, const Calibration& seen) {
    const Plan& plan = lab_.plan();
    double worst_excess = 0, coverage = 0, waste = 0, settled = 0, drift = 0, counted = 0;
    std::string worst_tensor, drifting;
    for (size_t i = 0; i < plan.quantizers.size(); ++i) {
      if (!plan.quantizers[i].is_observed() || seen.seen[i].samples == 0) continue;
      const Observation &own = calibrated.seen[i], &other = seen.seen[i];
      CheckedTensor& tensor = made_.tensors.emplace_back();
      tensor.tensor = plan.quantizers[i].name();
      tensor.calibrated = {own.min, own.max};
      tensor.seen = {other.min, other.max};
      tensor.excess = outside(other.histogram, {std::min(own.min, 0.0), std::max(own.max, 0.0)});
      tensor.coverage = std::min(other.max > 0 ? reach(other.max, own.max) : 1,
                                 other.min < 0 ? reach(other.min, own.min) : 1);
      tensor.drift = drift_between(own, other);
      if (tensor.excess > worst_excess || worst_tensor.empty()) worst_tensor = tensor.tensor;
      worst_excess = std::max(worst_excess, tensor.excess);
      coverage += tensor.coverage;
      if (width_of(other) > 0) waste = std::max(waste, width_of(own) / width_of(other));
      settled += width_of(own) > 0 ? width_of_half(calibrated.sample_ranges[i]) / width_of(own) : 1;
      if (tensor.drift > drift || drifting.empty()) drifting = tensor.tensor;
      drift = std::max(drift, tensor.drift);
      ++counted;
    }
    if (counted == 0) return;
    add("excess", worst_excess, above(worst_excess, 0.001, 0.01),
        fmt::format("{:.3g} % of {} lie outside of the calibrated range", worst_excess * 100,
                    worst_tensor));
    add("coverage", coverage / counted, below(coverage / counted, 0.6, 0.4),
        fmt::format("the calibrated ranges cover {:.0f} % of what the data reach, on average",
                    coverage / counted * 100));
    add("waste", waste, above(waste, 2, 8),
        fmt::format("a calibrated range is up to {:.2g} times as wide as the data", waste));
    add("convergence", settled / counted,
        settled / counted < 0.9 ? Fitness::kWarning : Fitness::kPass,
        fmt::format("half of the samples give {:.0f} % of the ranges", settled / counted * 100));
    add("drift", drift, above(drift, 0.05, 0.2),
        fmt::format("the distributions of {} are {:.3g} of its range apart", drifting, drift));
  }

  // A quantization should be as good on the data as on the samples that it was calibrated with.
  Result<void> score(const Calibration& calibrated, input::Samples& calibration,
                     input::Samples& data) {
    const Quantization made = quantize(lab_.plan(), calibrated.seen, lab_.values(),
                                       options_.precisions, options_.settings);
    auto built = build_quantized(lab_.prepared(), lab_.plan(), made, Form::kFakeQuant);
    if (!built) return built.error();
    double db[2] = {};
    for (input::Samples* set : {&calibration, &data}) {
      auto trials = Trials::open(lab_, *set, options_.threads, context_);
      if (!trials) return trials.error();
      auto score = (*trials)->score(built->file, context_);
      if (!score) return score.error();
      db[set == &data] = score->sqnr_db();
    }
    const double gap = db[0] - db[1];
    add("self_score", gap, above(gap, 3, 10),
        fmt::format("{:.1f} dB on the samples of the calibration, {:.1f} dB on the data", db[0],
                    db[1]));
    return {};
  }

  const Lab& lab_;
  const CalibCheckOptions& options_;
  RunContext& context_;
  CalibrationCheck made_;
};

}  // namespace

std::string_view text_of(Fitness fitness) { return kFitness[static_cast<size_t>(fitness)]; }

// One half of ten samples would say too little: it either has the widest of them or has not.
double width_of_half(const std::vector<Range>& ranges) {
  std::vector<double> above, below;
  for (const Range& range : ranges) {
    above.push_back(range.hi);
    below.push_back(-range.lo);
  }
  return mean_largest(above, ranges.size() / 2) + mean_largest(below, ranges.size() / 2);
}

Fitness CalibrationCheck::fitness() const {
  Fitness worst = Fitness::kPass;
  for (const CheckedMeasure& measure : measures) worst = std::max(worst, measure.fitness);
  return worst;
}

Result<CalibrationCheck> check_calibration(const Lab& lab, input::Samples& calibration,
                                           input::Samples& data, const CalibCheckOptions& options,
                                           RunContext& context) {
  return Checker(lab, options, context).check(calibration, data);
}

std::string calibration_check_json(const CalibrationCheck& check, const Lab& lab) {
  Json json;
  json["schema"] = "plumb.calib-check/1";
  json["model"] = lab.model().path();
  json["verdict"] = text_of(check.fitness());
  json["calibration_samples"] = check.calibration_samples;
  json["data_samples"] = check.data_samples;
  json["measures"] = Json::array();
  for (const CheckedMeasure& measure : check.measures)
    json["measures"].push_back({{"name", measure.name},
                                {"value", measure.value},
                                {"state", text_of(measure.fitness)},
                                {"message", measure.message}});
  json["tensors"] = Json::array();
  for (const CheckedTensor& tensor : check.tensors)
    json["tensors"].push_back({{"tensor", tensor.tensor},
                               {"calibrated", {tensor.calibrated.lo, tensor.calibrated.hi}},
                               {"seen", {tensor.seen.lo, tensor.seen.hi}},
                               {"excess", tensor.excess},
                               {"coverage", tensor.coverage},
                               {"drift", tensor.drift}});
  return text_of_json(json);
}

}  // namespace plumb::quant
