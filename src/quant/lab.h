// SPDX-License-Identifier: Apache-2.0
//
// A float model on the bench: opened, prepared, planned, and ready to be calibrated and run in any
// number of quantized forms, all in memory.
#pragma once

#include "engine/model.h"
#include "quant/build.h"
#include "quant/calibrate.h"

namespace plumb::quant {

class Lab {
 public:
  // ONNX, or a Caffe network that the file says is to be run by ONNX Runtime: it is translated.
  static Result<std::unique_ptr<Lab>> open(const engine::ModelFile& file,
                                           const PlanOptions& options);

  // The same bench with a model in the other's place that computes the same, by another file.
  Result<std::unique_ptr<Lab>> with_model(const std::string& onnx) const;

  const engine::LoadedModel& model() const { return *model_; }  // as it was prepared
  const PreparedModel& prepared() const { return *prepared_; }
  const Plan& plan() const { return plan_; }
  engine::Engine& engine() const { return model_->engine(); }
  const PlanOptions& options() const { return options_; }
  const WorkerLimits& limits() const { return limits_; }              // of engines
  const std::vector<LayerValues>& values() const { return values_; }  // weights as they are

  Result<Calibration> calibrate(input::Samples& samples, const CalibrationOptions& options,
                                RunContext& context) const;

 private:
  Lab() = default;
  Result<void> prepare(Bytes file, const graph::DataPlace& place);

  std::unique_ptr<PreparedModel> prepared_;
  std::optional<engine::LoadedModel> model_;
  WorkerLimits limits_;
  PlanOptions options_;
  Plan plan_;
  std::vector<LayerValues> values_;
};

}  // namespace plumb::quant
