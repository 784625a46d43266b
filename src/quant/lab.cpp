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
    return Error{"only ONNX models can be quantized", model->path(),
                 "convert the network to ONNX first"};
  lab->model_ = std::move(*model);
  const engine::Model view = lab->model_->view();
  auto prepared = prepare_model(view.graph, view.data);
  if (!prepared) return std::move(prepared.error()).in(lab->model_->path());
  lab->prepared_ = std::move(*prepared);
  const PreparedModel& ready = *lab->prepared_;
  if (auto replaced = lab->model_->replace(ready.file); !replaced) return replaced.error();
  auto types = engine::infer_types(lab->engine(), lab->model_->view(), tensors_of(ready.model));
  if (!types) return std::move(types.error()).in(lab->model_->path());
  for (const graph::OnnxValue& input : ready.model.graph.inputs)
    types->try_emplace(std::string(input.name), input.type);
  lab->plan_ = make_plan(ready, *types, options);
  if (lab->plan_.layers.empty())
    return Error{"there is nothing to quantize in the model",
                 fmt::format("{}: {} operators, none of them computes with float32 tensors",
                             lab->model_->path(), ready.model.graph.nodes.size()),
                 "pass the float model, before it was quantized or cast to 16 bits"};
  lab->values_ = values_of(ready, lab->plan_);
  return lab;
}

Result<Calibration> Lab::calibrate(input::Samples& samples, const CalibrationOptions& options,
                                   RunContext& context) const {
  auto done = quant::calibrate(engine(), model_->view(), plan_, samples, options, context);
  if (!done) return std::move(done.error()).in(model_->path());
  return done;
}

}  // namespace plumb::quant
