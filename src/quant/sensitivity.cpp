// SPDX-License-Identifier: Apache-2.0
#include "quant/sensitivity.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/parallel.h"
#include "base/threads.h"

namespace plumb::quant {
namespace {

constexpr std::string_view kModes[] = {"one", "iso", "cum", "leave-one-out"};  // by Mode
constexpr double kWeak = 20;    // dB at the outputs: worth a suggestion
constexpr double kOutlier = 8;  // a channel's largest number is so many times below the tensor's

double decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

// Sums over all samples, of a tensor against that of the float model.
struct Noise {
  double signal = 0, noise = 0;
  bool is_measured = false;

  void add(std::span<const float> values, std::span<const float> golden) {
    if (values.size() != golden.size()) return;
    is_measured = true;
    for (size_t i = 0; i < golden.size(); ++i) {
      const double error = double{values[i]} - golden[i];
      noise += error * error;
      signal += double{golden[i]} * golden[i];
    }
  }
  std::optional<double> db() const {
    return is_measured ? std::optional(decibels(signal, noise)) : std::nullopt;
  }
};

// What rounding to a grid does to a tensor of the float model.
struct Rounding {
  double clipping = 0, inside = 0;
  int64_t clipped = 0, count = 0;
  std::vector<double> largest;  // by channel

  void add(std::span<const float> values, const Shape& shape, const Grid& grid) {
    const auto axis = shape.size() > 1 ? std::optional<int64_t>(1) : std::nullopt;
    const Channels channels = channels_of(shape, axis);
    if (largest.empty()) largest.resize(static_cast<size_t>(channels.count));
    if (std::ssize(largest) != channels.count) return;
    const double low = grid.lowest() - grid.scale / 2, high = grid.highest() + grid.scale / 2;
    count += std::ssize(values);
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = values[i], error = x - double{grid.rounded(values[i])};
      const bool is_clipped = x < low || x > high;
      (is_clipped ? clipping : inside) += error * error;
      clipped += is_clipped;
      double& most = largest[static_cast<size_t>(channels.of(static_cast<int64_t>(i)))];
      most = std::max(most, std::abs(x));
    }
  }
  double outlier_share() const {
    if (largest.size() < 2) return 0;
    const double most = *std::max_element(largest.begin(), largest.end());
    const auto small = std::count_if(largest.begin(), largest.end(),
                                     [&](double own) { return own * kOutlier < most; });
    return static_cast<double>(small) / static_cast<double>(largest.size());
  }
};

class Measurement {
 public:
  Measurement(const Lab& lab, const Calibration& calibration, Trials& trials,
              const SensitivityOptions& options, RunContext& context)
      : lab_(lab),
        plan_(lab.plan()),
        calibration_(calibration),
        trials_(trials),
        options_(options),
        context_(context) {}

  Result<Sensitivity> measure() {
    begin();
    all_ = quantized(options_.precisions);
    if (auto done = measure_isolated(); !done) return done.error();
    if (auto done = measure_cumulative(); !done) return done.error();
    if (options_.mode == Mode::kOne || options_.mode == Mode::kLeaveOneOut)
      if (auto done = measure_each(); !done) return done.error();
    add_own_tensors();
    for (LayerSensitivity& row : made_.layers) row.suggestion = suggestion_for(row);
    sort();
    made_.samples = trials_.samples();
    return std::move(made_);
  }

 private:
  void begin() {
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      const Layer& layer = plan_.layers[i];
      LayerSensitivity& row = made_.layers.emplace_back();
      row.layer = layer.name;
      row.type = layer.type;
      row.precision = layer.is_tail ? "float" : text_of(options_.precisions[i]);
      row.parameters = std::ssize(lab_.values()[i].weights) + std::ssize(lab_.values()[i].bias);
    }
  }

  Quantization quantized(std::vector<Precision> precisions) const {
    return quantize(plan_, calibration_.seen, lab_.values(), std::move(precisions),
                    options_.settings);
  }

  // ---- one run each for all layers ----

