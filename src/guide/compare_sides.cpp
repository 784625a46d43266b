// SPDX-License-Identifier: Apache-2.0
#include "guide/compare_sides.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/explain.h"
#include "diagnose/run_rule.h"
#include "guide/circumstances.h"
#include "replay/run.h"
#include "report/findings_text.h"
#include "report/headline.h"

namespace plumb::guide {
namespace {

using result::Verdict;

std::string answer(const Walk& walk, std::string_view key) {
  return key.empty() ? std::string() : walk.answers.known(key);
}

// What is known about the models by now.
Result<result::Circumstances> circumstances_of(const Walk& walk) {
  CircumstanceOptions options;
  const std::pair<std::string_view, std::string*> keys[] = {
      {"target_env", &options.target_env},
      {"golden_env", &options.golden_env},
      {"topn_float", &options.topn_float},
      {"topn_quant", &options.topn_quant},
      {"topn_offline", &options.topn_offline},
      {"topn_samples", &options.topn_samples},
      {"calibration_size", &options.calibration_size}};
  for (const auto& [key, text] : keys) *text = walk.answers.known(key);
  if (options.target_env.empty() || options.golden_env.empty())
    options.target_env = options.golden_env = "";
  return circumstances_from(options);
}

Result<void> run_models(const SidesRequest& request, Walk& walk, Compared& compared,
                        RunContext& context) {
  replay::RunOptions options;
  options.target.path = answer(walk, request.target);
  options.golden.path = answer(walk, request.golden);
  options.profile = request.profile;
  options.atol = request.atol;
  const bool has_model =
      engine::is_model(options.target.path) || engine::is_model(options.golden.path);
  const bool has_models =
      engine::is_model(options.target.path) && engine::is_model(options.golden.path);
  if (const std::string input = answer(walk, "input"); has_model && !input.empty())
    options.inputs.inputs = {input};
  if (has_model) options.inputs.config = answer(walk, "config");
  if (has_models) options.layers = "all";
  if (has_models && walk.scratch)
    compared.kept = options.keep = (walk.scratch->path() / compared.step).string();
  auto job = replay::ModelRun::open(options);
  if (!job) return job.error();
  replay::Ran ran = job->run(context);
  if (ran.problem) return *ran.problem;
  compared.run = std::move(ran.run);
  return {};
}

Result<void> compare_dumps(const SidesRequest& request, const Walk& walk, Compared& compared,
                           RunContext& context) {
  Spec spec;
  spec.target.path = answer(walk, request.target);
  spec.golden.path = answer(walk, request.golden);
  spec.target.graph = answer(walk, request.graph);
  spec.golden.graph = answer(walk, request.golden_graph);
  spec.quant = answer(walk, request.quant);
  spec.profile = request.profile;
  spec.mode = request.mode;
  spec.atol = request.atol;
  auto session = Session::open(std::move(spec), context);
  if (!session) return session.error();
  auto run = compare_all(*session, context);
  if (!run) return run.error();
  compared.session = std::make_shared<Session>(std::move(*session));
  compared.run = std::move(*run);
  if (!context.cancelled)
    diagnose::explain(compared.run, diagnose::Tensors(compared.session.get()), context);
  return {};
}

}  // namespace

result::Evidence number(std::string text, double value) {
  return {std::move(text), std::nullopt, "", value};
}

std::string percent(double share) { return diagnose::percent_text(share); }

Result<Compared*> compare_sides(Walk& walk, const SidesRequest& request, RunContext& context) {
  const std::string target = answer(walk, request.target), golden = answer(walk, request.golden);
  if (target.empty() || golden.empty()) return static_cast<Compared*>(nullptr);
  Compared compared;
  compared.step = walk.now->id;
  for (int again = 2; std::any_of(walk.compared.begin(), walk.compared.end(),
                                  [&](const Compared& c) { return c.step == compared.step; });
       ++again)
    compared.step = fmt::format("{}_{}", walk.now->id, again);
  const bool runs = request.are_results || engine::is_model(target) || engine::is_model(golden);
  auto done = runs ? run_models(request, walk, compared, context)
                   : compare_dumps(request, walk, compared, context);
  if (!done)
    return std::move(done.error()).in(fmt::format("{} and {}", request.target, request.golden));
  return &walk.compared.emplace_back(std::move(compared));
}

std::string lacking(const Walk& walk, std::initializer_list<std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys)
    if (walk.answers.known(key).empty())
      text += fmt::format("{}{}", text.empty() ? "" : " and ", key);
  return text + (text.find(" and ") == std::string::npos ? " is" : " are") + " not at hand";
}

