// SPDX-License-Identifier: Apache-2.0
//
// The comparisons that steps make, through the same session and runs as `plumb compare` and `plumb
// run`, and how their results are read.
#pragma once

#include "guide/walk.h"

namespace plumb::guide {

// Keys of answers; empty: none.
struct SidesRequest {
  std::string_view target, golden;
  std::string_view graph = {}, golden_graph = {}, quant = {};
  std::string profile = {}, mode = {};
  std::optional<double> atol = {};
  bool are_results = false;  // directories are results of a board or simulator, not dumps
};

// Compares, explains, and keeps it in the walk. Null if the answers lack a side.
Result<Compared*> compare_sides(Walk& walk, const SidesRequest& request, RunContext& context);

// "agree" or "differ", as the model's outputs say where they are known; "unknown" where they were
// not compared, and for null.
Outcome agreement_of(const Compared* compared, const Walk& walk);

// The lowest cosine of an output of the model; of any tensor where outputs are not known. NaN if
// there is none, or values are not finite.
double output_cosine(const result::Run& run);

// The answer to a step's only question.
Result<Outcome> by_answer(Walk& walk, RunContext& context);

// Who introduced the error of the latest comparison: "fusion", "node", "accumulated" or "unknown".
// Takes its findings over.
Result<Outcome> find_culprit(Walk& walk, RunContext& context);
// Whether the models were fed the same: "differ", which is a finding, or "same".
Result<Outcome> look_at_inputs(Walk& walk, RunContext& context);
// Whether what changed around the models explains it: "explains" or "no".
Result<Outcome> look_at_environments(Walk& walk, RunContext& context);

// The keys of a step that nobody answered, in words: "target is not at hand".
std::string lacking(const Walk& walk, std::initializer_list<std::string_view> keys);

result::Evidence number(std::string text, double value);
std::string percent(double share);  // "97.3 %"

}  // namespace plumb::guide
