// SPDX-License-Identifier: Apache-2.0
//
// `plumb convert PATH... -o DIR`: decodes tensors to npy, npz, bin or safetensors, in plain order.
#include "scan/convert.h"

#include <set>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/selection.h"

namespace plumb::cli {
namespace {

void print_report(const scan::ConvertReport& report, const std::string& output, bool quiet) {
  // What hinders every file, such as a directory that cannot be made, is said once.
  std::set<std::pair<std::string_view, std::string_view>> told;
  for (const Error& error : report.failures)
    if (told.insert({error.what, error.where}).second) print_error(error);
  if (quiet || report.written == 0) return;
  fmt::print("{} written to {} ({})", counted(static_cast<size_t>(report.written), "tensor"),
             output, bytes_text(static_cast<double>(report.bytes)));
  if (!report.failures.empty()) fmt::print(", {} failed", report.failures.size());
  if (report.left_out > 0)
    fmt::print(", {} left out (`plumb inspect --json` says why)", counted(report.left_out, "file"));
  fmt::print("\n");
}

}  // namespace

int run_convert(int argc, char** argv, RunContext& context) {
  Options options(
      "convert", "Decode tensor files and dumps to npy, npz, bin or safetensors.",
      "Dumps become F.input.K.npy and F.output.K.npy, containers F.KEY.npy, overflow records\n"
      "F.output.K.json. Names that are too long are shortened and listed in mapping.csv.\n\n"
      "examples\n"
      "  plumb convert npu_dump/ -o npy/\n"
      "  plumb convert Conv2D.conv1.3.17.1682931245 -o npy/ --slot output:0 --layout NHWC\n"
      "  plumb convert checkpoint.pt -o out/ --format safetensors\n"
      "exit status: 0 all converted, 1 some tensor failed, 2 nothing converted or a path is "
      "unreadable");
  std::vector<std::string> paths;
  scan::ConvertOptions wanted;
  SelectionOptions selecting;
  CommonOptions common;
  options.arguments("PATH...", paths, "files or directories");
  options.group("output");
  options.text("-o,--output", "DIR", wanted.output, "directory for the results");
  options.text("--format", "NAME", wanted.format, "npy (default), npz, bin or safetensors");
  options.text("--layout", "NAME", wanted.layout,
               "plain (default: row-major, logical shape), stored (as\n"
               "in the file), or a layout such as NCHW or FRACTAL_Z");
  selecting.declare(options);
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (wanted.output.empty())
    return fail_with({"where should the results go?", "plumb convert", "name a directory: -o DIR"});
  auto read = selecting.request();
  if (!read) return fail_with(read.error());
  wanted.read = std::move(*read);
  context.jobs = common.jobs;

  auto conversion = scan::Conversion::plan(paths, wanted, context);
  if (!conversion) return fail_with(conversion.error());
  if (!common.quiet)
    for (const std::string& warning : conversion->warnings()) print_warning(warning);
  if (auto any = conversion->check(); !any) return fail_with(any.error());
  scan::ConvertReport report;
  {
    ProgressBar bar(context, common, conversion->source_bytes());
    report = conversion->run(context);
  }
  print_report(report, wanted.output, common.quiet);
  if (report.written == 0 || report.is_path_unreadable) return kTrouble;
  return report.failures.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
