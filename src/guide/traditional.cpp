// SPDX-License-Identifier: Apache-2.0
//
// Traditional models that were moved from one platform to another: very different, slightly
// different, right but the application is not, wrong after an upgrade.
#include <cmath>

#include <fmt/format.h>

#include "guide/compare_sides.h"
#include "guide/trees.h"

namespace plumb::guide {
namespace {

constexpr double kVeryDifferent = 0.9;       // cosine of an output
constexpr double kPre = 1e-4, kPost = 1e-3;  // element by element

Result<Outcome> compare_models(Walk& walk, RunContext& context) {
  auto compared =
      compare_sides(walk, {"target", "golden", "graph", "golden_graph", "quant_json"}, context);
  if (!compared) return compared.error();
  return agreement_of(*compared, walk);
}

Result<Outcome> judge_size(Walk& walk, RunContext&) {
  const double cosine = output_cosine(walk.latest()->run);
  if (std::isnan(cosine)) return Outcome{"very", "values are not finite, or no cosine is defined"};
  return Outcome{cosine < kVeryDifferent ? "very" : "slightly",
                 fmt::format("the worst output has a cosine of {:.4g}; below {} is very different",
                             cosine, kVeryDifferent)};
}

// The same model, converted without fusion: if that is right, fusion was wrong.
Result<Outcome> confirm_fusion(Walk& walk, RunContext& context) {
  const result::Finding accused = walk.findings.front().finding;
  const auto before = output_cosine(walk.latest()->run);
  auto compared = compare_sides(walk, {"fusion_off", "golden", "fusion_off_graph", ""}, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word == "agree") {
    result::Finding finding = accused;
    finding.rule = "fusion-off";
    finding.cause = "fusion";
    finding.confidence = 0.97;
    finding.evidence = {
        number(fmt::format("with fusion off the worst output has a cosine of {:.6g}",
                           output_cosine((*compared)->run)),
               output_cosine((*compared)->run)),
        number(fmt::format("with fusion on it has {:.6g}", before), before)};
    finding.advice = fmt::format(
        "The fusion of {} is wrong: leave it out by --fusion_switch_file, and report it.",
        accused.operator_name);
    std::erase_if(walk.findings, [&](const GuideFinding& each) {  // it says the same, less surely
      return each.finding.operator_name == accused.operator_name && each.finding.cause == "fusion";
    });
    walk.find(std::move(finding));
    outcome.text = "fusion off agrees, fusion on does not: " + outcome.text;
  } else if (outcome.word == "differ") {
    outcome.text = "without fusion it is wrong, too: " + outcome.text;
  }
  return outcome;
}

Result<Outcome> compare_around(Walk& walk, RunContext& context, std::string_view target,
                               std::string_view golden, double tolerance, const char* cause,
                               const char* advice) {
  SidesRequest request{target, golden};
  request.atol = tolerance;
  auto compared = compare_sides(walk, request, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word != "differ") return outcome;
  const result::Run& run = (*compared)->run;
  double largest = 0;
  for (const result::Row& row : run.rows)
    if (const metrics::Value error = run.value(row, "max_abs"); error.is_defined())
      largest = std::max(largest, error.number());
  result::Finding finding;
  finding.rule = finding.cause = cause;
  finding.confidence = 0.9;
  finding.evidence = {
      number(fmt::format("{} and {} differ by up to {:.4g}", target, golden, largest), largest),
      number(fmt::format("{:g} is what rounding explains", tolerance), tolerance)};
  for (const result::Finding& how : run.findings)
    if (!how.detail.empty()) finding.detail = how.detail;
  finding.advice = advice;
  walk.find(std::move(finding));
  return outcome;
}

Result<Outcome> compare_pre(Walk& walk, RunContext& context) {
  return compare_around(walk, context, "target_pre", "golden_pre", kPre, "preprocessing",
                        "The application feeds the model something else than the reference does: "
                        "align size, colours, mean and deviation, and layout.");
}

Result<Outcome> compare_post(Walk& walk, RunContext& context) {
  auto outcome = compare_around(
      walk, context, "target_post", "golden_post", kPost, "postprocessing",
      "The application makes something else of the outputs than the reference does: check shape, "
      "layout, type, scale and the order of the outputs.");
  if (!outcome || outcome->word == "differ") return outcome;
  // The model's outputs agree and the task is wrong: it can only be around the model.
  const Compared* models = nullptr;
  for (const Compared& each : walk.compared)
    if (models == nullptr || each.run.summary().outputs.rows > 0) models = &each;
  result::Finding finding;
  finding.rule = finding.cause = outcome->word == "agree" ? "unknown" : "preprocessing";
  finding.confidence = outcome->word == "agree" ? 0.3 : 0.5;
  if (models != nullptr) {
    const result::Summary summary = models->run.summary();
    finding.evidence = {
        number(fmt::format("the worst output has a cosine of {:.6g}", output_cosine(models->run)),
               output_cosine(models->run)),
        number(fmt::format("{} tensors agree", summary.pass), static_cast<double>(summary.pass))};
  }
  finding.advice =
      outcome->word == "agree"
          ? "Model, pre- and post-processing agree for this input: compare one for which the "
            "application is wrong."
          : "The model agrees and the application does not: what is done before or after the model "
            "differs. Save the tensors that go in and what is made of the outputs, on both sides.";
  walk.find(std::move(finding));
  return outcome;
}

}  // namespace

std::vector<Step> traditional_steps() {
  return {
      {"traditional.compare",
       "Do the two models compute the same?",
       "the outputs decide: what is inside matters only if they differ",
       {{"target"},
        {"golden"},
        {"graph", true},
        {"golden_graph", true},
        {"quant_json", true},
        {"input", true},
        {"config", true},
        {"model", true}},
       compare_models,
       {{"agree", "traditional.task"}, {"differ", "traditional.inputs"}}},
      {"traditional.inputs",
       "Were both fed the same?",
       "nothing behind an input that differs tells anything about an operator",
       {},
       look_at_inputs,
       {{"same", "traditional.upgraded"}}},
      {"traditional.upgraded",
       "Was it right before an upgrade?",
       "a model that was right and is wrong after an upgrade is often right itself",
       {{"upgraded"}},
       by_answer,
       {{"yes", "traditional.environment"},
        {"no", "traditional.size"},
        {"unknown", "traditional.size"}}},
      {"traditional.environment",
       "Do hardware and software fit each other?",
       "driver, firmware and toolkit have to name each other as compatible",
       {{"target_env"}, {"golden_env"}},
       look_at_environments,
       {{"no", "traditional.size"}, {"unknown", "traditional.size"}}},
      {"traditional.size",
       "Very different, or slightly?",
       "overflow and wrong fusion make large differences, accumulated errors make small ones",
       {},
       judge_size,
       {{"very", "traditional.large"}, {"slightly", "traditional.small"}}},
      {"traditional.large",
       "Which operator breaks the outputs?",
       "a large difference has an origin: overflow, a fused operator, another implementation",
       {},
       find_culprit,
       {{"fusion", "traditional.fusion"}}},
      {"traditional.small",
       "One operator, or all a little?",
       "a small difference is mostly accumulated, or made by one operator of low precision",
       {},
       find_culprit,
       {{"fusion", "traditional.fusion"}}},
      {"traditional.fusion",
       "Is it right without fusion?",
       "the same model converted with fusion off tells a wrong fusion from a wrong operator",
       {{"fusion_off"}, {"fusion_off_graph", true}},
       confirm_fusion,
       {}},
      {"traditional.task",
       "Is the application right, too?",
       "a model that agrees can still be fed or read in a wrong way",
       {{"task_ok"}},
       by_answer,
       {{"no", "traditional.pre"}}},
      {"traditional.pre",
       "Is pre-processing the same on both sides?",
       "what goes into the model has to agree within 1e-4",
       {{"target_pre"}, {"golden_pre"}},
       compare_pre,
       {{"agree", "traditional.post"}, {"unknown", "traditional.post"}}},
      {"traditional.post",
       "Is post-processing the same on both sides?",
       "what is made of the outputs has to agree within 1e-3",
       {{"target_post"}, {"golden_post"}},
       compare_post,
       {}},
  };
}

}  // namespace plumb::guide
