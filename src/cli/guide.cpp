// SPDX-License-Identifier: Apache-2.0
#include "cli/guide.h"

#include <cerrno>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/file_sink.h"
#include "base/free_path.h"
#include "cli/terminal.h"
#include "guide/bundle.h"
#include "guide/environment_here.h"
#include "guide/walk_text.h"
#include "report/text.h"
#include "result/json_write.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;
using guide::Walk;
using report::printable;

// Lines of stdin, as a terminal, a pipe or ssh hands them over. Ctrl-C ends the waiting.
class StdinLines {
 public:
  // nullopt: there are no more.
  std::optional<std::string> next(const RunContext& context) {
    while (true) {
      if (const size_t end = pending_.find('\n'); end != std::string::npos) {
        std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      if (context.cancelled || pending_.size() > kLongest) return std::nullopt;
      pollfd waiting{STDIN_FILENO, POLLIN, 0};
      constexpr int kLookAtSignals = 200;  // milliseconds
      if (::poll(&waiting, 1, kLookAtSignals) <= 0) continue;
      char piece[4096];
      const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        if (pending_.empty()) return std::nullopt;
        return std::exchange(pending_, {});  // a last line without its end
      }
      pending_.append(piece, static_cast<size_t>(got));
    }
  }

 private:
  static constexpr size_t kLongest = size_t{1} << 16;
  std::string pending_;
};

// What is asked goes to stderr: stdout has the results.
class Dialogue {
 public:
  Dialogue(std::string file, const RunContext& context)
      : file_(std::move(file)), context_(context) {}

  guide::Leader leader() {
    return {[](const guide::Step& step) { enter(step); },
            [this](const guide::Question& question, bool is_extra, std::string_view complaint) {
              return ask(question, is_extra, complaint);
            },
            [this](const guide::Answers& answers) { keep(answers); },
            [](const std::string& failure) {
              fmt::print(stderr, "  ! not measured: {}\n", printable(failure));
            },
            [](const guide::Taken& taken) {
              fmt::print(stderr, "  => {}: {}\n", taken.outcome.word,
                         printable(taken.outcome.text));
            }};
  }

 private:
  static void enter(const guide::Step& step) {
    fmt::print(stderr, "\n{} [{}]\n  because {}\n", step.title, step.id, step.reason);
  }

  std::optional<std::string> ask(const guide::Question& question, bool is_extra,
                                 std::string_view complaint) {
    if (!complaint.empty()) fmt::print(stderr, "  ! {}\n", printable(complaint));
    while (true) {
      fmt::print(stderr, "? {}\n  {} = {}{}: ", question.text, question.key, kind_text(question),
                 is_extra ? " (Enter: leave it out)" : " (Enter: unknown)");
      std::fflush(stderr);
      auto line = lines_.next(context_);
      if (!line) fmt::print(stderr, "\n");
      if (!line || *line != "?") return line;
      fmt::print(stderr, "  {}\n",
                 question.how.empty() ? std::string_view("only you can tell") : question.how);
    }
  }

  // After each answer: whatever ends the program, what was answered is there.
  void keep(const guide::Answers& answers) {
    if (auto written = write_file(file_, to_toml(answers)); !written && !has_warned_) {
      has_warned_ = true;
      print_warning("answers are not kept: " + written.error().what);
    }
  }

  const std::string file_;
  const RunContext& context_;
  StdinLines lines_;
  bool has_warned_ = false;
};

Result<void> check_guide_options(const GuideOptions& options, const OutputOptions& output) {
  if (!options.bundle.empty() && fs::path(options.bundle).extension() != ".zip")
    return Error{"a bundle is a .zip file", "--bundle " + options.bundle,
                 "name it so: --bundle case.zip"};
  if (options.no_weights && options.bundle.empty())
    return Error{"there is nothing to leave weights out of", "--no-weights without --bundle",
                 "add --bundle FILE.zip"};
  for (const std::string& path : {options.bundle, output.json == "-" ? "" : output.json})
    if (!path.empty())
      if (auto fine = FileSink::check(path); !fine) return fine;
  return {};
}

// What stands on the command line is an answer, too.
Result<void> add_answers(const CircumstanceOptions& given, guide::Answers& answers) {
  const std::pair<const char*, const std::string&> keys[] = {
      {"target_env", given.target_env},
      {"golden_env", given.golden_env},
      {"topn_float", given.topn_float},
      {"topn_quant", given.topn_quant},
      {"topn_offline", given.topn_offline},
      {"topn_samples", given.topn_samples},
      {"calibration_size", given.calibration_size}};
  for (const auto& [key, text] : keys)
    if (!text.empty())
      if (auto set = answers.set(*guide::question_by_key(key), text); !set) return set;
  return {};
}

Result<void> keep_results(const Walk& walk, const std::string& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  for (const guide::Compared& compared : walk.compared) {
    auto sink = FileSink::create(fs::path(directory) / (compared.step + ".json"));
    if (!sink) return sink.error();
    result::write_json(compared.run, [&](std::string_view text) { sink->write(text); });
    if (auto done = sink->commit(); !done) return done;
  }
  return {};
}

