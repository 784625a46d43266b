// SPDX-License-Identifier: Apache-2.0
#include "guide/laboratory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/run_command.h"
#include "guide/compare_sides.h"
#include "quant/calib_check.h"
#include "quant/sensitivity.h"
#include "replay/eval.h"
#include "report/text.h"

namespace plumb::guide {
namespace {

constexpr int64_t kMostSamples = 32;  // of a set, to calibrate or to look at

bool are_known(const Walk& walk, std::initializer_list<std::string_view> keys) {
  return std::none_of(keys.begin(), keys.end(),
                      [&](std::string_view key) { return walk.answers.known(key).empty(); });
}

Result<void> set_answer(Walk& walk, std::string_view key, const std::string& text) {
  return walk.answers.set(*question_by_key(key), text);
}

input::SampleOptions set_of(const Walk& walk, std::string_view key) {
  input::SampleOptions set;
  set.inputs = {walk.answers.known(key)};
  set.config = walk.answers.known("config");
  return set;
}

std::string top1_of(const replay::EvalModel& model) {
  const double right = static_cast<double>(model.tops.front().right);
  return fmt::format("{:.4f}%", 100 * right / static_cast<double>(model.labelled));
}

// Two models on the same labelled samples; the second is golden.
Result<void> evaluate(Walk& walk, std::string_view model, std::string_view golden,
                      std::string_view model_key, std::string_view golden_key,
                      RunContext& context) {
  replay::EvalOptions options;
  for (const std::string_view key : {model, golden}) {
    replay::RunSideOptions side;
    side.path = walk.answers.known(key);
    options.models.push_back(std::move(side));
  }
  options.golden = 1;
  options.tops = {1};
  options.inputs = set_of(walk, "eval_data");
  options.labels = walk.answers.known("labels");
  auto evaluation = replay::Evaluation::open(std::move(options));
  if (!evaluation) return evaluation.error();
  replay::Evaluated done = evaluation->run(context);
  if (done.problem) return *done.problem;
  const auto& models = done.result.models;
  if (models[0].labelled == 0)
    return Error{"no sample has a label", "labels = \"" + walk.answers.known("labels") + "\"",
                 "give a file with a line of FILE,CLASS for each sample"};
  for (const auto& [key, each] : {std::pair(model_key, &models[0]), {golden_key, &models[1]}})
    if (walk.answers.known(key).empty())
      if (auto set = set_answer(walk, key, top1_of(*each)); !set) return set;
  if (!walk.answers.known("topn_samples").empty()) return {};
  return set_answer(walk, "topn_samples", std::to_string(models[0].labelled));
}

Result<std::unique_ptr<quant::Lab>> lab_of(const Walk& walk) {
  engine::ModelFile file;
  file.path = walk.answers.known("model");
  file.engine = "onnxruntime";  // a Caffe network is translated
  file.merges_scale = true;
  return quant::Lab::open(file, {});
}

}  // namespace

Result<void> measure_topn(Walk& walk, RunContext& context) {
  if (!are_known(walk, {"model", "quant_model", "eval_data", "labels"})) return {};
  return evaluate(walk, "quant_model", "model", "topn_quant", "topn_float", context);
}

Result<void> measure_topn_offline(Walk& walk, RunContext& context) {
  if (!are_known(walk, {"offline_results", "quant_model", "eval_data", "labels"})) return {};
  return evaluate(walk, "offline_results", "quant_model", "topn_offline", "topn_quant", context);
}

Result<void> measure_calibration(Walk& walk, RunContext& context) {
  if (!are_known(walk, {"model", "calibration_data"})) return {};
  auto lab = lab_of(walk);
  if (!lab) return lab.error();
  const auto ports = (*lab)->model().inputs();
  auto all = input::open_samples(set_of(walk, "calibration_data"), ports);
  if (!all) return all.error();
  if (walk.answers.known("calibration_size").empty())
    if (auto set = set_answer(walk, "calibration_size", std::to_string(all->size())); !set)
      return set;
  if (!are_known(walk, {"eval_data"}) || are_known(walk, {"calibration_represents"})) return {};
  const auto some_of = [&](std::string_view key, int64_t most) {
    input::SampleOptions set = set_of(walk, key);
    set.most = most;
    return input::open_samples(std::move(set), ports);
  };
  const auto count = std::min(kMostSamples, static_cast<int64_t>(all->size()));
  auto calibration = some_of("calibration_data", count);
  auto data = some_of("eval_data", kMostSamples);
  for (const auto* set : {&calibration, &data})
    if (!*set) return set->error();
  const quant::Settings& settings = quant::schemes().front().settings;
  const std::vector<quant::Precision> precisions((*lab)->plan().layers.size(), settings.precision);
  auto check =
      quant::check_calibration(**lab, *calibration, *data, {settings, precisions}, context);
  if (!check) return check.error();
  for (const quant::CheckedMeasure& measure : check->measures)
    if (measure.fitness != quant::Fitness::kPass && measure.name != "count")
      walk.seen_of_calibration.push_back(number(measure.message, measure.value));
  const bool is_fit = check->fitness() != quant::Fitness::kError;
  return set_answer(walk, "calibration_represents", is_fit ? "yes" : "no");
}

Result<Outcome> rank_layers(Walk& walk, RunContext& context) {
  if (!are_known(walk, {"model", "calibration_data"}))
    return Outcome{"unknown", lacking(walk, {"model", "calibration_data"})};
  auto lab = lab_of(walk);
  if (!lab) return lab.error();
  const auto ports = (*lab)->model().inputs();
  input::SampleOptions set = set_of(walk, "calibration_data");
  set.most = kMostSamples;
  auto calibration_set = input::open_samples(set, ports);
  if (!calibration_set) return calibration_set.error();
  auto data = input::open_samples(set, ports);
  if (!data) return data.error();
  quant::SensitivityOptions wanted;
  wanted.settings = quant::schemes().front().settings;
  std::vector<quant::LayerRequest> none;
  auto precisions =
      quant::apply_requests((*lab)->prepared(), (*lab)->plan(), wanted.settings.precision, none);
  if (!precisions) return precisions.error();
  wanted.precisions = std::move(*precisions);
  auto calibration = (*lab)->calibrate(*calibration_set, {true, 1}, context);
  if (!calibration) return calibration.error();
  auto trials = quant::Trials::open(**lab, *data, 1, context);
  if (!trials) return trials.error();
  auto made = quant::measure_sensitivity(**lab, *calibration, **trials, wanted, context);
  if (!made) return made.error();
  result::Finding finding;
  finding.rule = "sensitivity";
  finding.cause = "quantization";
  finding.confidence = 0.6;
  finding.evidence = {number(fmt::format("all layers on 8 bits: {:.1f} dB at the outputs, on {}",
                                         made->all_db, report::counted(made->samples, "sample")),
                             made->all_db)};
  std::vector<std::string> worst;
  constexpr size_t kMost = 3;
  for (const quant::LayerSensitivity& layer : made->layers) {
    const auto alone = layer.by(wanted.mode);
    if (!alone || layer.layer.starts_with('<') || worst.size() == kMost) continue;
    worst.push_back(layer.layer);
    finding.evidence.push_back(
        number(fmt::format("{} alone on 8 bits: {:.1f} dB", layer.layer, *alone), *alone));
  }
  if (worst.empty()) return Outcome{"none", "no layer loses anything"};
  finding.operator_name = worst.front();
  finding.advice = fmt::format(
      "These layers lose most on 8 bits: {}. Give them 16 bits or leave them unquantized, the "
      "worst "
      "first; `plumb tune` finds the cheapest mix.",
      fmt::join(worst, ", "));
  finding.next =
      fmt::format("plumb sensitivity {} --calib {}{}", shell_word(walk.answers.known("model")),
                  shell_word(walk.answers.known("calibration_data")),
                  walk.answers.known("config").empty()
                      ? ""
                      : " --config " + shell_word(walk.answers.known("config")));
  walk.find(std::move(finding));
  return Outcome{"ranked", fmt::format("{} loses most: {}", worst.front(),
                                       walk.findings.back().finding.evidence[1].text)};
}

}  // namespace plumb::guide
