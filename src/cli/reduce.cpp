// SPDX-License-Identifier: Apache-2.0
//
// `plumb reduce DIR`: puts statistics in the place of dump files, once or while they are written.
#include <cstdio>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "metrics/sketch.h"
#include "scan/reduce_tree.h"

namespace plumb::cli {
namespace {

using report::printable;
using scan::ReduceOutcome;
using scan::ReduceProgress;
using scan::ReduceReport;

std::string size_text(uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// "12 files reduced, 1.2 GB became 85.1 kB"
std::string reduced_totals_text(const ReduceProgress& p) {
  if (p.files == 0) return "nothing was reduced";
  return fmt::format("{} reduced, {} became {}", counted(p.files, "file"),
                     size_text(p.bytes_before), size_text(p.bytes_after));
}

// One line on the terminal that tells how far it has come.
class StatusLine {
 public:
  explicit StatusLine(bool is_shown) : is_shown_(is_shown) {}
  ~StatusLine() { clear(); }
  void show(const ReduceProgress& p) {
    if (!is_shown_) return;
    const uint64_t saved = p.bytes_before - std::min(p.bytes_before, p.bytes_after);
    const std::string text = fmt::format("\r\033[K{} reduced, {} saved, {} waiting",
                                         counted(p.files, "file"), size_text(saved), p.waiting);
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    is_there_ = true;
  }
  void clear() {
    if (is_there_) std::fputs("\r\033[K", stderr);
    is_there_ = false;
  }

 private:
  bool is_shown_, is_there_ = false;
};

void print_left(const ReduceReport& report) {
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, report.left.size()); ++i) print_error(report.left[i]);
  if (report.left.size() > kShown)
    print_warning(fmt::format("{} more files left as they are; --verbose names all of them",
                              report.left.size() - kShown));
}

struct ReduceRequest {
  std::vector<std::string> paths;
  scan::ReduceTreeOptions tree;
  std::string quiet_ms = "2000", interval_ms = "500", until_idle;
  bool verbose = false;
  CommonOptions common;
};

void declare_reduce_options(Options& options, ReduceRequest& request) {
  options.arguments("DIR", request.paths, "directory that a dump was, or is being, written to");
  options.group("what is kept");
  options.flag("--keep", request.tree.file.keep, "keep the dump files, too");
  options.flag("--keep-sketch", request.tree.file.sketch,
               "also keep a sketch of each tensor, from which `plumb compare`\n"
               "estimates cosine and distance");
  options.group("while the dump is written");
  options.flag("--watch", request.tree.watch, "go on with files as they arrive, until Ctrl-C");
  options.text("--until-idle", "S", request.until_idle,
               "end when nothing has happened for S seconds");
  options.text("--quiet-ms", "N", request.quiet_ms,
               "a file is finished when its writer has closed it, or when\n"
               "it has not changed for N milliseconds (default: 2000)");
  options.text("--interval-ms", "N", request.interval_ms,
               "look for changes every N milliseconds where the system does\n"
               "not tell of them (default: 500)");
  options.flag("--poll", request.tree.poll, "look for changes even if the system tells of them");
  options.group("output");
  options.flag("--verbose", request.verbose, "one line for each file");
  request.common.declare(options);
}

Result<int64_t> bounded_number_from(std::string_view option, const std::string& text,
                                    int64_t least) {
  constexpr int64_t kMost = 86'400'000;  // a day
  const auto value = number_from_text<int64_t>(text);
  if (value && *value >= least && *value <= kMost) return *value;
  return Error{fmt::format("'{}' is not a number from {} to {}", text, least, kMost),
               std::string(option), "`plumb reduce --help` shows the usage"};
}

Result<void> check_reduce_request(ReduceRequest& request) {
  if (request.paths.size() != 1)
    return Error{"one directory at a time",
                 fmt::format("plumb reduce {}", fmt::join(request.paths, " ")),
                 "call it once for each"};
  auto quiet = bounded_number_from("--quiet-ms", request.quiet_ms, 0);
  if (!quiet) return quiet.error();
  auto interval = bounded_number_from("--interval-ms", request.interval_ms, 1);
  if (!interval) return interval.error();
  request.tree.quiet = std::chrono::milliseconds(*quiet);
  request.tree.interval = std::chrono::milliseconds(*interval);
  if (request.until_idle.empty()) return {};
  auto seconds = bounded_number_from("--until-idle", request.until_idle, 1);
  if (!seconds) return seconds.error();
  request.tree.until_idle = std::chrono::seconds(*seconds);
  request.tree.watch = true;
  return {};
}

// Of one file, when its turn is over.
void tell_outcome(const ReduceRequest& request, const std::filesystem::path& path,
                  const ReduceOutcome& outcome) {
  if (request.verbose && outcome.state == scan::ReduceState::kReduced)
    fmt::print("{}: {} became {}{}\n", printable(path.string()), size_text(outcome.bytes_before),
               size_text(outcome.bytes_after), outcome.was_done ? ", was done before" : "");
  else if (request.verbose && outcome.error)
    fmt::print("{}: left, {}\n", printable(path.string()), printable(outcome.error->what));
  // A full disk should be known when it happens, not at the end of the day.
  else if (request.tree.watch && outcome.state == scan::ReduceState::kNotWritten)
    print_error(*outcome.error);
}

void print_reduce_report(const ReduceRequest& request, const ReduceReport& report) {
  std::string text = reduced_totals_text(report.totals);
  if (report.totals.files == 0 && report.left.empty() && report.before > 0)
    text += fmt::format(
        ": {} reduced before, no dump file is left",
        report.before == 1 ? "1 file was" : fmt::format("{} files were", report.before));
  if (report.already > 0) text += fmt::format(", {} were done before", report.already);
  if (!report.left.empty()) text += fmt::format(", {} left", counted(report.left.size(), "file"));
  fmt::print("{}: {}\n", printable(request.paths[0]), text);
  const bool quiet = request.common.quiet;
  if (!report.is_watched && request.tree.watch && !request.tree.poll && !quiet)
    print_warning("the system has no more watches to give: changes were looked for instead");
  if (report.no_sketch > 0 && !quiet)
    print_warning(
        fmt::format("--keep-sketch: {} reduced before without a sketch; of data that is "
                    "gone none can be made",
                    counted(report.no_sketch, "file")));
  print_left(report);
}

}  // namespace

