// SPDX-License-Identifier: Apache-2.0
//
// `plumb report RESULT.json -o FILE`: a saved result once more, on the screen or in any output. The
// dumps are not needed.
#include <fmt/format.h>

#include "cli/output_options.h"
#include "judge/baseline.h"
#include "result/json_read.h"

namespace plumb::cli {
namespace {

struct ReportRequest {
  std::vector<std::string> paths, allowed;
  std::string baseline;
  OutputOptions output;
  CommonOptions common;
};

void declare_report_options(Options& options, ReportRequest& request) {
  options.arguments("RESULT.json", request.paths, "what `plumb compare` or `plumb run` wrote");
  options.group("judging");
  options.text("--baseline", "FILE", request.baseline,
               "an earlier result (.json): what is better and worse now");
  options.texts("--allow", "WHAT", request.allowed,
                "'inconclusive' or 'missing' rows are no failure");
  options.suggest([] { return std::vector<std::string>{"inconclusive", "missing"}; });
  request.output.declare(options);
  request.common.declare(options);
}

Result<void> check_report_request(const ReportRequest& request) {
  if (request.paths.size() != 1)
    return wrong_paths("one result is", request.paths, "plumb report",
                       "name the .json that `plumb compare --json` wrote");
  if (auto allowed = judge::allowance_from(request.allowed); !allowed) return allowed.error();
  if (auto checked = request.output.check(); !checked) return checked;
  const NamedPath inputs[] = {{"RESULT.json", request.paths[0]}, {"--baseline", request.baseline}};
  return check_outputs(request.output.paths(), inputs);
}

}  // namespace

int run_report(int argc, char** argv, RunContext&) {
  Options options("report", "Show a saved result, or write it in other forms.",
                  "examples\n"
                  "  plumb report result.json -o report.html\n"
                  "  plumb report result.json -o table.xlsx -o summary.md\n"
                  "  plumb report new.json --baseline old.json -o changes.html\n"
                  "exit status: as that of the comparison; 2 if the result cannot be read or\n"
                  "something cannot be written");
  ReportRequest request;
  declare_report_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  request.allowed = split_lists(request.allowed);
  if (auto checked = check_report_request(request); !checked) return fail_with(checked.error());
  auto saved = result::load_result(request.paths[0]);
  if (!saved) return fail_with(saved.error());
  if (!request.common.quiet)
    for (const std::string& note : saved->notes) print_warning(note);
  result::Run& run = saved->run;
  if (!request.baseline.empty()) {
    auto before = judge::load_baseline(request.baseline);
    if (!before) return fail_with(before.error());
    run.baseline = judge::hold_against(run, *before, request.baseline);
  }
  const bool writes_only = !request.output.outputs.empty() ||
                           (!request.output.json.empty() && request.output.json != "-");
  const bool all_written =
      writes_only ? write_files(run, request.output) : present(run, request.output, {});
  return all_written ? exit_status(run, request.allowed) : kTrouble;
}

}  // namespace plumb::cli
