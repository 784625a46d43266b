// SPDX-License-Identifier: Apache-2.0
#include "quant/lab.h"

#include <fmt/format.h>

namespace plumb::quant {

Result<std::unique_ptr<Lab>> Lab::open(const engine::ModelFile& file, const PlanOptions& options) {
  std::unique_ptr<Lab> lab(new Lab);
  lab->limits_ = file.limits;
  auto model = engine::LoadedModel::open(file);
  if (!model) return model.error();
  if (model->is_caffe())
    return Error{"a Caffe network is quantized as ONNX", model->path(),
                 "have it run by ONNX Runtime"};
  lab->model_ = std::move(*model);
  lab->options_ = options;
  const engine::Model view = lab->model_->view();
  if (auto done = lab->prepare(view.graph, view.data); !done) return done.error();
  return lab;
}

Result<std::unique_ptr<Lab>> Lab::with_model(const std::string& onnx) const {
  std::unique_ptr<Lab> lab(new Lab);
  lab->limits_ = limits_;
  lab->options_ = options_;
  lab->model_ = model_;
  if (auto done = lab->prepare(as_bytes(onnx), {}); !done) return done.error();
  lab->prepared_->layer_names = prepared_->layer_names;
  lab->prepared_->notes = prepared_->notes;
  for (Layer& layer : lab->plan_.layers)
    layer.name = lab->prepared_->layer_name(lab->prepared_->node(layer.node));
  return lab;
}

Result<void> Lab::prepare(Bytes file, const graph::DataPlace& place) {
  auto prepared = prepare_model(file, place);
  if (!prepared) return std::move(prepared.error()).in(model_->path());
  prepared_ = std::move(*prepared);
  if (auto replaced = model_->replace(prepared_->file); !replaced) return replaced;
  auto types = engine::infer_types(engine(), model_->view(), tensors_of(prepared_->model));
  if (!types) return std::move(types.error()).in(model_->path());
  for (const graph::OnnxValue& input : prepared_->model.graph.inputs)
    types->try_emplace(std::string(input.name), input.type);
  plan_ = make_plan(*prepared_, *types, options_);
  if (plan_.layers.empty())
    return Error{"there is nothing to quantize in the model",
                 fmt::format("{}: {} operators, none of them computes with float32 tensors",
                             model_->path(), prepared_->model.graph.nodes.size()),
                 "pass the float model, before it was quantized or cast to 16 bits"};
  values_ = values_of(*prepared_, plan_);
  if (options_.ranges) return give_ranges(*options_.ranges, plan_);
  return {};
}

Result<Calibration> Lab::calibrate(input::Samples& samples, const CalibrationOptions& options,
                                   RunContext& context) const {
  auto done = quant::calibrate(engine(), model_->view(), plan_, samples, options, context);
  if (!done) return std::move(done.error()).in(model_->path());
  return done;
}

}  // namespace plumb::quant
