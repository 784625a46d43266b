// SPDX-License-Identifier: Apache-2.0
//
// Quantized Caffe models in three stages: quantization (original against quantized original),
// conversion (that against the converted model with fusion off), fusion (off against on).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/run_rule.h"
#include "graph/importers.h"
#include "guide/circumstances.h"
#include "guide/compare_sides.h"
#include "guide/laboratory.h"
#include "guide/trees.h"
#include "pair/matcher.h"

namespace plumb::guide {
namespace {

// The rules about stages, asked about a run that has no tensors: numbers are enough for them.
std::optional<result::Finding> stage_finding(const Walk& walk, std::string_view rule) {
  CircumstanceOptions options;
  options.topn_float = walk.answers.known("topn_float");
  options.topn_quant = walk.answers.known("topn_quant");
  options.topn_offline = walk.answers.known("topn_offline");
  options.topn_samples = walk.answers.known("topn_samples");
  options.calibration_size = walk.answers.known("calibration_size");
  auto known = circumstances_from(options);
  if (!known) return std::nullopt;
  result::Run run;
  run.circumstances = std::move(*known);
  diagnose::explain_as_a_whole(run);
  for (result::Finding& finding : run.findings)
    if (finding.rule == rule) {
      finding.next.clear();  // this is the guide
      return std::move(finding);
    }
  return std::nullopt;
}

// "acceptable" or "lossy" by two figures of top-N.
Result<Outcome> judge_drop(Walk& walk, std::string_view from, std::string_view to,
                           std::string_view rule) {
  const std::string before = walk.answers.known(from), after = walk.answers.known(to);
  if (before.empty() || after.empty()) return Outcome{"unknown", lacking(walk, {from, to})};
  CircumstanceOptions both;  // percent beside a share is refused there
  both.topn_float = before;
  both.topn_quant = after;
  auto known = circumstances_from(both);
  if (!known)
    return Error{known.error().what,
                 fmt::format("{} = \"{}\", {} = \"{}\"", from, before, to, after),
                 known.error().remedy};
  const double drop = diagnose::drop_in_points(known->topn_float, known->topn_quant);
  std::string text = fmt::format("top-N {} and {}: {:.3g} points", percent(*known->topn_float),
                                 percent(*known->topn_quant), drop);
  auto finding = stage_finding(walk, rule);
  if (!finding) return Outcome{"acceptable", text + ", up to 1 is acceptable"};
  walk.find(std::move(*finding));
  return Outcome{"lossy", text + (drop >= 3 ? ", 3 or more cannot be ignored"
                                            : ", more than the 1 that is acceptable")};
}

Result<Outcome> judge_quantization(Walk& walk, RunContext&) {
  return judge_drop(walk, "topn_float", "topn_quant", "quantization-stage");
}

Result<Outcome> measure_quantization(Walk& walk, RunContext& context) {
  if (auto done = measure_topn(walk, context); !done) return done.error();
  auto outcome = judge_quantization(walk, context);
  if (outcome && outcome->word == "unknown")
    outcome->text = lacking(walk, {"model", "quant_model", "eval_data", "labels"});
  return outcome;
}

Result<Outcome> judge_conversion(Walk& walk, RunContext&) {
  return judge_drop(walk, "topn_quant", "topn_offline", "conversion-stage");
}

result::Finding stage_by_cosine(const result::Run& run, const char* rule, const char* cause,
                                const char* detail, const char* advice) {
  result::Finding finding;
  finding.rule = rule;
  finding.cause = cause;
  finding.detail = detail;
  finding.confidence = 0.5;  // top-N would tell what it costs
  const result::Summary summary = run.summary();
  const double cosine = output_cosine(run);
  finding.evidence = {
      number(fmt::format("the worst output has a cosine of {:.6g}", cosine), cosine),
      number(fmt::format("{} of {} compared tensors differ", summary.fail,
                         summary.rows - summary.not_compared),
             static_cast<double>(summary.fail))};
  finding.advice = advice;
  return finding;
}

Result<Outcome> compare_quantization(Walk& walk, RunContext& context) {
  auto compared =
      compare_sides(walk, {"quant_original", "float_original", "", "", "quant_json"}, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word == "differ") {
    walk.find(stage_by_cosine(
        (*compared)->run, "quantization-stage", "quantization", "stage:quantization",
        "Quantization itself changes the outputs: measure top-N of both models, check the "
        "calibration set, and leave the first and the last layers unquantized."));
    walk.adopt((*compared)->run);
  }
  return outcome;
}

Result<Outcome> check_calibration_set(Walk& walk, RunContext&) {
  const std::string size = walk.answers.known("calibration_size"),
                    represents = walk.answers.known("calibration_represents");
  auto finding = stage_finding(walk, "calibration-set");
  // Without top-N it is the tensors that say that something is lost.
  if (!finding && !size.empty() && !walk.findings.empty()) {
    const auto samples = *count_from(size, "calibration_size", 0);
    if (samples < 10 || samples > 100) {
      finding.emplace();
      finding->rule = "calibration-set";
      finding->cause = "calibration_set";
      finding->detail = fmt::format("size:{}", samples);
      finding->confidence = samples < 10 ? 0.6 : 0.4;
      finding->evidence = {
          number(fmt::format("calibrated with {} samples, 10 to 100 are usual", samples),
                 static_cast<double>(samples))};
      const auto& before = walk.findings.front().finding.evidence;
      finding->evidence.insert(finding->evidence.end(), before.begin(), before.end());
      finding->advice =
          "Calibrate with 10 to 100 samples that look like those of the application, then "
          "quantize again.";
    }
  }
  if (represents == "no") {
    result::Finding other;
    if (finding) other = *finding;
    other.rule = "calibration-set";
    other.cause = "calibration_set";
    other.confidence = 0.85;
    other.evidence.push_back(
        {"the calibration samples do not look like the data of the application", std::nullopt, "",
         std::nullopt});
    other.evidence.insert(other.evidence.end(), walk.seen_of_calibration.begin(),
                          walk.seen_of_calibration.end());
    for (const GuideFinding& each : walk.findings)
      if (other.evidence.size() < 3 && !each.finding.evidence.empty())
        other.evidence.push_back(each.finding.evidence.front());
    other.advice =
        "Calibrate with data of the application itself: 10 to 100 samples, all classes and scenes "
        "among them.";
    finding = std::move(other);
  }
  if (finding) {
    walk.find(*finding);
    return Outcome{"unfit", finding->evidence.front().text};
  }
  if (size.empty() && represents.empty())
    return Outcome{"unknown", lacking(walk, {"calibration_size", "calibration_represents"})};
  return Outcome{"fit",
                 fmt::format("{} samples{}", size.empty() ? "some" : size,
                             represents == "yes" ? " that look like the application's" : "")};
}

bool is_fused(const std::string& path) {
  if (path.empty()) return false;
  const auto graph = graph::load_graph(path);
  return graph && pair::count_fused(*graph) > 0;
}

Result<Outcome> compare_conversion(Walk& walk, RunContext& context) {
  const bool has_loss = std::any_of(walk.findings.begin(), walk.findings.end(), [](const auto& f) {
    return f.finding.detail == "stage:conversion";
  });
  if (is_fused(walk.answers.known("offline_graph"))) {
    result::Finding finding;
    finding.rule = finding.cause = "fusion";
    finding.confidence = 0.4;
    finding.evidence = {
        {"operators are fused in the converted model: inserted quant and dequant "
         "operators cannot be compared",
         std::nullopt, "", std::nullopt}};
    finding.advice =
        "Convert with fusion off (atc --fusion_switch_file=fusion_switch.cfg, everything \"off\" "
        "in "
        "it), dump again, and give that dump and its graph.";
    walk.find(std::move(finding));
    return Outcome{"fused", "the graph has fused operators: convert with fusion off first"};
  }
  auto compared =
      compare_sides(walk, {"offline_unfused", "quant_original", "offline_graph"}, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  // Fusion off is right, and what was measured is not: it was fused, or a cosine does not see it.
  if (outcome.word == "agree" && has_loss) outcome.text += ", though top-N falls";
  if (outcome.word == "differ" && !has_loss)
    walk.find(stage_by_cosine((*compared)->run, "conversion-stage", "operator", "stage:conversion",
                              "The converted model gives other outputs than the quantized "
                              "original: the next step tells whether one operator is to blame."));
  return outcome;
}

// What to do about it is said in the words of quantized models.
Result<Outcome> tell_node_from_accumulated(Walk& walk, RunContext& context) {
  const size_t before = walk.findings.size();
  auto outcome = find_culprit(walk, context);
  if (!outcome) return outcome;
  for (size_t i = 0; i < before; ++i) {
    result::Finding& stage = walk.findings[i].finding;
    if (stage.detail != "stage:conversion") continue;
    if (outcome->word == "accumulated")
      stage.advice =
          "The conversion loses the accuracy a little in many operators: look at the quantization "
          "first, adjust its configuration and repeat.";
    else if (outcome->word == "node" && walk.findings.size() > before)
      stage.advice = fmt::format("The conversion loses the accuracy, in {}.",
                                 walk.findings[before].finding.operator_name);
  }
  for (size_t i = before; i < walk.findings.size(); ++i) {
    result::Finding& finding = walk.findings[i].finding;
    if (!finding.operator_name.empty())
      finding.advice += fmt::format(
          " In a quantized model: leave {} unquantized, quantize again, and send the dumps and "
          "logs "
          "to support.",
          finding.operator_name);
    else if (finding.cause == "accumulated")
      finding.advice +=
          " In a quantized model: check whether quantization causes it, and repeat that with "
          "another configuration.";
  }
  return outcome;
}

Result<Outcome> compare_fusion(Walk& walk, RunContext& context) {
  auto compared = compare_sides(
      walk, {"offline_fused", "offline_unfused", "fused_graph", "offline_graph"}, context);
  if (!compared) return compared.error();
  Outcome outcome = agreement_of(*compared, walk);
  if (outcome.word != "differ") return outcome;
  const result::Run& run = (*compared)->run;
  result::Finding finding = stage_by_cosine(
      run, "fusion-on-vs-off", "fusion", "",
      "Quantization and conversion without fusion are right, fusion is not: leave the fusion out "
      "by --fusion_switch_file.");
  finding.confidence = 0.95;
  for (const result::Finding& each : run.findings)
    if (each.cause == "fusion" && finding.operator_name.empty()) {
      finding.operator_name = each.operator_name;
      finding.evidence.insert(finding.evidence.end(), each.evidence.begin(), each.evidence.end());
    }
  walk.find(std::move(finding));
  return outcome;
}

}  // namespace

std::vector<Step> quantized_steps() {
  return {
      {"quantized.topn",
       "Stage 1: does quantization cost more than 1 % of top-N?",
       "up to 1 % is the price of quantization; from 3 % on it cannot be ignored",
       {{"topn_float", false, measure_topn},
        {"topn_quant", false, measure_topn},
        {"topn_samples", true}},
       judge_quantization,
       {{"acceptable", "quantized.conversion"},
        {"lossy", "quantized.calibration"},
        {"unknown", "quantized.measure"}}},
      {"quantized.measure",
       "Stage 1: what does top-N fall by, measured here?",
       "models and labelled samples tell what nobody has measured yet",
       {{"model", true},
        {"quant_model", true},
        {"eval_data", true},
        {"labels", true},
        {"config", true}},
       measure_quantization,
       {{"acceptable", "quantized.conversion"},
        {"lossy", "quantized.calibration"},
        {"unknown", "quantized.compare"}}},
      {"quantized.compare",
       "Stage 1: does the quantized original compute the same?",
       "without top-N the outputs of both originals have to tell",
       {{"quant_original"}, {"float_original"}, {"quant_json", true}},
       compare_quantization,
       {{"agree", "quantized.conversion"},
        {"differ", "quantized.calibration"},
        {"unknown", "quantized.conversion"}}},
      {"quantized.calibration",
       "Stage 1: was it calibrated with enough of the right data?",
       "10 to 100 samples that represent the application are usual",
       {{"calibration_data", true},
        {"calibration_size", false, measure_calibration},
        {"calibration_represents", false, measure_calibration}},
       check_calibration_set,
       {{"fit", "quantized.layers"}, {"unfit", "quantized.layers"}}},
      {"quantized.layers",
       "Stage 1: which layers lose most?",
       "the worst layers get 16 bits, or stay unquantized",
       {{"model", true}, {"calibration_data", true}},
       rank_layers,
       {}},
      {"quantized.conversion",
       "Stage 2: does conversion cost more than 1 % of top-N?",
       "the quantized original is fine: what is lost is lost behind it",
       {{"offline_results", true}, {"topn_offline", false, measure_topn_offline}},
       judge_conversion,
       {{"acceptable", "traditional.task"},
        {"lossy", "quantized.unfused"},
        {"unknown", "quantized.unfused"}}},
      {"quantized.unfused",
       "Stage 2: does the model converted with fusion off compute the same?",
       "fused quant and dequant operators cannot be compared, so fusion is off here",
       {{"offline_unfused"}, {"quant_original"}, {"offline_graph", true}},
       compare_conversion,
       {{"agree", "quantized.fused"}, {"differ", "quantized.node"}}},
      {"quantized.node",
       "Stage 2: one operator, or all a little?",
       "a node error is avoided by leaving the node unquantized, an accumulated one is not",
       {},
       tell_node_from_accumulated,
       {}},
      {"quantized.fused",
       "Stage 3: does fusion change the outputs?",
       "all before it is fine: what remains is fusion",
       {{"offline_fused"}, {"offline_unfused"}, {"fused_graph", true}},
       compare_fusion,
       {{"agree", "traditional.task"}}},
  };
}

}  // namespace plumb::guide
