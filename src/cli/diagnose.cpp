// SPDX-License-Identifier: Apache-2.0
//
// `plumb diagnose RESULT.json`: why a comparison came out as it did. Looks at the tensors again if
// they are still there.
#include <fmt/format.h>

#include "cli/circumstance_options.h"
#include "cli/guide.h"
#include "cli/output_options.h"
#include "cli/terminal.h"
#include "diagnose/explain.h"
#include "diagnose/reopen.h"
#include "report/findings_text.h"
#include "result/json_read.h"

namespace plumb::cli {
namespace {

struct DiagnoseRequest {
  std::vector<std::string> paths;
  diagnose::Moved moved;
  bool no_data = false;
  CircumstanceOptions circumstances;
  GuideOptions guide;
  OutputOptions output;
  CommonOptions common;
};

void declare(Options& options, DiagnoseRequest& request) {
  options.arguments("RESULT.json", request.paths, "what `plumb compare --json` wrote", false);
  options.group("files");
  options.text("--target", "DIR", request.moved.target,
               "where the target's dump is now (default: as the result\nsays)");
  options.text("--golden", "DIR", request.moved.golden, "likewise, the golden dump");
  options.flag("--no-data", request.no_data, "do not read the dumps again");
  request.circumstances.declare(options);
  request.guide.declare(options);
  request.output.declare(options);
  request.common.declare(options);
}

}  // namespace

int run_diagnose(int argc, char** argv, RunContext& context) {
  Options options("diagnose",
                  "Explain a result: which operator introduced the error, why, and what now.",
                  "examples\n"
                  "  plumb diagnose result.json\n"
                  "  plumb diagnose result.json --json explained.json\n"
                  "  plumb diagnose result.json --target-env after.json --golden-env before.json\n"
                  "  plumb diagnose --guide\n"
                  "  plumb diagnose --guide --answers answers.toml --bundle case.zip\n"
                  "exit status: 0 there is nothing to explain, 1 there is a finding, 2 trouble");
  DiagnoseRequest request;
  declare(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (request.guide.guide && request.paths.empty())
    return run_guide(request.guide, request.circumstances, request.output, request.common, context);
  if (request.guide.guide)
    return fail_with({"the guide makes its comparisons itself", "--guide " + request.paths[0],
                      "leave the result out, or explain it without --guide"});
  if (request.paths.size() != 1)
    return fail_with(
        {fmt::format("one result is needed, {} given", request.paths.size()), "plumb diagnose",
         "name the .json that `plumb compare --json` wrote, or walk a path with --guide"});
  if (auto checked = request.output.check(); !checked) return fail_with(checked.error());
  std::vector<NamedPath> inputs = request.circumstances.paths();
  inputs.push_back({"RESULT.json", request.paths[0]});
  if (auto checked = check_outputs(request.output.paths(), inputs); !checked)
    return fail_with(checked.error());
  const auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  auto saved = result::load_result(request.paths[0]);
  if (!saved) return fail_with(saved.error());
  context.jobs = request.common.jobs;
  result::Run& run = saved->run;
  guide::add_circumstances(*told, run.circumstances);
  std::string why;
  std::optional<Session> session;
  if (!request.no_data)
    session = diagnose::reopen(run, std::filesystem::path(request.paths[0]).parent_path(),
                               request.moved, context, why);
  if (!why.empty() && !request.common.quiet) print_warning("told from the result alone: " + why);
  diagnose::explain(run, diagnose::Tensors(session ? &*session : nullptr), context);
  if (context.cancelled) return kInterrupted;
  if (!print_json(run, request.output))
    fmt::print("{}", report::findings_text(run, request.paths[0], terminal_width(),
                                           wants_colour(request.output)));
  if (!write_files(run, request.output)) return kTrouble;
  return run.findings.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
