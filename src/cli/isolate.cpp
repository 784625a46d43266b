// SPDX-License-Identifier: Apache-2.0
//
// `plumb isolate RESULT.json --op NAME --model MODEL`: replays an operator with the target's real
// inputs, and says whether it made the error or was handed it. With --all each of them, and says
// who loses most.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/engine_options.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "diagnose/explain.h"
#include "engine/engine.h"
#include "judge/profile.h"
#include "replay/isolate_all.h"
#include "report/findings_text.h"
#include "report/own_errors.h"
#include "report/replayed.h"
#include "report/text.h"
#include "result/json_read.h"

namespace plumb::cli {
namespace {

struct IsolateRequest {
  std::vector<std::string> paths;
  replay::IsolateOptions options;
  bool all = false;
  std::vector<std::string> outputs;
  std::string json;
  std::vector<int64_t> steps;
  EngineOptions limits;
  CommonOptions common;
};

void declare_isolate_options(Options& options, IsolateRequest& request) {
  replay::IsolateOptions& isolate = request.options;
  options.arguments(
      "RESULT.json", request.paths,
      "what `plumb compare --json` wrote, or `plumb run --keep\nDIR --layers all --json`");
  options.group("operator");
  options.text("--op,--ops", "NAME", isolate.op, "operator of the model, or of the target");
  options.flag("--all", request.all, "every operator: own and inherited error, who loses most");
  options.text("--to", "NAME", isolate.to, "the last one of a range that begins at --op");
  options.integers("--step,--steps", "N", request.steps,
                   "this step, token or sample (default: the first)");
  options.group("files");
  options.text("--model", "FILE", isolate.model,
               "the original ONNX model (default: golden, if the\nresult is of `plumb run`)");
  options.text("--target", "DIR", isolate.target,
               "where the target's dump is now (default: as the result\nsays)");
  options.text("--golden", "DIR", isolate.golden, "likewise, the golden dump");
  options.texts("-i,--input", "NAME=FILE", isolate.inputs,
                "an input of the model that was not dumped; repeatable");
  options.group("judging");
  options.text("--profile", "NAME", isolate.profile, "limits (default: those of the result)");
  options.suggest([] { return names_in(judge::built_in_profiles()); });
  options.text("--engine", "NAME", isolate.engine, "what runs the operator (default: onnxruntime)");
  options.suggest([] { return names_in(engine::engines()); });
  request.limits.declare(options);
  options.group("output");
  options.texts("-o", "FILE", request.outputs,
                "pack a reproduction as .zip; with --all: the result, as\n.xlsx, .csv, .json, .md "
                "or .junit.xml, repeatable");
  options.text("--json", "FILE", request.json,
               "write verdict and numbers as JSON (--all: the result\nwith all own errors); '-' "
               "prints it instead of the table");
  request.common.declare(options);
}

OutputOptions output_of(const IsolateRequest& request) {
  OutputOptions output;
  output.outputs = request.outputs;
  output.json = request.json;
  return output;
}

Result<void> check_isolate_request(const IsolateRequest& request) {
  if (request.paths.size() != 1)
    return wrong_paths("one result is", request.paths, "plumb isolate",
                       "name the .json that `plumb compare --json` wrote");
  if (request.steps.size() > 1)
    return Error{"one step at a time", "plumb isolate --step", "name the one to look at"};
  const bool has_operator = !request.options.op.empty() || !request.options.to.empty();
  if (request.all && has_operator)
    return Error{"all operators, or one?", "plumb isolate --all with --op or --to",
                 "leave one of them out"};
  if (!request.all && request.options.op.empty())
    return Error{"which operator?", "plumb isolate", "name it: --op NAME, or take each: --all"};
  if (request.all && !(request.options.inputs.empty() && request.options.profile.empty()))
    return Error{"--input and --profile are for one operator", "plumb isolate --all",
                 "leave them out, or name an operator: --op NAME"};
  const OutputOptions output = output_of(request);
  if (!request.all && (output.outputs.size() > 1 ||
                       (output.outputs.size() == 1 &&
                        std::filesystem::path(output.outputs[0]).extension() != ".zip")))
    return Error{"a reproduction is one .zip file", "-o " + output.outputs.back(),
                 "name it so: -o pack.zip"};
  if (request.all)
    if (auto checked = output.check(); !checked) return checked;
  const NamedPath inputs[] = {{"RESULT.json", request.paths[0]},
                              {"--model", request.options.model}};
  return check_outputs(output.paths(), inputs);
}

Result<void> write_text(const std::string& path, const std::string& text) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

// Says how large the archive is.
Result<uint64_t> pack(replay::Isolated& isolated, const std::string& path) {
  replay::Reproduction& reproduction = isolated.reproduction;
  reproduction.add("README.md", report::readme_of(isolated.replayed));
  reproduction.add("versions.json", report::json_of(isolated.replayed));
  return reproduction.pack(path);
}

int present_isolated(replay::Isolated& isolated, const IsolateRequest& request) {
  const bool prints_json = request.json == "-";
  const std::string json = request.json.empty() ? "" : report::json_of(isolated.replayed);
  fmt::print("{}", prints_json ? json : report::render(isolated.replayed, terminal_width()));
  if (!request.json.empty() && !prints_json)
    if (auto written = write_text(request.json, json); !written) return fail_with(written.error());
  for (const std::string& output : request.outputs) {
    auto size = pack(isolated, output);
    if (!size) return fail_with(size.error());
    if (!prints_json)
      fmt::print("  pack      {} ({}): model, inputs, outputs; README.md says how to replay them\n",
                 report::printable(output), report::bytes_text(static_cast<double>(*size)));
  }
  return isolated.replayed.fails("own") ? kDifference : kAgreement;
}

// Every operator: the ranking, who is to blame, and the result with all own errors.
int isolate_each(const IsolateRequest& request, RunContext& context) {
  auto saved = result::load_result(request.options.result);
  if (!saved) return fail_with(saved.error());
  result::Run& run = saved->run;
  std::optional<ProgressBar> bar(std::in_place, context, request.common, 0);
  auto isolated = replay::isolate_all(run, request.options, context);
  if (context.cancelled) return kInterrupted;
  if (!isolated) return fail_with(isolated.error());
  if (isolated->reopened.gone > 0 && !request.common.quiet)
    print_warning(fmt::format("{} tensors that were compared are not there any more",
                              isolated->reopened.gone));
  diagnose::explain(run, diagnose::Tensors(&isolated->reopened.session, isolated->reopened.ids),
                    context,
                    {nullptr, {"", request.options.result, {"", request.options.model}, true}});
  bar.reset();
  if (context.cancelled) return kInterrupted;
  const OutputOptions output = output_of(request);
  if (!print_json(run, output)) {
    const replay::OwnErrors& measured = isolated->measured;
    fmt::print("{}", report::own_errors_text(run, terminal_width(), wants_colour(output)));
    fmt::print(
        "  time      {:.2g} s, {:.2g} s of them in the engine, {:.2g} s to open "
        "it\n\n",
        isolated->replaying_s, measured.running_s, measured.opening_s);
    fmt::print("{}", report::findings_text(run, terminal_width(), wants_colour(output)));
  }
  if (!write_files(run, output)) return kTrouble;
  const bool has_culprit =
      std::any_of(run.findings.begin(), run.findings.end(),
                  [](const result::Finding& each) { return !each.operator_name.empty(); });
  return has_culprit ? kDifference : kAgreement;
}

}  // namespace

int run_isolate(int argc, char** argv, RunContext& context) {
  Options options(
      "isolate", "Replay operators with the target's real inputs: who made the error?",
      "The operator is cut out of the original model and run twice, with golden's inputs and with\n"
      "those of the target. What comes out splits the error into what was inherited and its "
      "own.\n\n"
      "examples\n"
      "  plumb isolate result.json --op conv5_3 --model model.onnx\n"
      "  plumb run a.onnx b.onnx --layers all --keep kept --json r.json; plumb isolate r.json --op "
      "conv1\n"
      "  plumb isolate result.json --op conv1 --to relu1 --model model.onnx -o pack.zip\n"
      "  plumb isolate result.json --all --model model.onnx -o losers.xlsx\n"
      "exit status: 0 no operator introduces an error, 1 one does, 2 trouble");
  IsolateRequest request;
  declare_isolate_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_isolate_request(request); !checked) return fail_with(checked.error());
  auto limits = request.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  request.options.limits = *limits;
  request.options.result = request.paths[0];
  if (!request.steps.empty()) request.options.step = request.steps.front();
  context.jobs = request.common.jobs;
  if (request.all) return isolate_each(request, context);
  std::vector<std::string> warnings;
  std::optional<ProgressBar> bar(std::in_place, context, request.common, 0);
  auto isolated = replay::isolate(request.options, context, warnings);
  bar.reset();
  if (!request.common.quiet)
    for (const std::string& warning : warnings) print_warning(warning);
  if (context.cancelled) return kInterrupted;
  if (!isolated) return fail_with(isolated.error());
  return present_isolated(*isolated, request);
}

}  // namespace plumb::cli
