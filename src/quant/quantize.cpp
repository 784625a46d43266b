// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize.h"

#include <algorithm>

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
  if (calibration.samples.size() == 1)
    doubts.push_back("one sample of calibration tells nothing about the ranges of others");
  return doubts;
}

// The translation, and the Caffe network's own weights as they are rounded.
Result<void> write_caffe(const QuantizeOptions& options, const Lab& float_lab, const Lab& lab,
                         const Quantization& made, std::vector<std::string>& warnings) {
  const fs::path &network = options.model.path, &weights = options.model.weights;
  auto translated = graph::translate_caffe(network, weights);
  if (!translated) return translated.error();
  if (auto written = write_file(options.directory / "model.onnx", graph::write_onnx(*translated));
      !written)
    return written;
  auto twin = caffe_twin(network, weights, float_lab, lab, made);
  if (!twin) return twin.error();
  constexpr const char* kTwin = "weights_fakequant.caffemodel";
  if (const auto* file = std::get_if<std::string>(&*twin))
    return write_file(options.directory / kTwin, *file);
  warnings.push_back(
      fmt::format("{} is not written: {}", kTwin, std::get<NoCaffeTwin>(*twin).reason));
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

// One after the other; each stays only if the outputs get better on samples of the calibration.
Result<void> QuantizeJob::repair(State& state, std::vector<Repair>& repairs, RunContext& context) {
  if (!options_.equalize && !options_.smooth && !options_.correct_bias) return {};
  input::SampleOptions few = options_.calibration;
  few.most = std::min<int64_t>(few.most.value_or(kFewSamples), kFewSamples);
  auto samples = input::open_samples(few, lab_->model().inputs());
  if (!samples) return samples.error();
  auto trials = Trials::open(*lab_, *samples, options_.threads, context);
  if (!trials) return trials.error();
  const auto score_of = [&](const State& tried) -> Result<double> {
    auto built =
        build_quantized(tried.lab->prepared(), tried.lab->plan(), tried.made, Form::kFakeQuant);
    if (!built) return built.error();
    auto score = (*trials)->score(built->file, context);
    if (!score) return score.error();
    return score->sqnr_db();
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
  run.target.path = (options_.directory / "model_fakequant.onnx").string();
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
  auto sink = FileSink::create(options_.directory / "result.json");
  if (!sink) return sink.error();
  result::write_json(done.run, [&](std::string_view piece) { sink->write(piece); });
  if (auto committed = sink->commit(); !committed) return committed.error();
  return done;
}

Result<void> QuantizeJob::write(const State& state, std::span<const Repair> repairs) {
  std::error_code code;
  fs::create_directories(options_.directory, code);
  const Lab& lab = *state.lab;
  for (const auto& [name, form] : {std::pair{"model_fakequant.onnx", Form::kFakeQuant},
                                   std::pair{"model_qdq.onnx", Form::kQdq}}) {
    auto model = build_quantized(lab.prepared(), lab.plan(), state.made, form);
    if (!model) return model.error();
    if (auto written = write_file(options_.directory / name, model->file); !written) return written;
  }
  for (const auto& [name, text] :
       {std::pair{"quant.json", quant_json(lab, state.made, state.calibration, options_.settings,
                                           options_.requests, repairs)},
        std::pair{"quant_graph.json", quant_graph_json(lab, state.made)},
        std::pair{"config.expanded.json", expanded_config_json(options_, lab)}})
    if (auto written = write_file(options_.directory / name, text); !written) return written;
  return {};
}

}  // namespace plumb::quant