Outcome agreement_of(const Compared* compared, const Walk& walk) {
  if (compared == nullptr) {
    std::string text;
    for (const Asked& asked : walk.now->asks)
      if (!asked.is_extra && walk.answers.known(asked.key).empty())
        text += fmt::format("{}{}", text.empty() ? "" : ", ", asked.key);
    return {"unknown", text + ": not at hand"};
  }
  const result::Run& run = compared->run;
  const result::Summary summary = run.summary();
  std::string text = report::headline(run, summary);
  if (const std::string outputs = report::outputs_text(summary); !outputs.empty())
    text += "; outputs: " + outputs;
  const bool knows_outputs = summary.outputs.rows > 0;
  const Verdict verdict = knows_outputs ? summary.outputs.verdict() : summary.verdict;
  if (verdict == Verdict::kFail || (!knows_outputs && summary.fail > 0)) return {"differ", text};
  // What was not compared might differ.
  if (verdict != Verdict::kPass || !run.outputs_not_compared.empty()) return {"unknown", text};
  return {"agree", text};
}

double output_cosine(const result::Run& run) {
  for (const result::Finding& finding : run.findings)
    if (finding.cause == "overflow") return std::nan("");
  const auto worst = diagnose::worst_output(run);
  return worst && worst->value ? *worst->value : std::nan("");
}

Result<Outcome> by_answer(Walk& walk, RunContext&) {
  const std::string_view key = walk.now->asks.front().key;
  const std::string known = walk.answers.known(key);
  if (known.empty()) return Outcome{"unknown", fmt::format("{} is not known", key)};
  return Outcome{known, fmt::format("answered: {} = {}", key, known)};
}

Result<Outcome> find_culprit(Walk& walk, RunContext&) {
  const Compared* compared = walk.latest();
  if (compared == nullptr || compared->run.findings.empty())
    return Outcome{"unknown", "the comparison found no cause"};
  const result::Finding& first = compared->run.findings.front();
  walk.adopt(compared->run);
  const std::string cause(report::cause_in_words(first.cause));
  const std::string number =
      first.evidence.empty() ? std::string() : fmt::format(": {}", first.evidence.front().text);
  if (first.cause == "accumulated") return Outcome{"accumulated", "accumulated error" + number};
  if (first.cause == "unknown") return Outcome{"unknown", "no operator can be told" + number};
  return Outcome{
      first.cause == "fusion" ? "fusion" : "node",
      fmt::format("{}: {}{}",
                  first.operator_name.empty() ? "no single operator" : first.operator_name, cause,
                  number)};
}

Result<Outcome> look_at_inputs(Walk& walk, RunContext&) {
  Compared* compared = walk.latest();
  if (compared != nullptr)
    for (const result::Finding& finding : compared->run.findings)
      if (finding.cause == "inputs_differ") {
        walk.adopt(compared->run);
        return Outcome{"differ",
                       fmt::format("{} is not what golden was fed", finding.operator_name)};
      }
  return Outcome{"same", "no input of the model differs, as far as inputs were compared"};
}

Result<Outcome> look_at_environments(Walk& walk, RunContext&) {
  Compared* compared = walk.latest();
  if (compared == nullptr || walk.answers.known("target_env").empty() ||
      walk.answers.known("golden_env").empty())
    return Outcome{"unknown", lacking(walk, {"target_env", "golden_env"})};
  auto told = circumstances_of(walk);
  if (!told) return told.error();
  add_circumstances(*told, compared->run.circumstances);
  diagnose::explain_as_a_whole(compared->run);
  const result::Circumstances& known = compared->run.circumstances;
  const bool fits = std::none_of(known.fits.begin(), known.fits.end(),
                                 [](const auto& fit) { return fit.verdict == "does_not_fit"; });
  if (known.changes.empty() && fits) return Outcome{"no", "both environments are the same"};
  const auto& findings = compared->run.findings;
  if (findings.empty() || findings.front().cause != "environment")
    return Outcome{
        "no", fmt::format("{} things differ, but the data explain more", known.changes.size())};
  walk.adopt(compared->run);
  return Outcome{"explains", findings.front().evidence.front().text};
}

}  // namespace plumb::guide
