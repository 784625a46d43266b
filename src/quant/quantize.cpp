// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/threads.h"
#include "graph/caffe_onnx.h"
#include "quant/caffe_twin.h"
#include "quant/repair.h"
#include "replay/run.h"
#include "result/json_write.h"

namespace plumb::quant {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFewSamples = 16;    // by which repairs are judged
constexpr double kMuchClipped = 0.01;  // of a tensor: what calib-check calls wrong

// x * Sigmoid(x) dips to this, near x = -1.278; where the positive side is wide, few levels are
// left.
constexpr double kDip = -0.2784645;
constexpr double kFewLevels = 4;

// Networks with SiLU lose accuracy on 8 bits for this reason before any other.
void doubt_dips(const Plan& plan, const Quantization& made, std::vector<std::string>& doubts) {
  for (const Layer& layer : plan.layers) {
    if (layer.type != "SiLU" || !layer.output || !made.activations[*layer.output]) continue;
    const Grid& grid = made.activations[*layer.output]->grid;
    const double levels = std::round(-kDip / grid.scale);
    if (levels < kFewLevels)
      doubts.push_back(fmt::format(
          "{}: {} levels of the grid are left for what x * Sigmoid(x) gives below 0; give it 16 "
          "bits "
          "(--layer {}=a16w8), and if that is not enough train the network with Relu instead",
          layer.name, levels, layer.name));
  }
}

// What a person should know about the grids.
std::vector<std::string> doubts_of(const Lab& lab, const Quantization& made,
                                   const Calibration& calibration) {
  std::vector<std::string> doubts;
  const Plan& plan = lab.plan();
  for (size_t i = 0; i < plan.quantizers.size(); ++i) {
    if (!made.activations[i] || !plan.quantizers[i].is_observed()) continue;
    const ActivationGrid& own = *made.activations[i];
    const Observation& seen = calibration.seen[i];
    const double clipped = clipped_share(seen.histogram, own.grid);
    if (plan.quantizers[i].given && clipped > kMuchClipped)
      doubts.push_back(fmt::format(
          "{}: the range of {}, {:.4g} to {:.4g}, clips {:.1f} % of what the samples give, which "
          "is {:.4g} to {:.4g}",
          plan.quantizers[i].name(), lab.options().ranges->path, own.range.lo, own.range.hi,
          100 * clipped, seen.min, seen.max));
    if (made.activations[i]->grid.is_constant)
      doubts.push_back(
          fmt::format("{} is 0 in all samples of the calibration: a constant tensor "
                      "has no range",
                      plan.quantizers[i].name()));
  }
  for (size_t i = 0; i < plan.layers.size(); ++i)
    if (made.weights[i] && !made.weights[i]->widened.empty())
      doubts.push_back(
          fmt::format("{}: the bias of {} channels does not fit 32 bits at the scale of input and "
                      "weights; the weights got a larger scale there",
                      plan.layers[i].name, made.weights[i]->widened.size()));
  doubt_dips(plan, made, doubts);
  if (calibration.samples.size() == 1)
    doubts.push_back("one sample of calibration tells nothing about the ranges of others");
  return doubts;
}

std::string advice_for_weights(const Settings& settings) {
  const auto& type = settings.precision.weights;
  std::vector<std::string> words;
  if (type && bits_of(*type) < 16)
    words.push_back(fmt::format("wider weights (--weight s{})", bits_of(*type) < 8 ? 8 : 16));
  if (!settings.per_channel) words.push_back("weights by channel (--per-channel)");
  return fmt::format("{}", fmt::join(words, " or "));
}

std::string advice_for_activations(const Settings& settings) {
  const auto& type = settings.precision.activations;
  std::vector<std::string> words;
  if (type && bits_of(*type) < 16) words.push_back("wider activations (--act u16)");
  words.push_back("ranges found in another way (--method)");
  return fmt::format("{}", fmt::join(words, " or "));
}

constexpr const char *kFakeQuantModel = "model_fakequant.onnx", *kQdqModel = "model_qdq.onnx",
                     *kQuant = "quant.json", *kQuantGraph = "quant_graph.json",
                     *kExpanded = "config.expanded.json", *kResult = "result.json";
constexpr const char *kTranslation = "model.onnx", *kCaffeTwin = "weights_fakequant.caffemodel";
constexpr const char* kResults[] = {kFakeQuantModel, kQdqModel, kQuant,       kQuantGraph,
                                    kExpanded,       kResult,   kTranslation, kCaffeTwin};

// The translation, and the Caffe network's own weights as they are rounded.
Result<void> write_caffe(const QuantizeOptions& options, const Lab& float_lab, const Lab& lab,
                         const Quantization& made, std::vector<std::string>& warnings) {
  const fs::path &network = options.model.path, &weights = options.model.weights;
  auto translated = graph::translate_caffe(network, weights);
  if (!translated) return translated.error();
  if (auto written = write_file(options.directory / kTranslation, graph::write_onnx(*translated));
      !written)
    return written;
  auto twin = caffe_twin(network, weights, float_lab, lab, made);
  if (!twin) return twin.error();
  if (const auto* file = std::get_if<std::string>(&*twin))
    return write_file(options.directory / kCaffeTwin, *file);
  warnings.push_back(
      fmt::format("{} is not written: {}", kCaffeTwin, std::get<NoCaffeTwin>(*twin).reason));
  return {};
}

}  // namespace

