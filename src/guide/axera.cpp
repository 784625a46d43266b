// SPDX-License-Identifier: Apache-2.0
//
// Models that Pulsar built for Axera's chips, in its five steps: on which platform, at which stage,
// why the simulator is off, why the board is off, and what to send to support.
#include <cmath>

#include <fmt/format.h>

#include "base/run_command.h"
#include "guide/circumstances.h"
#include "guide/compare_sides.h"
#include "guide/laboratory.h"
#include "guide/trees.h"
#include "input/lint.h"
#include "report/text.h"

namespace plumb::guide {
namespace {

constexpr double kLow = 0.98;        // cos-sim below it is a loss
constexpr int64_t kFewSamples = 10;  // of a calibration

Outcome by_cosine(double cosine, std::string_view what) {
  if (std::isnan(cosine)) return {"low", fmt::format("{}: no cos-sim is defined", what)};
  return {cosine < kLow ? "low" : "good", fmt::format("{}: cos-sim {:.4f}, {} {}", what, cosine,
                                                      cosine < kLow ? "below" : "not below", kLow)};
}

result::Finding made(const char* rule, const char* cause, const char* detail, double confidence) {
  result::Finding finding;
  finding.rule = rule;
  finding.cause = cause;
  finding.detail = detail;
  finding.confidence = confidence;
  return finding;
}

result::Evidence limit() {
  return number(fmt::format("{} is the limit of Pulsar's guide", kLow), kLow);
}

Result<Outcome> judge_platforms(Walk& walk, RunContext& context) {
  auto outcome = by_answer(walk, context);
  if (!outcome || outcome->word != "all") return outcome;
  result::Finding finding = made("every-platform", "quantization", "", 0.6);
  finding.evidence = {
      {"the accuracy gets lost on other platforms, too", std::nullopt, "", std::nullopt}};
  finding.advice =
      "This is no problem of one platform: train a better model and quantize it again, and "
      "compare like with like (INT8, INT16 or mixed on the other platforms?).";
  walk.find(std::move(finding));
  return outcome;
}

Result<Outcome> simulate(Walk& walk, RunContext& context) {
  SidesRequest request{"simulated", "reference"};
  request.profile = "axera";
  request.are_results = true;
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  if (*compared == nullptr) return agreement_of(nullptr, walk);
  return by_cosine(output_cosine((*compared)->run), "simulator against the original");
}

Result<Outcome> judge_cos_sim(Walk& walk, RunContext&) {
  const std::string known = walk.answers.known("cos_sim");
  if (known.empty()) return Outcome{"unknown", "cos_sim is not known"};
  return by_cosine(*share_from(known, "cos_sim", nullptr), "as `pulsar run` prints it");
}

// Of the simulator, as it was compared or told.
std::optional<double> simulated_cosine(const Walk& walk) {
  for (const Compared& compared : walk.compared)
    if (compared.step == "axera.simulation") return output_cosine(compared.run);
  const std::string known = walk.answers.known("cos_sim");
  if (known.empty()) return std::nullopt;
  return *share_from(known, "cos_sim", nullptr);
}

void add_cosine(const Walk& walk, result::Finding& finding) {
  if (const auto cosine = simulated_cosine(walk)) {
    finding.evidence.push_back(
        number(fmt::format("cos-sim of the simulator {:.4f}", *cosine), *cosine));
    finding.evidence.push_back(limit());
  }
}

Result<Outcome> check_provenance(Walk& walk, RunContext& context) {
  auto outcome = by_answer(walk, context);
  if (!outcome || outcome->word != "no") return outcome;
  result::Finding finding = made("config-by-hand", "preprocessing", "config", 0.7);
  finding.evidence = {
      {"the configuration was not written by `pulsar build`", std::nullopt, "", std::nullopt}};
  add_cosine(walk, finding);
  finding.advice =
      "Build with --output_config output_config.prototxt and give that file to `pulsar run`: one "
      "written by hand misses what the build filled in.";
  walk.find(std::move(finding));
  return outcome;
}

Result<Outcome> lint_config(Walk& walk, RunContext&) {
  const std::string path = walk.answers.known("config");
  if (path.empty()) return Outcome{"unknown", "config is not at hand"};
  input::LintRequest request;
  request.config = path;
  request.model = walk.answers.known("model");
  auto linted = input::lint(request);
  if (!linted) return linted.error();
  const size_t errors = linted->report.count(input::Severity::kError),
               warnings = linted->report.count(input::Severity::kWarning);
  std::string text = fmt::format("{} and {} in the configuration", report::counted(errors, "error"),
                                 report::counted(warnings, "warning"));
  if (errors == 0) return Outcome{"fine", std::move(text)};
  result::Finding finding = made("config-lint", "preprocessing", "config", 0.85);
  finding.evidence = {number(text, static_cast<double>(errors))};
  for (const input::LintFinding& each : linted->report.findings)
    if (each.severity == input::Severity::kError) {
      finding.evidence.push_back(
          {fmt::format("{} line {}: {} ({})", each.rule, each.line, each.what, each.evidence),
           std::nullopt, "", std::nullopt});
      if (finding.advice.empty()) finding.advice = each.fix;
    }
  add_cosine(walk, finding);
  finding.next = "plumb lint " + shell_quoted(path);
  walk.find(std::move(finding));
  return Outcome{"wrong", std::move(text)};
}

// Quantized and not compiled: parts the two stages.
Result<Outcome> split_stages(Walk& walk, RunContext& context) {
  SidesRequest request{"quantized_only", "reference"};
  request.profile = "axera";
  request.are_results = true;
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  if (*compared == nullptr) return agreement_of(nullptr, walk);
  const double cosine = output_cosine((*compared)->run);
  Outcome outcome = by_cosine(cosine, "quantized, not compiled");
  const bool is_quantization = outcome.word == "low";
  result::Finding finding = made(is_quantization ? "quantization-stage" : "conversion-stage",
                                 is_quantization ? "quantization" : "operator",
                                 is_quantization ? "stage:quantization" : "stage:conversion", 0.85);
  finding.evidence = {
      number(fmt::format("quantized and not compiled: cos-sim {:.4f}", cosine), cosine)};
  add_cosine(walk, finding);
  finding.advice =
      is_quantization
          ? "Quantization loses the accuracy. In this order: more or other calibration data, "
            "PER_TENSOR with MIN_MAX or MSE_CLIPPING, 16 bits for the worst layers, training with "
            "quantization. SiLU in a detector may be the reason: try ReLU."
          : "Quantized it is right, compiled it is not: compare both layer by layer, and send the "
            "smallest case to support.";
  walk.find(std::move(finding));
  return outcome;
}

Result<Outcome> check_calibration_data(Walk& walk, RunContext&) {
  const std::string size = walk.answers.known("calibration_size"),
                    represents = walk.answers.known("calibration_represents");
  if (size.empty() && represents.empty())
    return Outcome{"unknown", lacking(walk, {"calibration_size", "calibration_represents"})};
  const auto samples = size.empty() ? kFewSamples : *count_from(size, "calibration_size", 0);
  const bool is_small = samples < kFewSamples;
  if (!is_small && represents != "no")
    return Outcome{"fit", size.empty() ? "the data look like the application's"
                                       : fmt::format("{} samples", samples)};
  result::Finding finding = made("calibration-set", "calibration_set", "", is_small ? 0.65 : 0.8);
  if (!size.empty()) finding.detail = "size:" + size;
  finding.evidence = {
      is_small
          ? number(fmt::format("calibrated with {} samples, fewer than {}", samples, kFewSamples),
                   static_cast<double>(samples))
          : result::Evidence{"the calibration samples do not look like those of the training",
                             std::nullopt, "", std::nullopt}};
  finding.evidence.insert(finding.evidence.end(), walk.seen_of_calibration.begin(),
                          walk.seen_of_calibration.end());
  add_cosine(walk, finding);
  finding.advice =
      "Calibrate with more data that look like those of the training and of the application, and "
      "score one calibration sample by `plumb run`: it tells whether the choice is reasonable.";
  walk.find(std::move(finding));
  return Outcome{"unfit", walk.findings.back().finding.evidence.front().text};
}

Result<Outcome> compare_layers(Walk& walk, RunContext& context) {
  SidesRequest request{"layers_target", "layers_golden"};
  request.profile = "axera";
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  if (*compared == nullptr) return agreement_of(nullptr, walk);
  const Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word != "differ") return outcome;
  return find_culprit(walk, context);
}

// The same input on the board and in the simulator: bit for bit.
Result<Outcome> compare_board(Walk& walk, RunContext& context) {
  SidesRequest request{"board", "simulated"};
  request.profile = "exact";
  request.are_results = true;
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word != "agree") return outcome;
  result::Finding finding = made("board-equals-simulator", "postprocessing", "", 0.85);
  finding.evidence = {
      number(fmt::format("board and simulator give the same bytes: {}", outcome.text),
             static_cast<double>((*compared)->run.summary().pass))};
  add_cosine(walk, finding);
  finding.advice =
      "The board computes what the simulator does: the post-processing is suspect. Check shape, "
      "layout (NHWC or NCHW), type, scale and order of the outputs against what run_joint prints.";
  walk.find(std::move(finding));
  return outcome;
}

