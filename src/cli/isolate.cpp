// SPDX-License-Identifier: Apache-2.0
//
// `plumb isolate RESULT.json --op NAME --model MODEL`: replays an operator with the target's real
// inputs, and says whether it made the error or was handed it.
#include "replay/isolate.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/engine_options.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "report/replayed.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

struct IsolateRequest {
  std::vector<std::string> paths;
  replay::IsolateOptions options;
  std::string output, json;
  std::vector<int64_t> steps;
  EngineOptions limits;
  CommonOptions common;
};

void declare(Options& options, IsolateRequest& request) {
  replay::IsolateOptions& isolate = request.options;
  options.arguments(
      "RESULT.json", request.paths,
      "what `plumb compare --json` wrote, or `plumb run --keep\nDIR --layers all --json`");
  options.group("operator");
  options.text("--op,--ops", "NAME", isolate.op, "operator of the model, or of the target");
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
  options.text("--engine", "NAME", isolate.engine, "what runs the operator (default: onnxruntime)");
  request.limits.declare(options);
  options.group("output");
  options.text("-o", "FILE", request.output, "pack a reproduction as .zip");
  options.text("--json", "FILE", request.json,
               "write verdict and numbers as JSON; '-' prints it instead\nof the table");
  request.common.declare(options);
}

Result<void> check(const IsolateRequest& request) {
  if (request.paths.size() != 1)
    return Error{fmt::format("one result is needed, {} given", request.paths.size()),
                 "plumb isolate", "name the .json that `plumb compare --json` wrote"};
  if (request.steps.size() > 1)
    return Error{"one step at a time", "plumb isolate --step", "name the one to look at"};
  if (request.options.op.empty())
    return Error{"which operator?", "plumb isolate", "name it: --op NAME"};
  if (!request.output.empty() && std::filesystem::path(request.output).extension() != ".zip")
    return Error{"a reproduction is a .zip file", "-o " + request.output,
                 "name it so: -o pack.zip"};
  const NamedPath outputs[] = {{"-o", request.output},
                               {"--json", request.json == "-" ? "" : request.json}};
  const NamedPath inputs[] = {{"RESULT.json", request.paths[0]},
                              {"--model", request.options.model}};
  return check_outputs(outputs, inputs);
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

int present(replay::Isolated& isolated, const IsolateRequest& request) {
  const bool prints_json = request.json == "-";
  const std::string json = request.json.empty() ? "" : report::json_of(isolated.replayed);
  fmt::print("{}", prints_json ? json : report::render(isolated.replayed, terminal_width()));
  if (!request.json.empty() && !prints_json)
    if (auto written = write_text(request.json, json); !written) return fail_with(written.error());
  if (!request.output.empty()) {
    auto size = pack(isolated, request.output);
    if (!size) return fail_with(size.error());
    if (!prints_json)
      fmt::print("  pack      {} ({}): model, inputs, outputs; README.md says how to replay them\n",
                 report::printable(request.output), report::bytes_text(static_cast<double>(*size)));
  }
  return isolated.replayed.fails("own") ? kDifference : kAgreement;
}

}  // namespace

int run_isolate(int argc, char** argv, RunContext& context) {
  Options options(
      "isolate", "Replay one operator with the target's real inputs: did it make the error?",
      "The operator is cut out of the original model and run twice, with golden's inputs and with\n"
      "those of the target. What comes out splits the error into what was inherited and its "
      "own.\n\n"
      "examples\n"
      "  plumb isolate result.json --op conv5_3 --model model.onnx\n"
      "  plumb run a.onnx b.onnx --layers all --keep kept --json r.json; plumb isolate r.json --op "
      "conv1\n"
      "  plumb isolate result.json --op conv1 --to relu1 --model model.onnx -o pack.zip\n"
      "exit status: 0 the operator introduces no error, 1 it does, 2 trouble");
  IsolateRequest request;
  declare(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check(request); !checked) return fail_with(checked.error());
  auto limits = request.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  request.options.limits = *limits;
  request.options.result = request.paths[0];
  if (!request.steps.empty()) request.options.step = request.steps.front();
  context.jobs = request.common.jobs;
  std::vector<std::string> warnings;
  auto isolated = replay::isolate(request.options, context, warnings);
  if (!request.common.quiet)
    for (const std::string& warning : warnings) print_warning(warning);
  if (context.cancelled) return kInterrupted;
  if (!isolated) return fail_with(isolated.error());
  return present(*isolated, request);
}

}  // namespace plumb::cli
