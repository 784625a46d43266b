// SPDX-License-Identifier: Apache-2.0
//
// How often models name the right class, side by side on the same samples, and whether one lost
// accuracy against golden. A directory of results can stand for a model. What was evaluated is kept
// in a journal, so that an evaluation that was ended goes on where it stopped.
#pragma once

#include <memory>

#include "replay/paired_loss.h"
#include "replay/run.h"

namespace plumb::replay {

struct EvalOptions {
  std::vector<RunSideOptions> models;  // `config` is not looked at
  size_t golden = 0;                   // its place among them
  input::SampleOptions inputs;
  std::string labels;   // a file, or "folder" or "name": see input/labels.h; empty: none
  std::string classes;  // a file with the names of the classes, if labels are words
  std::string scores;   // the output that tells the class; empty: the first that looks like it
  std::string output;   // directory of the journal and the results; empty: nothing is kept
  bool fresh = false;   // what is there is not gone on with
  std::vector<int64_t> tops{1, 5};
  LossLimits limits;
  int64_t most_samples = 0;  // only the first ones; 0: all
  int threads = 1;           // of the engines
  WorkerLimits engine_limits;
};

// The right class is among the first n, of what is labelled.
struct EvalTop {
  int64_t n = 1;
  int64_t right = 0;
  // Against golden.
  Flips flips;
  PairedLoss loss;
  LossVerdict verdict = LossVerdict::kPass;
};

// A sample that golden got right and the model did not; without labels, one on which they differ.
struct BadCase {
  size_t sample = 0;
  int64_t first = 0, golden_first = 0;  // classes; -1: there are NaN among the scores
  int64_t rank = 0;                     // of the right class; -1: not known
};

struct ClassLoss {
  int64_t label = 0;
  Flips flips;  // top-1
};

struct EvalModel {
  std::string path, engine, output;  // which output tells the class
  bool is_golden = false;
  int64_t samples = 0, labelled = 0;
  int64_t agree = 0;  // samples with the same first class as golden
  int64_t ties = 0;   // samples on which the largest score is that of several classes
  int64_t nan = 0;    // samples with NaN among the scores: counted as wrong
  std::vector<EvalTop> tops;
  // Of the scores against golden's: means over the samples that have them.
  std::optional<double> pearson, sqnr_db;
  LossVerdict verdict = LossVerdict::kPass;
  std::string reason;              // one sentence
  std::optional<int64_t> needed;   // samples that could tell, if these cannot
  std::vector<BadCase> bad_cases;  // worst first
  std::vector<ClassLoss> worst_classes;
};

struct EvalFailure {
  size_t sample = 0;
  Error error;
};

struct EvalResult {
  std::vector<std::string> names;  // of all samples
  std::vector<std::string> files;
  int64_t classes = 0;
  int64_t evaluated = 0, resumed = 0;  // samples; of those, known from the journal
  LossLimits limits;
  std::vector<EvalModel> models;  // as given
  std::vector<EvalFailure> failures;
  std::vector<std::string> warnings;
  LossVerdict verdict = LossVerdict::kPass;
};
// Everything but what differs from run to run.
std::string to_json(const EvalResult& result, const EvalOptions& options);

struct Evaluated {
  EvalResult result;
  std::optional<Error> problem;  // what ended it; the result has what was evaluated until then
};

struct EvalState;

class Evaluation {
 public:
  // Opens models, samples, labels and the journal; nothing is run yet.
  static Result<Evaluation> open(EvalOptions options);
  Evaluation(Evaluation&&) noexcept;
  ~Evaluation();

  const input::Samples* samples() const;  // null if all are results
  int64_t remaining() const;              // samples that are still to be evaluated
  const std::vector<std::string>& warnings() const;
  // Once. Progress counts samples. Writes eval.json and samples.csv into the directory.
  Evaluated run(RunContext& context);

 private:
  explicit Evaluation(std::unique_ptr<EvalState> state);
  std::unique_ptr<EvalState> state_;
};

}  // namespace plumb::replay
