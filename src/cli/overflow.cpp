// SPDX-License-Identifier: Apache-2.0
//
// `plumb overflow DIR`: which operator overflowed first, by the records a device left and by the
// tensors themselves.
#include "scan/overflow.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "report/overflow_text.h"
#include "report/writer.h"

namespace plumb::cli {
namespace {

using Findings = scan::OverflowFindings;

struct OverflowRequest {
  std::vector<std::string> paths;
  std::string output;
  int top = 5;
  bool all = false;
  SelectionOptions selecting;
  CommonOptions common;
};

void declare_overflow_options(Options& options, OverflowRequest& request) {
  options.arguments("DIR", request.paths, "dump directory, or a file");
  request.selecting.declare(options);
  options.group("output");
  options.count("--top", "N", request.top, "records and operators to show (default: 5)");
  options.flag("--all", request.all, "show all of them");
  options.text("-o,--json", "FILE", request.output, "write all of them as JSON");
  request.common.declare(options);
}

Result<void> check_overflow_request(const OverflowRequest& request) {
  if (request.paths.size() != 1)
    return Error{"one path at a time",
                 fmt::format("plumb overflow {}", fmt::join(request.paths, " ")),
                 "call it once for each"};
  if (auto writer = report::writer_for(request.output); writer && (*writer)->name != "json")
    return Error{"the findings are written as JSON only", "-o " + request.output,
                 "name a file that ends in .json"};
  const NamedPath outputs[] = {{"-o/--json", request.output}},
                  inputs[] = {{"DIR", request.paths[0]}};
  return check_outputs(outputs, inputs);
}

void print_scan_complaints(const Findings& f, bool quiet) {
  if (!quiet) {
    for (const std::string& warning : f.set->warnings) print_warning(warning);
    for (const std::string& warning : f.records.warnings) print_warning(warning);
  }
  for (const scan::ScannedTensor& tensor : f.scan.tensors)
    if (tensor.error) print_error(*tensor.error);
  for (const Error& error : f.records.damaged) print_error(error);
  for (const dump::Skipped& skipped : f.set->skipped)
    if (skipped.error) print_error(*skipped.error);
}

}  // namespace

int run_overflow(int argc, char** argv, RunContext& context) {
  Options options(
      "overflow",
      "Find the operator that overflowed first: by the device's overflow records, and by\n"
      "NaN, infinities and values at the limit of their type in the tensors.",
      "examples\n"
      "  plumb overflow npu_dump/\n"
      "  plumb overflow npu_dump/ --step 0 --all --json overflow.json\n"
      "exit status: 0 nothing overflowed, 1 something did or not all could be\n"
      "read or is recorded, 2 nothing could be read");
  OverflowRequest request;
  declare_overflow_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_overflow_request(request); !checked) return fail_with(checked.error());
  auto wanted = request.selecting.request();
  if (!wanted) return fail_with(wanted.error());
  context.jobs = request.common.jobs;
  auto found = scan::find_overflow_records(request.paths[0], *wanted, context);
  if (!found) return fail_with(found.error());
  {
    ProgressBar bar(context, request.common, found->tensor_bytes);
    scan::look_at_tensors(*found, wanted->hints, context);
  }
  if (context.cancelled) print_warning("interrupted: not all tensors were looked at");
  if (found->has_anything()) {
    const size_t most = request.all ? SIZE_MAX : static_cast<size_t>(request.top);
    fmt::print("{}", report::overflow_text(*found, most, terminal_width(), colour_is_wanted()));
  }
  print_scan_complaints(*found, request.common.quiet);
  if (!request.output.empty())
    if (auto written = write_file(request.output, to_json(*found)); !written)
      return fail_with(written.error());
  if (!found->has_anything()) return kTrouble;
  return found->verdict() == scan::OverflowVerdict::kClean ? kAgreement : kDifference;
}

}  // namespace plumb::cli