  Result<void> measure_isolated() {
    auto alone = build_isolated(lab_.prepared(), plan_, all_);
    if (!alone) return alone.error();
    std::vector<std::string> wanted;
    std::map<std::string, std::pair<size_t, size_t>, std::less<>> place;  // part, layer
    for (size_t part = 0; part < 3; ++part)
      for (size_t i = 0; i < plan_.layers.size(); ++i)
        if (const std::string& name = alone->outputs[part][i]; !name.empty()) {
          wanted.push_back(name);
          place[name] = {part, i};
        }
    std::map<std::string, std::vector<size_t>, std::less<>> golden_of;  // tensor -> layers
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      golden_of[plan_.layers[i].output_tensor].push_back(i);
    for (const auto& [tensor, layers] : golden_of) wanted.push_back(tensor);

    std::vector<Noise> noise(3 * plan_.layers.size());
    std::vector<Rounding> rounding(plan_.layers.size());
    std::map<std::string, std::vector<float>> now;
    const auto end = [&](size_t) {
      for (const auto& [name, where] : place) {
        const auto own = now.find(name);
        const auto golden = now.find(plan_.layers[where.second].output_tensor);
        if (own != now.end() && golden != now.end())
          noise[where.first * plan_.layers.size() + where.second].add(own->second, golden->second);
      }
      now.clear();
    };
    const auto take = [&](const std::string& tensor, std::span<const float> values,
                          const Shape& shape) {
      now[tensor].assign(values.begin(), values.end());
      const auto found = golden_of.find(tensor);
      if (found == golden_of.end()) return;
      for (const size_t layer : found->second)
        if (const auto output = plan_.layers[layer].output; output && all_.activations[*output])
          rounding[layer].add(values, shape, all_.activations[*output]->grid);
    };
    if (auto ran = trials_.run(alone->file, wanted, end, take, context_); !ran) return ran;
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      LayerSensitivity& row = made_.layers[i];
      row.isolated = noise[i].db();
      row.isolated_weights = noise[plan_.layers.size() + i].db();
      row.isolated_activations = noise[2 * plan_.layers.size() + i].db();
      if (all_.weights[i]) row.weight_sqnr_db = all_.weights[i]->sqnr_db;
      const Rounding& own = rounding[i];
      if (const double sum = own.clipping + own.inside; sum > 0)
        row.clipping_share = own.clipping / sum;
      if (own.count > 0)
        row.clipped = static_cast<double>(own.clipped) / static_cast<double>(own.count);
      row.outlier_channels = own.outlier_share();
    }
    return {};
  }

  // The fully quantized model against the float model, at every layer.
  Result<void> measure_cumulative() {
    auto built = build_quantized(lab_.prepared(), plan_, all_, Form::kFakeQuant);
    if (!built) return built.error();
    std::vector<std::string> golden_names, target_names;
    std::map<std::string, std::string, std::less<>> golden_of;  // by the target's name
    for (const Layer& layer : plan_.layers) {
      const auto found = built->rounded.find(layer.output_tensor);
      const std::string& target =
          found == built->rounded.end() ? layer.output_tensor : found->second;
      if (!golden_of.try_emplace(target, layer.output_tensor).second) continue;
      golden_names.push_back(layer.output_tensor);
      target_names.push_back(target);
    }
    for (const std::string& output : trials_.outputs())
      if (golden_of.try_emplace(output, output).second) target_names.push_back(output);
    // Both at once would take twice the memory: samples of the float model are kept one at a time
    // by running the two in turns.
    std::map<std::string, Noise, std::less<>> noise;
    Score score;
    for (size_t i = 0; i < trials_.samples(); ++i) {
      Given golden, target, outputs;
      if (auto ran = run_one(lab_.prepared().file, golden_session_, golden_names, i, golden); !ran)
        return ran;
      if (auto ran = run_one(built->file, target_session_, target_names, i, target); !ran)
        return ran;
      for (const auto& [name, values] : target) {
        if (const auto found = golden.find(golden_of[name]); found != golden.end())
          noise[found->first].add(values, found->second);
        if (std::find(trials_.outputs().begin(), trials_.outputs().end(), name) !=
            trials_.outputs().end())
          outputs[name] = values;
      }
      add_to(score, outputs, trials_.golden(i));
      context_.advance(1);
    }
    golden_session_.reset();
    target_session_.reset();
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      made_.layers[i].cumulative = noise[plan_.layers[i].output_tensor].db();
    made_.all_db = score.sqnr_db();
    made_.all_agreement = score.agreement();
    return {};
  }

  Result<void> run_one(const std::string& onnx, std::unique_ptr<engine::Session>& session,
                       const std::vector<std::string>& tensors, size_t sample, Given& given) {
    if (context_.cancelled) return Error{"interrupted", "", "run the command again"};
    if (!session) {
      engine::SessionOptions session_options;
      for (const std::string& tensor : tensors) session_options.captured.push_back({{}, 0, tensor});
      engine::Model model = lab_.model().view();
      model.graph = as_bytes(onnx);
      auto opened = lab_.engine().open(model, session_options);
      if (!opened) return opened.error();
      session = std::move(*opened);
    }
    return session->run(trials_.inputs(sample), [&](const engine::Output& output) -> Result<void> {
      if (!output.tensor || output.tensor->dtype != DType::kFloat32) return {};
      const Bytes bytes = output.tensor->bytes;
      const auto* first = reinterpret_cast<const float*>(bytes.data());
      given[output.port.name].assign(first, first + bytes.size() / sizeof(float));
      return {};
    });
  }

  // ---- a run for each layer ----

  Result<void> measure_each() {
    std::vector<std::optional<Error>> problems(plan_.layers.size());
    std::atomic<size_t> next{0};
    const auto work = [&](size_t) {
      for (size_t i = next++; i < plan_.layers.size(); i = next++) {
        if (plan_.layers[i].is_tail) continue;
        auto score = score_of(i);
        if (!score) {
          problems[i] = std::move(score.error());
          continue;
        }
        LayerSensitivity& row = made_.layers[i];
        (options_.mode == Mode::kOne ? row.one : row.leave_one_out) = score->sqnr_db();
        row.agreement = score->agreement();
      }
    };
    on_threads_of(context_, [&] {
      for_each_index(static_cast<size_t>(std::max(options_.engines, 1)), work);
    });
    for (std::optional<Error>& problem : problems)
      if (problem) return std::move(*problem);
    return {};
  }

  Result<Score> score_of(size_t layer) {
    const Precision none{std::nullopt, std::nullopt};
    std::vector<Precision> precisions = options_.precisions;
    if (options_.mode == Mode::kOne) {
      std::fill(precisions.begin(), precisions.end(), none);
      precisions[layer] = options_.precisions[layer];
      if (options_.part == Part::kWeights) precisions[layer].activations.reset();
      if (options_.part == Part::kActivations) precisions[layer].weights.reset();
    } else {
      precisions[layer] = none;
    }
    return score_of(quantized(std::move(precisions)));
  }

  Result<Score> score_of(const Quantization& quantization) {
    auto built = build_quantized(lab_.prepared(), plan_, quantization, Form::kFakeQuant);
    if (!built) return built.error();
    return trials_.score(built->file, context_);
  }

  // The graph's own tensors: what it is fed, and what it gives if that were rounded, too.
  void add_own_tensors() {
    LayerSensitivity output;
    output.layer = "<output>";
    output.type = "output";
    const DType dtype = options_.settings.precision.activations.value_or(DType::kUint8);
    output.precision = fmt::format("a{}", bits_of(dtype));
    Score score;
    std::map<std::string, Grid> grids;
    for (size_t i = 0; i < trials_.samples(); ++i)
      for (const auto& [name, values] : trials_.golden(i)) {
        Range& range = output_ranges_[name];
        for (const float value : values) {
          range.lo = std::min<double>(range.lo, value);
          range.hi = std::max<double>(range.hi, value);
        }
      }
    for (const auto& [name, range] : output_ranges_)
      grids[name] = grid_of(range, {dtype, options_.settings.is_symmetric});
    for (size_t i = 0; i < trials_.samples(); ++i) {
      Given rounded;
      for (const auto& [name, values] : trials_.golden(i))
        for (const float value : values) rounded[name].push_back(grids[name].rounded(value));
      add_to(score, rounded, trials_.golden(i));
    }
    output.one = score.sqnr_db();
    output.agreement = score.agreement();
    output.ties = score.ties;
    made_.layers.push_back(std::move(output));
    add_inputs();
  }

  void add_inputs() {
    Quantization only = quantized(
        std::vector<Precision>(plan_.layers.size(), Precision{std::nullopt, std::nullopt}));
    bool has_some = false;
    for (size_t i = 0; i < plan_.quantizers.size(); ++i)
      for (const graph::OnnxValue& input : lab_.prepared().model.graph.inputs)
        if (plan_.quantizers[i].name() == input.name && all_.activations[i]) {
          only.activations[i] = all_.activations[i];
          has_some = true;
        }
    if (!has_some || options_.mode != Mode::kOne) return;
    auto score = score_of(only);
    if (!score) return;  // the layer behind it tells the same
    LayerSensitivity row;
    row.layer = "<input>";
    row.type = "input";
    row.precision = fmt::format(
        "a{}", bits_of(options_.settings.precision.activations.value_or(DType::kUint8)));
    row.one = score->sqnr_db();
    row.agreement = score->agreement();
    made_.layers.push_back(std::move(row));
  }

  // What would help most, by where the noise comes from.
  std::string suggestion_for(const LayerSensitivity& row) const {
    if (row.layer == "<output>")
      return row.ties > 0 ? "leave the outputs in float: rounded scores tie" : "";
    const double own = row.by(options_.mode == Mode::kLeaveOneOut ? Mode::kIsolated : options_.mode)
                           .value_or(std::numeric_limits<double>::infinity());
    if (own >= kWeak || row.precision == "float") return "";
    const bool by_weights = row.isolated_weights && row.isolated_activations &&
                            *row.isolated_weights < *row.isolated_activations;
    if (by_weights)
      return options_.settings.per_channel ? "weights of 16 bits" : "weights by channel";
    if (row.clipping_share > 0.5) return "a wider range, or more samples";
    return "activations of 16 bits";
  }

  void sort() {
    if (options_.mode == Mode::kCumulative) return;
    // Of leave-one-out, the layer whose absence helps most is the worst.
    const double sign = options_.mode == Mode::kLeaveOneOut ? -1 : 1;
    const auto key = [&](const LayerSensitivity& row) {
      const auto value = row.by(options_.mode);
      return value ? sign * *value : std::numeric_limits<double>::infinity();
    };
    std::stable_sort(made_.layers.begin(), made_.layers.end(),
                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
  }

  const Lab& lab_;
  const Plan& plan_;
  const Calibration& calibration_;
  Trials& trials_;
  const SensitivityOptions& options_;
  RunContext& context_;
  Quantization all_;
  std::unique_ptr<engine::Session> golden_session_, target_session_;
  std::map<std::string, Range> output_ranges_;
  Sensitivity made_;
};

}  // namespace

