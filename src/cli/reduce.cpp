// SPDX-License-Identifier: Apache-2.0
//
// `plumb reduce DIR`: puts statistics in the place of dump files, once or while they are written.
#include <charconv>
#include <csignal>

#include <fmt/format.h>
#include <tbb/global_control.h>

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
std::string totals_text(const ReduceProgress& p) {
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
    fmt::print(stderr, "\r\033[K{} reduced, {} saved, {} waiting", counted(p.files, "file"),
               size_text(saved), p.waiting);
    std::fflush(stderr);
    is_there_ = true;
  }
  void clear() {
    if (is_there_) fmt::print(stderr, "\r\033[K");
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
  std::vector<std::string> paths;
  scan::ReduceTreeOptions tree;
  std::string quiet_ms = "2000", interval_ms = "500", until_idle;
  bool verbose = false;
  CommonOptions common;
  options.arguments("DIR", paths, "directory that a dump was, or is being, written to");
  options.group("what is kept");
  options.flag("--keep", tree.file.keep, "keep the dump files, too");
  options.flag("--keep-sketch", tree.file.sketch,
               "also keep a sketch of each tensor, from which `plumb compare`\n"
               "estimates cosine and distance");
  options.group("while the dump is written");
  options.flag("--watch", tree.watch, "go on with files as they arrive, until Ctrl-C");
  options.text("--until-idle", "S", until_idle, "end when nothing has happened for S seconds");
  options.text("--quiet-ms", "N", quiet_ms,
               "a file is finished when its writer has closed it, or when\n"
               "it has not changed for N milliseconds (default: 2000)");
  options.text("--interval-ms", "N", interval_ms,
               "look for changes every N milliseconds where the system does\n"
               "not tell of them (default: 500)");
  options.flag("--poll", tree.poll, "look for changes even if the system tells of them");
  options.group("output");
  options.flag("--verbose", verbose, "one line for each file");
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (paths.size() != 1)
    return fail_with({"one directory at a time",
                      fmt::format("plumb reduce {}", fmt::join(paths, " ")),
                      "call it once for each"});
  const auto number = [&](std::string_view option, const std::string& text,
                          int64_t least) -> Result<int64_t> {
    constexpr int64_t kMost = 86'400'000;  // a day
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc() && end == text.data() + text.size() && value >= least &&
        value <= kMost)
      return value;
    return Error{fmt::format("'{}' is not a number from {} to {}", text, least, kMost),
                 std::string(option), "`plumb reduce --help` shows the usage"};
  };
  auto quiet = number("--quiet-ms", quiet_ms, 0);
  if (!quiet) return fail_with(quiet.error());
  auto interval = number("--interval-ms", interval_ms, 1);
  if (!interval) return fail_with(interval.error());
  tree.quiet = std::chrono::milliseconds(*quiet);
  tree.interval = std::chrono::milliseconds(*interval);
  if (!until_idle.empty()) {
    auto seconds = number("--until-idle", until_idle, 1);
    if (!seconds) return fail_with(seconds.error());
    tree.until_idle = std::chrono::seconds(*seconds);
    tree.watch = true;
  }
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));
  std::signal(SIGIO, SIG_IGN);    // see compare/reduce_file.h
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk

  StatusLine line(tree.watch && ProgressBar::is_wanted(common));
  const auto tell = [&](const std::filesystem::path& path, const ReduceOutcome& outcome,
                        const ReduceProgress& progress) {
    line.clear();
    if (verbose && outcome.state == scan::ReduceState::kReduced)
      fmt::print("{}: {} became {}{}\n", printable(path.string()), size_text(outcome.bytes_before),
                 size_text(outcome.bytes_after), outcome.was_done ? ", was done before" : "");
    else if (verbose && outcome.error)
      fmt::print("{}: left, {}\n", printable(path.string()), printable(outcome.error->what));
    // A full disk should be known when it happens, not at the end of the day.
    else if (tree.watch && outcome.state == scan::ReduceState::kNotWritten)
      print_error(*outcome.error);
    line.show(progress);
  };
  auto report = scan::reduce_tree(paths[0], tree, context, tell);
  line.clear();
  if (!report) return fail_with(report.error());
  const bool is_nothing = report->totals.files == 0 && report->left.empty();
  if (is_nothing && report->before == 0 && !context.cancelled)
    return fail_with({"nothing was reduced: there is no dump file", paths[0],
                      "name the directory that device dumps or FX arrays were written to"});
  std::string text = totals_text(report->totals);
  if (is_nothing && report->before > 0)
    text += fmt::format(
        ": {} reduced before, no dump file is left",
        report->before == 1 ? "1 file was" : fmt::format("{} files were", report->before));
  if (report->already > 0) text += fmt::format(", {} were done before", report->already);
  if (!report->left.empty()) text += fmt::format(", {} left", counted(report->left.size(), "file"));
  fmt::print("{}: {}\n", printable(paths[0]), text);
  if (!report->is_watched && tree.watch && !tree.poll && !common.quiet)
    print_warning("the system has no more watches to give: changes were looked for instead");
  if (report->no_sketch > 0 && !common.quiet)
    print_warning(
        fmt::format("--keep-sketch: {} reduced before without a sketch; of data that is "
                    "gone none can be made",
                    counted(report->no_sketch, "file")));
  print_left(*report);
  return report->left.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
