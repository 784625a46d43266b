// SPDX-License-Identifier: Apache-2.0
#include "cli/output_options.h"

#include <algorithm>
#include <cstdio>

#include <tbb/parallel_for.h>

#include "base/run_command.h"
#include "cli/command_words.h"
#include "cli/terminal.h"
#include "report/annotations.h"
#include "report/terminal.h"
#include "report/writer.h"

namespace plumb::cli {

using metrics::Metric;

void OutputOptions::declare(Options& options) {
  options.group("output");
  options.texts("-o", "FILE", outputs,
                "write .html (the page), .svg (a picture), .xlsx, .csv,\n.json, .md, .junit.xml or "
                "code-quality-report.json;\nrepeatable");
  options.text("--json", "FILE", json,
               "write the result as JSON; '-' prints it instead of the\ntable");
  options.flag("--annotations", annotations,
               "print what is wrong as GitHub shows it beside a pull\nrequest (::error ...)");
  options.flag("--all", all, "show passing rows too");
  options.flag("--hints", hints, "show the limits with which rows would pass");
  options.choice("--color", "WHEN", colour, {"auto", "always", "never"}, "auto, always or never");
}

Result<void> OutputOptions::check() const {
  for (const std::string& output : outputs)
    if (auto writer = report::writer_for(output); !writer) return writer.error();
  return {};
}

std::vector<NamedPath> OutputOptions::paths() const {
  std::vector<NamedPath> named;
  for (const std::string& path : outputs) named.push_back({"-o", path});
  if (json != "-") named.push_back({"--json", json});
  return named;
}

std::string command_again(int argc, char** argv, const std::vector<std::string>& dropped) {
  std::string command = "plumb";
  for (const std::string& word : words_without(argc, argv, dropped))
    command += " " + shell_word(word);
  return command;
}

std::string result_file(const OutputOptions& options) {
  if (!options.json.empty() && options.json != "-") return options.json;
  for (const std::string& output : options.outputs)
    if (output.ends_with(".json")) return output;
  return {};
}

bool OutputOptions::have_page() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const std::string& output) {
    auto writer = report::writer_for(output);
    return writer && (*writer)->extension == ".html";
  });
}

std::vector<std::string> split_lists(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      words.push_back(list.substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

int exit_status(const result::Run& run, const std::vector<std::string>& allowed) {
  switch (judge::outcome_of(run, judge::allowance_from(allowed).value())) {
    case judge::Outcome::kAgreement: return kAgreement;
    case judge::Outcome::kDifference: return kDifference;
    case judge::Outcome::kTrouble: break;
  }
  return kTrouble;
}

bool wants_colour(const OutputOptions& options) {
  return options.colour == "always" || (options.colour == "auto" && colour_is_wanted());
}

bool print_json(const result::Run& run, const OutputOptions& options) {
  if (options.json != "-") return false;
  report::writer_for("result.json").value()->write(run, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
  return true;
}

bool write_files(const result::Run& run, const OutputOptions& options) {
  if (options.annotations && options.json != "-")
    std::fputs(report::annotations(run).c_str(), stdout);
  std::vector<std::pair<const report::Writer*, std::string>> files;
  for (const std::string& output : options.outputs)
    files.emplace_back(*report::writer_for(output), output);
  if (!options.json.empty() && options.json != "-")
    files.emplace_back(*report::writer_for("result.json"), options.json);
  std::vector<Result<void>> written(files.size());
  tbb::parallel_for(size_t{0}, files.size(), [&](size_t i) {
    written[i] = report::write_file(run, *files[i].first, files[i].second);
  });
  bool all_written = true;
  for (const Result<void>& file : written) {
    if (!file) print_error(file.error());
    all_written &= file.ok();
  }
  return all_written;
}

bool present(const result::Run& run, const OutputOptions& options,
             const std::vector<const Metric*>& wanted) {
  report::TerminalStyle style;
  style.width = terminal_width();
  style.ascii = shows_ascii_only();
  style.colour = wants_colour(options);
  style.all = options.all;
  style.hints = options.hints;
  if (!wanted.empty()) {
    style.metrics.clear();
    for (const Metric* metric : wanted) style.metrics.emplace_back(metric->name);
  }
  // What was found is on the screen before anything can go wrong with a file; if the screen is
  // gone, which main() tells, the files are written all the same.
  if (!print_json(run, options)) std::fputs(report::render(run, style).c_str(), stdout);
  return write_files(run, options);
}

}  // namespace plumb::cli