// Outputs must not replace what the walk read.
Result<void> check_against_answers(const Walk& walk, const GuideOptions& options,
                                   const OutputOptions& output) {
  std::vector<NamedPath> inputs;
  for (const auto& [key, answer] : walk.answers.all())
    if (guide::question_by_key(key)->kind == guide::AnswerKind::kPath &&
        answer != guide::kUnknownAnswer)
      inputs.push_back({key, answer});
  const NamedPath outputs[] = {{"--bundle", options.bundle},
                               {"--json", output.json == "-" ? "" : output.json}};
  return check_outputs(outputs, inputs);
}

Result<void> write_bundle(const Walk& walk, const GuideOptions& options, std::FILE* to,
                          RunContext& context) {
  scan::Environment environment = scan::look_around({}, context);
  guide::add_engines(environment);
  environment.root.clear();
  for (scan::EnvPackage& package : environment.packages)
    std::erase_if(package.values, [](const auto& value) { return value.second.starts_with('/'); });
  auto bundle =
      guide::make_bundle(walk, {!options.no_weights, scan::to_json(environment)}, context);
  if (!bundle) return bundle.error();
  fmt::print(to, "bundle    {} will hold, with paths of this machine shortened to names:\n",
             printable(options.bundle));
  for (const std::string& line : bundle->contents)
    fmt::print(to, "            {}\n", printable(line));
  auto size = bundle->files.pack(options.bundle);
  if (!size) return size.error();
  fmt::print(to, "bundle    written, {}\n", report::bytes_text(static_cast<double>(*size)));
  return {};
}

// The end of a walk: on the screen and in files.
Result<void> present_walk(const Walk& walk, const GuideOptions& options,
                          const OutputOptions& output, RunContext& context) {
  const bool prints_json = output.json == "-";
  if (auto fine = check_against_answers(walk, options, output); !fine) return fine;
  if (!options.keep.empty())
    if (auto kept = keep_results(walk, options.keep); !kept) return kept;
  const std::string json = to_json(walk);
  if (prints_json)
    fmt::print("{}", json);
  else
    fmt::print("{}{}", verdict_text(walk, terminal_width(), wants_colour(output)),
               "path\n" + path_text(walk, terminal_width(), wants_colour(output)));
  if (!output.json.empty() && !prints_json)
    if (auto written = write_file(output.json, json); !written) return written;
  if (options.bundle.empty()) return {};
  return write_bundle(walk, options, prints_json ? stderr : stdout, context);
}

}  // namespace

void GuideOptions::declare(Options& options) {
  options.group("guide");
  options.flag("--guide", guide,
               "walk the troubleshooting paths instead: asks for what is\nmissing, compares, ends "
               "in a verdict");
  options.text("--answers", "FILE", answers,
               "answers (TOML, see docs/troubleshooting.md); nothing is\nasked then");
  options.flag("--ask", ask, "ask for what the answers lack, and keep it there");
  options.text("--bundle", "FILE.zip", bundle,
               "pack path, results, versions and a reproduction for\nsupport");
  options.flag("--no-weights", no_weights, "leave weights out of the bundle");
  options.text("--keep", "DIR", keep, "keep the results of the comparisons, as STEP.json");
}

int run_guide(const GuideOptions& options, const CircumstanceOptions& circumstances,
              const OutputOptions& output, const CommonOptions& common, RunContext& context) {
  if (auto fine = check_guide_options(options, output); !fine) return fail_with(fine.error());
  context.jobs = common.jobs;
  const bool asks = options.ask || options.answers.empty();
  const std::string file = options.answers.empty()
                               ? free_path(".", "plumb-answers", ".toml").filename().string()
                               : options.answers;
  Walk walk;
  std::error_code ignored;
  if (!options.answers.empty() && (!asks || fs::exists(options.answers, ignored))) {
    auto loaded = guide::load_answers(options.answers);
    if (!loaded) return fail_with(loaded.error());
    walk.answers = std::move(*loaded);
  }
  if (auto added = add_answers(circumstances, walk.answers); !added)
    return fail_with(added.error());
  if (!options.bundle.empty()) {
    auto scratch = TemporaryDirectory::make("plumb-guide");
    if (!scratch) return fail_with(scratch.error());
    walk.scratch = std::make_shared<TemporaryDirectory>(std::move(*scratch));
  }
  Dialogue dialogue(file, context);
  if (asks)
    fmt::print(stderr, "Answers are kept in {}; '?' tells how to get what is asked for.\n",
               printable(file));
  auto taken = guide::take(walk, asks ? dialogue.leader() : guide::Leader(), context);
  if (!taken) {
    if (!context.cancelled) print_error(taken.error());
    if (asks && !walk.answers.all().empty())
      fmt::print(stderr, "go on with: plumb diagnose --guide --answers {} --ask\n",
                 printable(file));
    return context.cancelled ? kInterrupted : kTrouble;
  }
  if (auto done = present_walk(walk, options, output, context); !done)
    return fail_with(done.error());
  return walk.findings.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
