// SPDX-License-Identifier: Apache-2.0
//
// `plumb diagnose RESULT.json`: why a comparison came out as it did. Looks at the tensors again if
// they are still there.
#include <fmt/format.h>

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
  OutputOptions output;
  CommonOptions common;
};

void declare(Options& options, DiagnoseRequest& request) {
  options.arguments("RESULT.json", request.paths, "what `plumb compare --json` wrote");
  options.group("files");
  options.text("--target", "DIR", request.moved.target,
               "where the target's dump is now (default: as the result\nsays)");
  options.text("--golden", "DIR", request.moved.golden, "likewise, the golden dump");
  options.flag("--no-data", request.no_data, "do not read the dumps again");
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
                  "exit status: 0 there is nothing to explain, 1 there is a finding, 2 trouble");
  DiagnoseRequest request;
  declare(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (request.paths.size() != 1)
    return fail_with({fmt::format("one result is needed, {} given", request.paths.size()),
                      "plumb diagnose", "name the .json that `plumb compare --json` wrote"});
  if (auto checked = request.output.check(); !checked) return fail_with(checked.error());
  const NamedPath inputs[] = {{"RESULT.json", request.paths[0]}};
  if (auto checked = check_outputs(request.output.paths(), inputs); !checked)
    return fail_with(checked.error());
  auto saved = result::load_result(request.paths[0]);
  if (!saved) return fail_with(saved.error());
  context.jobs = request.common.jobs;
  result::Run& run = saved->run;
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