int run_reduce(int argc, char** argv, RunContext& context) {
  Options options(
      "reduce",
      "Shrink a dump to statistics: every device dump file and FX array below DIR is replaced by\n"
      "its [min, max] pairs, as TorchAir's conversion script does it, with full statistics beside\n"
      "them. A file is deleted only after its replacement is on the disk and was read back.",
      fmt::format("examples\n"
                  "  plumb reduce msprobe_ge_dump/\n"
                  "  plumb reduce msprobe_fx_dump/ --watch --until-idle 60\n"
                  "  plumb reduce msprobe_ge_dump/ --keep-sketch    # {:.1f} kB for each tensor\n"
                  "exit status: 0 all reduced, 1 some files were left as they are, 2 there was "
                  "no\n"
                  "dump file or nothing could be done, 130 ended by Ctrl-C",
                  static_cast<double>(metrics::kSketchBytes) / 1000));
  ReduceRequest request;
  declare_reduce_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_reduce_request(request); !checked) return fail_with(checked.error());
  context.jobs = request.common.jobs;

  StatusLine line(ProgressBar::is_wanted(request.common));
  auto report = scan::reduce_tree(
      request.paths[0], request.tree, context,
      [&](const auto& path, const ReduceOutcome& outcome, const ReduceProgress& progress) {
        line.clear();
        tell_outcome(request, path, outcome);
        line.show(progress);
      });
  line.clear();
  if (!report) return fail_with(report.error());
  print_reduce_report(request, *report);
  return report->left.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
