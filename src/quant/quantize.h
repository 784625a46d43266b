// SPDX-License-Identifier: Apache-2.0
//
// The job behind `plumb quantize`: calibrates a float model, quantizes it, writes the quantized
// models and what they were made with into a directory, and compares the simulation with the float
// model on samples that need not be those of the calibration.
#pragma once

#include <filesystem>

#include "input/sample_options.h"
#include "plumb/row.h"
#include "quant/lab.h"
#include "quant/layer_requests.h"

namespace plumb::quant {

struct QuantizeOptions {
  engine::ModelFile model;
  input::SampleOptions calibration;                 // inputs are the set
  std::optional<input::SampleOptions> measurement;  // nullopt: the same as calibration
  PlanOptions plan;
  Settings settings;
  std::vector<LayerRequest> requests;
  std::string layers = "outputs";  // that are compared: outputs or all
  std::string profile = "quantized";
  int threads = 1;  // of the engine
  std::filesystem::path directory;
};

struct Quantized {
  std::vector<std::string> calibration_samples;
  size_t calibration_found = 0;
  size_t tensors = 0, layers = 0;  // with a grid; with integer weights
  std::vector<std::string> warnings;
  result::Run run;               // of the comparison
  std::optional<Error> problem;  // what ended it early
};

// Opened: models and samples are there, nothing was run.
class QuantizeJob {
 public:
  static Result<std::unique_ptr<QuantizeJob>> open(QuantizeOptions options);

  const QuantizeOptions& options() const { return options_; }  // requests count their layers
  const Lab& lab() const { return *lab_; }
  const input::Samples& calibration_samples() const { return *samples_; }
  const input::Samples* measurement_samples() const;

  // Progress counts samples: of calibration, then of measurement.
  Result<Quantized> run(RunContext& context);

 private:
  QuantizeJob() = default;
  Result<void> write(const Quantization& made, const Calibration& calibration);

  QuantizeOptions options_;
  std::unique_ptr<Lab> lab_;
  std::optional<input::Samples> samples_, measurement_;
  std::vector<Precision> precisions_;
};

// What quant.json says (schema plumb.quant/1, docs/quantization.md).
std::string quant_json(const Lab& lab, const Quantization& made, const Calibration& calibration,
                       const Settings& settings, std::span<const LayerRequest> requests);
// The same quantization in the form that AMCT writes, for `plumb compare --quant`.
std::string quant_graph_json(const Lab& lab, const Quantization& made);
// All options that were in effect.
std::string expanded_config_json(const QuantizeOptions& options, const Lab& lab);

}  // namespace plumb::quant
