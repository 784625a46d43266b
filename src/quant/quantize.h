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
#include "quant/trial.h"

namespace plumb::quant {

struct QuantizeOptions {
  engine::ModelFile model;
  input::SampleOptions calibration;                 // inputs are the set
  std::optional<input::SampleOptions> measurement;  // nullopt: the same as calibration
  PlanOptions plan;
  Settings settings;
  std::vector<LayerRequest> requests;
  bool equalize = false, correct_bias = false;
  std::optional<double> smooth;    // strength, 0..1
  std::string layers = "outputs";  // that are compared: outputs or all
  std::string profile = "quantized";
  int threads = 1;  // of the engine
  std::filesystem::path directory;
  std::filesystem::path ranges_file;  // for others, .json or .cache; empty: none
};

// Something that was tried, at the outputs, on samples of the calibration; it stays if it helps.
struct Repair {
  std::string name;
  double before_db = 0, after_db = 0;
  bool is_kept() const { return after_db > before_db; }
};

// Where a loss that is beyond the limits comes from: signal to noise ratios at the outputs on
// samples of the calibration, with nothing but weights or nothing but activations rounded.
struct Blame {
  double weights_db = 0, activations_db = 0;
  std::string advice;  // "wider weights (--weight s8)"
};

struct Quantized {
  std::vector<Repair> repairs;
  std::vector<std::string> calibration_samples;
  size_t calibration_found = 0;
  size_t tensors = 0, layers = 0;  // with a grid; with integer weights
  size_t given = 0;                // tensors whose range is that of a table
  std::vector<std::string> warnings;
  result::Run run;               // of the comparison
  std::optional<Blame> blame;    // if the comparison does not pass
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

  // Progress counts samples: of calibration, then of measurement. A run that fails leaves no new
  // files.
  Result<Quantized> run(RunContext& context);

 private:
  QuantizeJob() = default;
  // A quantization that was calibrated, of the model as it is or as it was changed.
  struct State {
    std::shared_ptr<const Lab> lab;
    Calibration calibration;
    Quantization made;
  };
  Result<Quantized> calibrate_and_write(RunContext& context);
  Result<State> calibrated(std::shared_ptr<const Lab> lab, RunContext& context);
  Result<std::unique_ptr<Trials>> few_trials(RunContext& context);
  Result<double> db_of(const Lab& lab, const Quantization& made, Trials& trials,
                       RunContext& context);
  Result<void> repair(State& state, std::vector<Repair>& repairs, RunContext& context);
  Result<Blame> blame_for(const State& state, RunContext& context);
  Result<void> write(const State& state, std::span<const Repair> repairs);

  QuantizeOptions options_;
  std::shared_ptr<const Lab> lab_;
  std::optional<input::Samples> samples_, measurement_;
};

// What quant.json says (schema plumb.quant/1, docs/quantization.md).
std::string quant_json(const Lab& lab, const Quantization& made, const Calibration& calibration,
                       const Settings& settings, std::span<const LayerRequest> requests,
                       std::span<const Repair> repairs = {});
// The same quantization in the form that AMCT writes, for `plumb compare --quant`.
std::string quant_graph_json(const Lab& lab, const Quantization& made);
// The ranges as ONNX Runtime keeps them: JSON with both ends, or lines of a tensor and its largest
// magnitude.
std::string calibration_table(const Lab& lab, const Quantization& made, bool is_json);
// All options that were in effect.
std::string expanded_config_json(const QuantizeOptions& options, const Lab& lab);

}  // namespace plumb::quant
