// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/threads.h"
#include "replay/run.h"
#include "result/json_write.h"

namespace plumb::quant {
namespace {

namespace fs = std::filesystem;

// What a person should know about the grids.
std::vector<std::string> doubts_of(const Lab& lab, const Quantization& made,
                                   const Calibration& calibration) {
  std::vector<std::string> doubts;
  const Plan& plan = lab.plan();
  for (size_t i = 0; i < plan.quantizers.size(); ++i) {
    if (!made.activations[i]) continue;
    if (!plan.quantizers[i].fixed && made.activations[i]->grid.is_constant)
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

}  // namespace

Result<std::unique_ptr<QuantizeJob>> QuantizeJob::open(QuantizeOptions options) {
  std::unique_ptr<QuantizeJob> job(new QuantizeJob);
  job->options_ = std::move(options);
  QuantizeOptions& own = job->options_;
  auto lab = Lab::open(own.model, own.plan);
  if (!lab) return lab.error();
  job->lab_ = std::move(*lab);
  auto precisions = apply_requests(job->lab_->plan(), own.settings.precision, own.requests);
  if (!precisions) return precisions.error();
  job->precisions_ = std::move(*precisions);
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

Result<Quantized> QuantizeJob::run(RunContext& context) {
  const bool with_histograms = true;  // also min-max says how much it clips elsewhere
  auto calibration = lab_->calibrate(*samples_, {with_histograms, options_.threads}, context);
  if (!calibration) return calibration.error();
  const Quantization made = on_threads_of(context, [&] {
    return quantize(lab_->plan(), calibration->seen, lab_->values(), precisions_,
                    options_.settings);
  });
  Quantized done;
  done.calibration_samples = calibration->samples;
  done.calibration_found = samples_->found();
  done.warnings = doubts_of(*lab_, made, *calibration);
  done.tensors = static_cast<size_t>(
      std::count_if(made.activations.begin(), made.activations.end(),
                    [](const auto& activation) { return activation.has_value(); }));
  done.layers =
      static_cast<size_t>(std::count_if(made.weights.begin(), made.weights.end(),
                                        [](const auto& weight) { return weight.has_value(); }));
  if (auto written = write(made, *calibration); !written) return written.error();

  replay::RunOptions run;
  run.target.path = (options_.directory / "model_fakequant.onnx").string();
  run.golden.path = options_.model.path.string();
  run.golden.weights = options_.model.weights.string();
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

Result<void> QuantizeJob::write(const Quantization& made, const Calibration& calibration) {
  std::error_code code;
  fs::create_directories(options_.directory, code);
  for (const auto& [name, form] : {std::pair{"model_fakequant.onnx", Form::kFakeQuant},
                                   std::pair{"model_qdq.onnx", Form::kQdq}}) {
    auto model = build_quantized(lab_->prepared(), lab_->plan(), made, form);
    if (!model) return model.error();
    if (auto written = write_file(options_.directory / name, model->file); !written) return written;
  }
  for (const auto& [name, text] :
       {std::pair{"quant.json",
                  quant_json(*lab_, made, calibration, options_.settings, options_.requests)},
        std::pair{"quant_graph.json", quant_graph_json(*lab_, made)},
        std::pair{"config.expanded.json", expanded_config_json(options_, *lab_)}})
    if (auto written = write_file(options_.directory / name, text); !written) return written;
  return {};
}

}  // namespace plumb::quant
