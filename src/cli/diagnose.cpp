// SPDX-License-Identifier: Apache-2.0
//
// `plumb diagnose RESULT.json`: why a comparison came out as it did. Looks at the tensors and the
// models again if they are still there; what cannot be looked at again stays as the result has it.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "cli/circumstance_options.h"
#include "cli/engine_options.h"
#include "cli/guide.h"
#include "cli/output_options.h"
#include "cli/terminal.h"
#include "diagnose/converter_files.h"
#include "diagnose/explain.h"
#include "replay/isolate_all.h"
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

void declare(Options& options, DiagnoseRequest& request) {
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
Result<void> check_options(const DiagnoseRequest& request, const std::vector<std::string>& given) {
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

Result<void> check(const DiagnoseRequest& request) {
  if (request.paths.size() != 1)
    return Error{fmt::format("one result is needed, {} given", request.paths.size()),
                 "plumb diagnose",
                 "name the .json that `plumb compare --json` wrote, or walk a path with --guide"};
  if (auto checked = request.output.check(); !checked) return checked;
  std::vector<NamedPath> inputs = request.circumstances.paths();
  inputs.push_back({"RESULT.json", request.paths[0]});
  inputs.push_back({"--target-model", request.models.target});
  inputs.push_back({"--golden-model", request.models.golden});
  return check_outputs(request.output.paths(), inputs);
}

// What a result can still be looked at with.
class Diagnosis {
 public:
  Diagnosis(const DiagnoseRequest& request, result::Run& run, RunContext& context)
      : request_(request), run_(run), context_(context) {}

  // An error only if something that the user named cannot be used.
  Result<void> explain() {
    if (request_.no_data) {
      lost_.emplace_back("--no-data");
    } else {
      if (auto opened = open_tensors(); !opened) return opened;
      if (auto opened = open_models(); !opened) return opened;
    }
    std::vector<result::Finding> known = run_.findings;
    diagnose::explain(run_,
                      reopened_ ? diagnose::Tensors(&reopened_->session, reopened_->ids)
                                : diagnose::Tensors(nullptr),
                      context_,
                      {models_ ? &*models_ : nullptr,
                       {"", request_.paths[0], {request_.models.target, request_.models.golden}}});
    // Who looked at tensors and models saw more.
    if (lost_.empty() || known.empty()) return {};
    run_.findings = std::move(known);
    diagnose::explain_as_a_whole(run_);  // of what is known now
    lost_.emplace_back("the findings are those of the result");
    return {};
  }

  const std::vector<std::string>& lost() const { return lost_; }

 private:
  Result<void> open_tensors() {
    const fs::path directory = fs::path(request_.paths[0]).parent_path();
    if (!request_.models.golden.empty()) return replay_all();
    std::string why;
    reopened_ = diagnose::reopen(run_, directory, request_.moved, context_, why);
    if (!reopened_)
      lost_.push_back("the tensors were not looked at again: " + why);
    else if (reopened_->gone > 0)
      lost_.push_back(fmt::format("{} of the tensors are not there any more", reopened_->gone));
    return {};
  }

  // Fills in own errors by measurement.
  Result<void> replay_all() {
    replay::IsolateOptions options;
    options.result = request_.paths[0];
    options.model = request_.models.golden;
    options.target = request_.moved.target;
    options.golden = request_.moved.golden;
    auto limits = EngineOptions().limits(context_);
    if (!limits) return limits.error();
    options.limits = *limits;
    auto isolated = replay::isolate_all(run_, options, context_);
    if (!isolated) return isolated.error();
    reopened_ = std::move(isolated->reopened);
    return {};
  }

  Result<void> open_models() {
    diagnose::ModelDifferences::Files files = request_.models;
    const bool is_named = !files.target.empty() && !files.golden.empty();
    const diagnose::ModelPaths paths = diagnose::models_of(run_);
    if (files.target.empty()) files.target = paths.target;
    if (files.golden.empty()) files.golden = paths.golden;
    if (files.target.empty() || files.golden.empty()) {
      if (run_.command == "run") lost_.emplace_back("a model that was run is not there any more");
      return {};
    }
    auto loaded = diagnose::ModelDifferences::load(files);
    if (!loaded && is_named) return loaded.error();
    if (loaded) models_ = std::move(*loaded);
    return {};
  }

  const DiagnoseRequest& request_;
  result::Run& run_;
  RunContext& context_;
  std::optional<diagnose::Reopened> reopened_;
  std::optional<diagnose::ModelDifferences> models_;
  std::vector<std::string> lost_;  // in words, what could not be looked at again
};

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
  declare(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_options(request, options.given()); !checked)
    return fail_with(checked.error());
  if (request.guide.guide)
    return run_guide(request.guide, request.circumstances, request.output, request.common, context);
  if (auto checked = check(request); !checked) return fail_with(checked.error());
  const auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  auto saved = result::load_result(request.paths[0]);
  if (!saved) return fail_with(saved.error());
  context.jobs = request.common.jobs;
  result::Run& run = saved->run;
  guide::add_circumstances(*told, run.circumstances);
  Diagnosis diagnosis(request, run, context);
  auto explained = diagnosis.explain();
  if (context.cancelled) return kInterrupted;
  if (!explained) return fail_with(explained.error());
  if (!request.common.quiet && !request.no_data)
    for (const std::string& lost : diagnosis.lost()) print_warning(lost);
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