std::optional<Mode> mode_from_text(std::string_view text) {
  for (size_t i = 0; i < std::size(kModes); ++i)
    if (kModes[i] == text) return static_cast<Mode>(i);
  return std::nullopt;
}

std::string_view text_of(Mode mode) { return kModes[static_cast<size_t>(mode)]; }

std::optional<double> LayerSensitivity::by(Mode mode) const {
  switch (mode) {
    case Mode::kOne: return one;
    case Mode::kIsolated: return isolated;
    case Mode::kCumulative: return cumulative;
    case Mode::kLeaveOneOut: break;
  }
  return leave_one_out;
}

int64_t runs_of(const Plan& plan, const SensitivityOptions& options) {
  const bool is_each = options.mode == Mode::kOne || options.mode == Mode::kLeaveOneOut;
  return 3 + (is_each ? std::ssize(plan.layers) : 0);
}

Result<Sensitivity> measure_sensitivity(const Lab& lab, const Calibration& calibration,
                                        Trials& trials, const SensitivityOptions& options,
                                        RunContext& context) {
  return Measurement(lab, calibration, trials, options, context).measure();
}

std::string sensitivity_json(const Sensitivity& sensitivity, const SensitivityOptions& options,
                             const Lab& lab) {
  Json json;
  json["schema"] = "plumb.sensitivity/1";
  json["model"] = lab.model().path();
  json["mode"] = text_of(options.mode);
  json["samples"] = sensitivity.samples;
  json["all"] = {{"sqnr_db", number_json(sensitivity.all_db)},
                 {"agree", sensitivity.all_agreement}};
  json["layers"] = Json::array();
  for (const LayerSensitivity& row : sensitivity.layers) {
    Json entry;
    entry["layer"] = row.layer;
    entry["type"] = row.type;
    entry["precision"] = row.precision;
    entry["sqnr_db"] = optional_json(row.by(options.mode));
    entry["parameters"] = row.parameters;
    entry["one_db"] = optional_json(row.one);
    entry["isolated_db"] = optional_json(row.isolated);
    entry["cumulative_db"] = optional_json(row.cumulative);
    entry["leave_one_out_db"] = optional_json(row.leave_one_out);
    entry["isolated_weights_db"] = optional_json(row.isolated_weights);
    entry["isolated_activations_db"] = optional_json(row.isolated_activations);
    entry["weight_sqnr_db"] = optional_json(row.weight_sqnr_db);
    entry["agree"] = optional_json(row.agreement);
    if (row.layer == "<output>") entry["ties"] = row.ties;
    entry["clipping_share"] = row.clipping_share;
    entry["clipped"] = row.clipped;
    entry["outlier_channels"] = row.outlier_channels;
    entry["suggestion"] = row.suggestion;
    json["layers"].push_back(std::move(entry));
  }
  return text_of_json(json);
}

}  // namespace plumb::quant