Result<std::unique_ptr<QuantizeJob>> QuantizeJob::open(QuantizeOptions options) {
  std::unique_ptr<QuantizeJob> job(new QuantizeJob);
  job->options_ = std::move(options);
  QuantizeOptions& own = job->options_;
  auto lab = Lab::open(own.model, own.plan);
  if (!lab) return lab.error();
  job->lab_ = std::move(*lab);
  // Counted here, for the report; calibration asks again, for each form of the model.
  if (auto applied = apply_requests(job->lab_->prepared(), job->lab_->plan(),
                                    own.settings.precision, own.requests);
      !applied)
    return applied.error();
  const std::vector<engine::Port> ports = job->lab_->model().inputs();
  auto samples = input::open_samples(own.calibration, ports);
  if (!samples) return samples.error();
  job->samples_ = std::move(*samples);
  if (!own.measurement) return job;
  auto measurement = input::open_samples(*own.measurement, ports);
  if (!measurement) return measurement.error();
  job->measurement_ = std::move(*measurement);
  return job;
}

const input::Samples* QuantizeJob::measurement_samples() const {
  return measurement_ ? &*measurement_ : nullptr;
}

Result<QuantizeJob::State> QuantizeJob::calibrated(std::shared_ptr<const Lab> lab,
                                                   RunContext& context) {
  State state{std::move(lab), {}, {}};
  auto calibration = state.lab->calibrate(*samples_, {true, options_.threads}, context);
  if (!calibration) return calibration.error();
  state.calibration = std::move(*calibration);
  std::vector<LayerRequest> requests = options_.requests;
  auto precisions = apply_requests(state.lab->prepared(), state.lab->plan(),
                                   options_.settings.precision, requests);
  if (!precisions) return precisions.error();
  state.made = on_threads_of(context, [&] {
    return quantize(state.lab->plan(), state.calibration.seen, state.lab->values(), *precisions,
                    options_.settings);
  });
  return state;
}

Result<std::unique_ptr<Trials>> QuantizeJob::few_trials(RunContext& context) {
  input::SampleOptions few = options_.calibration;
  few.most = std::min<int64_t>(few.most.value_or(kFewSamples), kFewSamples);
  auto samples = input::open_samples(few, lab_->model().inputs());
  if (!samples) return samples.error();
  return Trials::open(*lab_, *samples, options_.threads, context);
}

Result<double> QuantizeJob::db_of(const Lab& lab, const Quantization& made, Trials& trials,
                                  RunContext& context) {
  auto built = build_quantized(lab.prepared(), lab.plan(), made, Form::kFakeQuant);
  if (!built) return built.error();
  auto score = trials.score(built->file, context);
  if (!score) return score.error();
  return score->sqnr_db();
}

Result<Blame> QuantizeJob::blame_for(const State& state, RunContext& context) {
  auto trials = few_trials(context);
  if (!trials) return trials.error();
  Quantization only_weights = state.made, only_activations = state.made;
  for (auto& activation : only_weights.activations) activation.reset();
  for (auto& weight : only_activations.weights) weight.reset();
  auto weights = db_of(*state.lab, only_weights, **trials, context);
  if (!weights) return weights.error();
  auto activations = db_of(*state.lab, only_activations, **trials, context);
  if (!activations) return activations.error();
  return Blame{*weights, *activations,
               *weights < *activations ? advice_for_weights(options_.settings)
                                       : advice_for_activations(options_.settings)};
}

// One after the other; each stays only if the outputs get better on samples of the calibration.
Result<void> QuantizeJob::repair(State& state, std::vector<Repair>& repairs, RunContext& context) {
  if (!options_.equalize && !options_.smooth && !options_.correct_bias) return {};
  auto trials = few_trials(context);
  if (!trials) return trials.error();
  const auto score_of = [&](const State& tried) {
    return db_of(*tried.lab, tried.made, **trials, context);
  };
  auto before = score_of(state);
  if (!before) return before.error();
  double now = *before;
  const auto keep_if_better = [&](std::string name, State tried) -> Result<void> {
    auto after = score_of(tried);
    if (!after) return after.error();
    repairs.push_back({std::move(name), now, *after});
    if (!repairs.back().is_kept()) return {};
    state = std::move(tried);
    now = *after;
    return {};
  };
  const auto try_model = [&](std::string name, const std::string& onnx) -> Result<void> {
    auto lab = state.lab->with_model(onnx);
    if (!lab) return lab.error();
    auto tried = calibrated(std::shared_ptr<const Lab>(std::move(*lab)), context);
    if (!tried) return tried.error();
    return keep_if_better(std::move(name), std::move(*tried));
  };
  if (options_.equalize) {
    Quantization only;
    only.activations.resize(state.lab->plan().quantizers.size());
    only.weights.resize(state.lab->plan().layers.size());
    only.values = state.lab->values();
    const size_t pairs = equalize(state.lab->prepared(), state.lab->plan(), only.values);
    auto built = build_quantized(state.lab->prepared(), state.lab->plan(), only, Form::kFakeQuant);
    if (!built) return built.error();
    if (auto done = try_model(fmt::format("equalized {} pairs of layers", pairs), built->file);
        !done)
      return done;
  }
  if (options_.smooth) {
    auto magnitudes = input_magnitudes(*state.lab, **trials, context);
    if (!magnitudes) return magnitudes.error();
    auto smoothed = smooth(*state.lab, *magnitudes, *options_.smooth);
    if (!smoothed) return smoothed.error();
    if (auto done = try_model(fmt::format("smoothed what {} layers read", smoothed->layers),
                              smoothed->file);
        !done)
      return done;
  }
  if (options_.correct_bias) {
    State tried = state;
    if (auto done = correct_biases(*tried.lab, **trials, options_.settings, tried.made, context);
        !done)
      return done;
    return keep_if_better("corrected biases", std::move(tried));
  }
  return {};
}

