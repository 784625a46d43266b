// SPDX-License-Identifier: Apache-2.0
//
// Two runs on devices: before and after a change of version, on another processor, with fusion on
// and off.
#include <algorithm>

#include <fmt/format.h>

#include "guide/compare_sides.h"
#include "guide/trees.h"

namespace plumb::guide {
namespace {

Result<Outcome> check_kinds(Walk& walk, RunContext& context) {
  auto outcome = by_answer(walk, context);
  if (!outcome || outcome->word != "one") return outcome;
  result::Finding finding;
  finding.rule = finding.cause = "unknown";
  finding.confidence = 0.3;
  finding.evidence = {
      {"one of the two models is quantized, the other is not", std::nullopt, "", std::nullopt}};
  finding.advice =
      "Compare two quantized models, or two that are not. A quantized model against its original "
      "is the path `quantized`.";
  walk.find(std::move(finding));
  return outcome;
}

// Operators that came or went show that the graph is optimised in another way.
std::string came_and_went(const result::Run& run) {
  int64_t came = 0, went = 0;
  for (const result::Row& row : run.rows)
    for (const std::string& reason : row.reasons) {
      came += reason == "no_golden";
      went += reason == "no_target";
    }
  if (came + went == 0) return "";
  return fmt::format("; {} tensors are new, {} are gone", came, went);
}

Result<Outcome> compare_runs(Walk& walk, RunContext& context) {
  SidesRequest request{"target", "golden", "graph", "golden_graph"};
  if (walk.answers.known("change") == "processor") {
    request.graph = request.golden_graph = "";  // fusion is off: names tell
    request.mode = "processor-switch";
  }
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (*compared != nullptr) outcome.text += came_and_went((*compared)->run);
  return outcome;
}

Result<Outcome> look_at_inputs_then(Walk& walk, RunContext& context) {
  auto outcome = look_at_inputs(walk, context);
  if (outcome && outcome->word == "same" && walk.answers.known("change") == "fusion")
    outcome->word = "fusion";
  return outcome;
}

}  // namespace

std::vector<Step> npu_steps() {
  return {
      {"npu.change",
       "What changed between the two runs?",
       "version: as it is; processor: fusion off on both sides, no graphs; fusion: both graphs",
       {{"change"}},
       by_answer,
       {{"version", "npu.kinds"}, {"processor", "npu.kinds"}, {"fusion", "npu.kinds"}}},
      {"npu.kinds",
       "Are both models quantized, or neither?",
       "a quantized model differs from one that is not by design",
       {{"quantized"}},
       check_kinds,
       {{"none", "npu.compare"}, {"both", "npu.compare"}, {"unknown", "npu.compare"}}},
      {"npu.compare",
       "Do the two runs give the same?",
       "the run before the change is golden, the one after it is the target",
       {{"target"}, {"golden"}, {"graph", true}, {"golden_graph", true}},
       compare_runs,
       {{"differ", "npu.inputs"}}},
      {"npu.inputs",
       "Were both fed the same?",
       "nothing behind an input that differs tells anything about an operator",
       {},
       look_at_inputs_then,
       {{"same", "npu.environment"}, {"fusion", "npu.groups"}}},
      {"npu.environment",
       "Do hardware and software fit each other?",
       "what changed around the model explains what nothing in the data explains",
       {{"target_env"}, {"golden_env"}},
       look_at_environments,
       {{"no", "npu.node"}, {"unknown", "npu.node"}}},
      {"npu.node",
       "One operator, or all a little?",
       "an operator that a new version computes in another way shows by its own step",
       {},
       find_culprit,
       {}},
      {"npu.groups",
       "Which fused operators are wrong?",
       "what a fused operator reads is right and what it gives is not: its fusion is wrong",
       {},
       find_culprit,
       {}},
  };
}

}  // namespace plumb::guide
