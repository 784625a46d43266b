// SPDX-License-Identifier: Apache-2.0
//
// `plumb diagnose RESULT.json`: why a comparison came out as it did. Looks at the tensors and the
// models again if they are still there; what cannot be looked at again stays as the result has it.
#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "cli/circumstance_options.h"
#include "cli/engine_options.h"
#include "cli/guide.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "diagnose/converter_files.h"
#include "replay/diagnosis.h"
#include "report/findings_text.h"
#include "result/json_read.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct DiagnoseRequest {
  std::vector<std::string> paths;
  diagnose::Moved moved;
  diagnose::ModelDifferences::Files models;
  std::string write_config;
  bool no_data = false;
  CircumstanceOptions circumstances;
  GuideOptions guide;
  OutputOptions output;
  CommonOptions common;
};

void declare_diagnose_options(Options& options, DiagnoseRequest& request) {
  options.arguments("RESULT.json", request.paths,
                    "what `plumb compare --json` or `plumb run --json` wrote", false);
  options.group("files");
  options.text("--target", "DIR", request.moved.target,
               "where the target's tensors are now (default: as the\nresult says)");
  options.text("--golden", "DIR", request.moved.golden, "likewise, golden's");
  options.text("--target-model", "FILE", request.models.target,
               "the model behind the target: how it differs from\ngolden's is evidence");
  options.text("--golden-model", "FILE", request.models.golden,
               "the original model: each operator is replayed, too\n(defaults: those of the "
               "result)");
  options.flag("--no-data", request.no_data, "read neither tensors nor models again");
  request.circumstances.declare(options);
  request.guide.declare(options);
  request.output.declare(options);
  options.text("--write-config", "DIR", request.write_config,
               "what atc needs to leave the culprit as it was, as\nfiles: fusion off, types kept");
  request.common.declare(options);
}

// The guide compares by itself, a saved result is explained as it is: options of one say nothing to
// the other.
Result<void> check_given_options(const DiagnoseRequest& request,
                                 const std::vector<std::string>& given) {
  constexpr std::string_view kOfGuide[] = {"--answers", "--ask", "--bundle", "--no-weights",
                                           "--keep"};
  constexpr std::string_view kOfResult[] = {
      "--target",       "--golden", "--target-model", "--golden-model", "--no-data",
      "--write-config", "-o",       "--all",          "--hints"};
  const bool is_guide = request.guide.guide;
  const std::span<const std::string_view> others =
      is_guide ? std::span<const std::string_view>(kOfResult)
               : std::span<const std::string_view>(kOfGuide);
  for (const std::string& option : given)
    if (std::find(others.begin(), others.end(), option) != others.end())
      return Error{fmt::format("{} does not apply {}", option,
                               is_guide ? "to the guide" : "without --guide"),
                   "plumb diagnose",
                   is_guide ? "leave it out; --json FILE writes the path, --keep DIR the results"
                            : "add --guide, or leave it out"};
  if (is_guide && !request.paths.empty())
    return Error{"the guide makes its comparisons itself", "--guide " + request.paths[0],
                 "leave the result out, or explain it without --guide"};
  return {};
}

Result<void> check_diagnose_request(const DiagnoseRequest& request) {
  if (request.paths.size() != 1)
    return wrong_paths(
        "one result is", request.paths, "plumb diagnose",
        "name the .json that `plumb compare --json` wrote, or walk a path with --guide");
  if (auto checked = request.output.check(); !checked) return checked;
  std::vector<NamedPath> inputs = request.circumstances.paths();
  inputs.push_back({"RESULT.json", request.paths[0]});
  inputs.push_back({"--target-model", request.models.target});
  inputs.push_back({"--golden-model", request.models.golden});
  return check_outputs(request.output.paths(), inputs);
}

Result<void> write_config(const result::Run& run, const std::string& directory, bool quiet) {
  const std::vector<diagnose::ConverterFile> files = diagnose::converter_files(run);
  if (files.empty()) {
    print_warning("no finding is about how the model was converted: nothing was written to " +
                  directory);
    return {};
  }
  auto lock = DirectoryLock::make_empty(directory, "--write-config");
  if (!lock) return lock.error();
  for (const diagnose::ConverterFile& file : files) {
    const std::string path = (fs::path(directory) / file.name).string();
    if (auto written = write_file(path, file.text); !written) return written;
    if (!quiet) fmt::print("  wrote     {}\n", path);
  }
  return {};
}

}  // namespace

int run_diagnose(int argc, char** argv, RunContext& context) {
  Options options("diagnose",
                  "Explain a result: which operator introduced the error, why, and what now.",
                  "examples\n"
                  "  plumb diagnose result.json\n"
                  "  plumb diagnose result.json --golden-model model.onnx --json explained.json\n"
                  "  plumb diagnose result.json --write-config atc/\n"
                  "  plumb diagnose result.json --target-env after.json --golden-env before.json\n"
                  "  plumb diagnose --guide\n"
                  "  plumb diagnose --guide --answers answers.toml --bundle case.zip\n"
                  "exit status: 0 there is nothing to explain, 1 there is a finding, 2 trouble");
  DiagnoseRequest request;
  declare_diagnose_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_given_options(request, options.given()); !checked)
    return fail_with(checked.error());
  if (request.guide.guide)
    return run_guide(request.guide, request.circumstances, request.output, request.common, context);
  if (auto checked = check_diagnose_request(request); !checked) return fail_with(checked.error());
  const auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  auto saved = result::load_result(request.paths[0]);
  if (!saved) return fail_with(saved.error());
  context.jobs = request.common.jobs;
  result::Run& run = saved->run;
  guide::add_circumstances(*told, run.circumstances);
  auto limits = EngineOptions().limits(context);
  if (!limits) return fail_with(limits.error());
  std::optional<ProgressBar> bar(std::in_place, context, request.common, 0);
  const auto lost = replay::diagnose_again(
      run, {request.paths[0], request.moved, request.models, request.no_data, *limits}, context);
  bar.reset();
  if (context.cancelled) return kInterrupted;
  if (!lost) return fail_with(lost.error());
  if (!request.common.quiet && !request.no_data)
    for (const std::string& text : *lost) print_warning(text);
  if (!print_json(run, request.output))
    fmt::print("{}", report::findings_text(run, terminal_width(), wants_colour(request.output)));
  if (!write_files(run, request.output)) return kTrouble;
  if (!request.write_config.empty())
    if (auto written = write_config(run, request.write_config, request.output.json == "-");
        !written)
      return fail_with(written.error());
  return run.findings.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