Result<Outcome> judge_bad_case(Walk& walk, RunContext&) {
  const auto cosine = simulated_cosine(walk);
  if (cosine && *cosine < kLow) return by_cosine(*cosine, "the simulator is off for it, too");
  result::Finding finding = made("board-differs", "environment", "board", 0.8);
  if (const Compared* compared = walk.latest()) {
    const result::Summary summary = compared->run.summary();
    finding.evidence.push_back(
        number(fmt::format("{} of {} outputs of the board are not the simulator's, bit for bit",
                           summary.fail, summary.rows - summary.not_compared),
               static_cast<double>(summary.fail)));
  }
  add_cosine(walk, finding);
  finding.advice =
      "The simulator is right and the board is not, for the same input: run_joint, its library or "
      "the NPU driver. Send the input, both outputs and the versions to support: --bundle packs "
      "them.";
  walk.find(std::move(finding));
  return Outcome{"board", "the simulator is fine, the board gives something else"};
}

}  // namespace

std::vector<Step> axera_steps() {
  return {
      {"axera.platforms",
       "Step 1: on which platform does the accuracy get lost?",
       "what other platforms lose, too, is no problem of this one",
       {{"platforms"}},
       judge_platforms,
       {{"ax_only", "axera.simulation"}, {"unknown", "axera.simulation"}}},
      {"axera.simulation",
       "Step 2: is the simulator's cos-sim below 98 %?",
       "it parts the build from the board",
       {{"simulated"}, {"reference"}, {"input", true}, {"config", true}},
       simulate,
       {{"low", "axera.provenance"}, {"good", "axera.board_low"}, {"unknown", "axera.cos_sim"}}},
      {"axera.cos_sim",
       "Step 2: which cos-sim does `pulsar run` print?",
       "without the results its figure has to do",
       {{"cos_sim"}},
       judge_cos_sim,
       {{"low", "axera.provenance"}, {"good", "axera.board_low"}}},
      {"axera.provenance",
       "Step 3: was the configuration written by the build?",
       "`pulsar run` needs what `pulsar build` filled in",
       {{"config_generated"}},
       check_provenance,
       {{"yes", "axera.config"}, {"unknown", "axera.config"}}},
      {"axera.config",
       "Step 3: are colour space, mean and std right?",
       "mean and std have to stand in the order of the colours",
       {{"config"}, {"model", true}},
       lint_config,
       {{"fine", "axera.stage"}, {"unknown", "axera.stage"}}},
      {"axera.stage",
       "Step 3: does quantization lose it, or compilation?",
       "model.lava_joint is quantized and not yet compiled",
       {{"quantized_only"}, {"reference"}},
       split_stages,
       {{"low", "axera.calibration"}, {"good", "axera.layers"}, {"unknown", "axera.calibration"}}},
      {"axera.calibration",
       "Step 3: is the calibration set fit?",
       "too few samples, or others than in training, cost accuracy",
       {{"model", true},
        {"eval_data", true},
        {"calibration_data", true},
        {"calibration_size", false, measure_calibration},
        {"calibration_represents", false, measure_calibration}},
       check_calibration_data,
       {{"fit", "axera.layers"}, {"unknown", "axera.layers"}}},
      {"axera.layers",
       "Step 3: in which layer?",
       "the first layer that is off by itself is the one to give 16 bits",
       {{"layers_target"}, {"layers_golden"}},
       compare_layers,
       {}},
      {"axera.board_low",
       "Step 2: is the accuracy low on the board?",
       "the simulator is fine, so the build is",
       {{"board_low"}},
       by_answer,
       {{"yes", "axera.board"}, {"unknown", "axera.board"}}},
      {"axera.board",
       "Step 4: does the board give what the simulator gives?",
       "equal bytes for equal input clear the board: then post-processing is suspect",
       {{"board"}, {"simulated"}},
       compare_board,
       {{"differ", "axera.bad_case"}}},
      {"axera.bad_case",
       "Step 4: is the simulator right for this input?",
       "if it is, the board or its driver is to blame, and support has to look at it (step 5)",
       {},
       judge_bad_case,
       {{"low", "axera.provenance"}}},
  };
}

}  // namespace plumb::guide
