// SPDX-License-Identifier: Apache-2.0
//
// What models said of one sample, as it stands in the journal of an evaluation, and what follows
// from all of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/eval.h"

namespace plumb::replay {

struct ModelOutcome {
  int64_t first = -1;  // class; -1: there are NaN among the scores
  int64_t rank = -1;   // of the right class; -1: that is not known
  bool is_tied = false;
  std::optional<double> pearson, sqnr_db;  // against golden's scores
};

struct Outcome {
  size_t sample = 0;
  std::vector<ModelOutcome> models;
};

// What the first sample told.
struct EvalFacts {
  int64_t classes = 0;
  std::vector<std::string> outputs;  // by model
};

std::string line_of(const EvalFacts& facts);
std::optional<EvalFacts> facts_from(std::string_view line, size_t models);
std::string line_of(const Outcome& outcome);
// nullopt if the line is none of so many samples and models.
std::optional<Outcome> outcome_from(std::string_view line, size_t samples, size_t models);

// Fills in what follows from the outcomes, by sample; `labels` are those of all samples.
void summarize(const std::vector<Outcome>& outcomes,
               const std::vector<std::optional<int64_t>>& labels, const EvalOptions& options,
               EvalResult& result);

// A line for each sample: its label and what each model said.
std::string samples_csv(const std::vector<Outcome>& outcomes,
                        const std::vector<std::optional<int64_t>>& labels,
                        const EvalResult& result);

}  // namespace plumb::replay
