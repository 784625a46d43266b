// SPDX-License-Identifier: Apache-2.0
//
// Feeds two models the same bytes and compares what they give, or every layer, sample by sample. A
// directory of results, of a board or of an earlier run, can stand for either model.
#pragma once

#include <memory>

#include "engine/model.h"
#include "input/sample_options.h"
#include "plumb/run_context.h"
#include "replay/scores.h"

namespace plumb::replay {

struct RunSideOptions {
  std::string path;             // a model, or a directory of results
  std::string weights, engine;  // of a model; empty: what fits it
  std::string config;           // how it is fed, if not as RunOptions::inputs says
  engine::Optimization optimization = engine::Optimization::kDisabled;
};

struct RunOptions {
  RunSideOptions target, golden;
  input::SampleOptions inputs;
  std::string layers = "outputs";       // outputs, all, or a pattern as in `ops`
  std::vector<std::string> ops;         // only layers whose operator matches; empty: all
  std::string profile;                  // empty: by what is compared
  std::string precision;                // what the target computes in: see Spec::precision
  std::optional<double> atol, rtol;     // see Spec
  bool details = false;                 // see Spec
  std::string gt;                       // results of a gt folder to compare with; empty: what fits
  result::Circumstances circumstances;  // that the diagnosis takes as evidence
  std::string labels;                   // a file with the right classes of the samples
  std::string output_gt, keep;  // directories for a gt folder of Pulsar, and for the tensors
  int threads = 1;              // of the engines
  WorkerLimits limits;          // of each engine
  int batch_outputs = 0;        // tensors an engine holds at a time; 0: as many as memory allows
};

struct Ran {
  result::Run run;
  std::optional<Error> problem;  // what ended it; the run has what was compared until then
};

struct RunState;

class ModelRun {
 public:
  // Opens models, inputs and labels; nothing is run yet.
  static Result<ModelRun> open(RunOptions options);
  ModelRun(ModelRun&&) noexcept;
  ~ModelRun();

  // What the models will be fed; null if both sides are results.
  const input::Samples* samples() const;
  // The same, for the other model, if that takes other types or shapes or has its own
  // pre-processing.
  const input::Samples* other_samples() const;
  // Once. Progress counts samples.
  Ran run(RunContext& context);

 private:
  explicit ModelRun(std::unique_ptr<RunState> state);
  std::unique_ptr<RunState> state_;
};

}  // namespace plumb::replay