Result<Quantized> QuantizeJob::run(RunContext& context) {
  std::error_code ignored;
  std::vector<fs::path> not_there;  // what is there before is somebody's
  for (const char* file : kResults)
    if (const fs::path path = options_.directory / file; !fs::exists(path, ignored))
      not_there.push_back(path);
  auto done = calibrate_and_write(context);
  if (!done)
    for (const fs::path& path : not_there) fs::remove(path, ignored);
  return done;
}

Result<Quantized> QuantizeJob::calibrate_and_write(RunContext& context) {
  auto state = calibrated(lab_, context);
  if (!state) return state.error();
  Quantized done;
  if (auto repaired = repair(*state, done.repairs, context); !repaired) return repaired.error();
  const Quantization& made = state->made;
  done.calibration_samples = state->calibration.samples;
  done.calibration_found = samples_->found();
  for (size_t i = 0; i < made.activations.size(); ++i)
    done.given += made.activations[i] && state->lab->plan().quantizers[i].given;
  done.warnings = doubts_of(*state->lab, made, state->calibration);
  done.tensors = static_cast<size_t>(
      std::count_if(made.activations.begin(), made.activations.end(),
                    [](const auto& activation) { return activation.has_value(); }));
  done.layers =
      static_cast<size_t>(std::count_if(made.weights.begin(), made.weights.end(),
                                        [](const auto& weight) { return weight.has_value(); }));
  if (auto written = write(*state, done.repairs); !written) return written.error();
  if (graph::is_caffe_network(options_.model.path))
    if (auto written = write_caffe(options_, *lab_, *state->lab, made, done.warnings); !written)
      return written.error();

  replay::RunOptions run;
  run.target.path = (options_.directory / kFakeQuantModel).string();
  run.golden.path = options_.model.path.string();
  run.golden.weights = options_.model.weights.string();
  run.golden.engine = options_.model.engine;
  run.inputs = options_.measurement ? *options_.measurement : options_.calibration;
  run.layers = options_.layers;
  run.profile = options_.profile;
  run.threads = options_.threads;
  run.limits = options_.model.limits;
  auto comparison = replay::ModelRun::open(std::move(run));
  if (!comparison) return comparison.error();
  replay::Ran ran = comparison->run(context);
  ran.run.command = "quantize";
  done.run = std::move(ran.run);
  done.problem = std::move(ran.problem);
  if (!done.problem && !options_.settings.block &&
      done.run.summary().verdict != result::Verdict::kPass)
    if (auto blame = blame_for(*state, context)) done.blame = std::move(*blame);
  auto sink = FileSink::create(options_.directory / kResult);
  if (!sink) return sink.error();
  result::write_json(done.run, [&](std::string_view piece) { sink->write(piece); });
  if (auto committed = sink->commit(); !committed) return committed.error();
  return done;
}

Result<void> QuantizeJob::write(const State& state, std::span<const Repair> repairs) {
  std::error_code code;
  fs::create_directories(options_.directory, code);
  const Lab& lab = *state.lab;
  for (const auto& [name, form] :
       {std::pair{kFakeQuantModel, Form::kFakeQuant}, std::pair{kQdqModel, Form::kQdq}}) {
    auto model = build_quantized(lab.prepared(), lab.plan(), state.made, form);
    if (!model) return model.error();
    if (auto written = write_file(options_.directory / name, model->file); !written) return written;
  }
  for (const auto& [name, text] :
       {std::pair{kQuant, quant_json(lab, state.made, state.calibration, options_.settings,
                                     options_.requests, repairs)},
        std::pair{kQuantGraph, quant_graph_json(lab, state.made)},
        std::pair{kExpanded, expanded_config_json(options_, lab)}})
    if (auto written = write_file(options_.directory / name, text); !written) return written;
  const fs::path& table = options_.ranges_file;
  if (table.empty()) return {};
  return write_file(table, calibration_table(lab, state.made, table.extension() == ".json"));
}

}  // namespace plumb::quant
