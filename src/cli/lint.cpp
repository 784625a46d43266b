// SPDX-License-Identifier: Apache-2.0
//
// `plumb lint CONFIG`: mistakes in a pre-processing or quantization configuration, before they cost
// a day.
#include "input/lint.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "graph/importers.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using namespace plumb::input;
using Json = nlohmann::ordered_json;
using report::counted;
using report::printable;

Result<std::optional<double>> tolerance_from(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<double>();
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value >= 0) return std::optional(value);
  return Error{"a number was expected", fmt::format("{} {}", option, text),
               fmt::format("for example {} 0.01", option)};
}

std::string coloured(Severity severity, bool colour) {
  const std::string_view name = name_of(severity);
  if (!colour) return std::string(name);
  const char* code = severity == Severity::kError     ? "31"
                     : severity == Severity::kWarning ? "33"
                                                      : "90";
  return fmt::format("\033[{}m{}\033[0m", code, name);
}

std::string place_of(const LintFinding& finding) {
  if (finding.file.empty()) return "";
  return finding.line == 0 ? printable(finding.file) + ": "
                           : fmt::format("{}:{}: ", printable(finding.file), finding.line);
}

size_t count_of(const LintReport& report, Severity severity) {
  size_t count = 0;
  for (const LintFinding& finding : report.findings) count += finding.severity == severity;
  return count;
}

void print_report(const LintReport& report, const Config* config) {
  const bool colour = colour_is_wanted();
  for (const LintFinding& finding : report.findings)
    fmt::print("{}{} {}: {}\n  where: {}\n  try:   {}\n", place_of(finding),
               coloured(finding.severity, colour), finding.rule, printable(finding.what),
               printable(finding.evidence), printable(finding.fix));
  if (config != nullptr)
    for (const ConfigField& field : config->unknown)
      fmt::print("{}:{}: {}: field '{}' is not known here and was not looked at{}\n",
                 printable(config->file), field.line, coloured(Severity::kInfo, colour),
                 printable(field.path), field.hint.empty() ? "" : "; " + printable(field.hint));
  for (const NotChecked& left : report.not_checked)
    fmt::print("not checked: {} needs {}\n", left.rule, printable(left.needs));
  const size_t errors = count_of(report, Severity::kError);
  const size_t warnings = count_of(report, Severity::kWarning);
  const size_t notes =
      count_of(report, Severity::kInfo) + (config != nullptr ? config->unknown.size() : 0);
  fmt::print("{}, {}, {}\n", counted(errors, "error"), counted(warnings, "warning"),
             counted(notes, "note"));
}

Json json_of(const LintReport& report, const Config* config) {
  Json findings = Json::array(), left = Json::array(), unknown = Json::array();
  for (const LintFinding& finding : report.findings)
    findings.push_back({{"rule", finding.rule},
                        {"severity", name_of(finding.severity)},
                        {"file", finding.file},
                        {"line", finding.line == 0 ? Json() : Json(finding.line)},
                        {"what", finding.what},
                        {"evidence", finding.evidence},
                        {"fix", finding.fix}});
  for (const NotChecked& entry : report.not_checked)
    left.push_back({{"rule", entry.rule}, {"needs", entry.needs}});
  if (config != nullptr)
    for (const ConfigField& field : config->unknown)
      unknown.push_back({{"field", field.path}, {"line", field.line}, {"hint", field.hint}});
  return {{"schema", "plumb.lint/1"},
          {"tool", {{"name", "plumb"}, {"version", PLUMB_VERSION}}},
          {"config", config == nullptr ? Json() : Json(config->file)},
          {"summary",
           {{"error", count_of(report, Severity::kError)},
            {"warning", count_of(report, Severity::kWarning)},
            {"info", count_of(report, Severity::kInfo)}}},
          {"findings", std::move(findings)},
          {"not_checked", std::move(left)},
          {"unknown_fields", std::move(unknown)}};
}

Result<void> write_json(const std::string& path, const Json& document) {
  // Names in files may be any bytes.
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == "-") {
    fmt::print("{}", text);
    return {};
  }
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

}  // namespace

int run_lint(int argc, char** argv, RunContext&) {
  Options options(
      "lint", "Find mistakes in a pre-processing or quantization configuration.",
      "examples\n"
      "  plumb lint config.prototxt\n"
      "  plumb lint config.json --model output/frontend/optimized.onnx\n"
      "  plumb lint output_config.prototxt --other config.prototxt\n"
      "  plumb lint --atol 100000 --rtol 0.000001 --golden gt/onnx\n"
      "exit status: 0 nothing but notes, 1 errors or warnings, 2 something is unreadable");
  std::vector<std::string> paths;
  std::string model_path, other_path, atol, rtol, golden, json;
  bool rules = false;
  options.arguments("CONFIG", paths,
                    "Pulsar config.prototxt or output_config.prototxt, pulsar2\n"
                    "JSON, or the form of docs/inputs.md",
                    false);
  options.group("what else is at hand");
  options.text("--model", "FILE", model_path, "the optimised model: its layers, inputs and types");
  options.text("--other", "FILE", other_path, "the configuration that the build used");
  options.text("--atol", "X", atol, "absolute tolerance that a comparison is run with");
  options.text("--rtol", "X", rtol, "relative tolerance, likewise");
  options.text("--golden", "DIR", golden, "the values that it compares with");
  options.group("output");
  options.text("--json", "FILE", json, "write the findings as JSON; - for stdout");
  options.flag("--rules", rules, "list the rules and end");
  if (auto status = options.parse(argc, argv)) return *status;

  if (rules) {
    for (const LintRule& rule : lint_rules())
      fmt::print("{}  {:<8} {}\n", rule.id, name_of(rule.severity), rule.summary);
    return kAgreement;
  }
  const bool has_tolerance = !atol.empty() || !rtol.empty();
  if (paths.size() > 1 || (paths.empty() && !has_tolerance))
    return fail_with({paths.empty() ? "which configuration?" : "one configuration at a time",
                      "plumb lint", "plumb lint config.prototxt"});
  const NamedPath outputs[] = {{"--json", json == "-" ? "" : json}};
  const NamedPath inputs[] = {{"CONFIG", paths.empty() ? "" : paths[0]},
                              {"--model", model_path},
                              {"--other", other_path},
                              {"--golden", golden}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());

  LintInput input;
  std::optional<Config> config, other;
  std::optional<graph::Graph> model;
  Tolerance tolerance;
  if (!paths.empty()) {
    auto read = read_config(paths[0]);
    if (!read) return fail_with(read.error());
    config = std::move(*read);
    input.config = &*config;
  }
  if (!other_path.empty()) {
    auto read = read_config(other_path);
    if (!read) return fail_with(read.error());
    other = std::move(*read);
    input.other = &*other;
  }
  if (!model_path.empty()) {
    auto read = graph::load_graph(model_path);
    if (!read) return fail_with(read.error());
    model = std::move(*read);
    input.model = &*model;
  }
  if (has_tolerance) {
    auto absolute = tolerance_from("--atol", atol), relative = tolerance_from("--rtol", rtol);
    if (!absolute) return fail_with(absolute.error());
    if (!relative) return fail_with(relative.error());
    tolerance.absolute = *absolute;
    tolerance.relative = *relative;
    if (!golden.empty()) {
      auto signals = read_signals(golden);
      if (!signals) return fail_with(signals.error());
      tolerance.golden = std::move(*signals);
      tolerance.has_golden = true;
    }
    input.tolerance = &tolerance;
  }

  const LintReport report = lint(input);
  if (json != "-") print_report(report, input.config);
  if (!json.empty())
    if (auto written = write_json(json, json_of(report, input.config)); !written)
      return fail_with(written.error());
  const size_t serious = count_of(report, Severity::kError) + count_of(report, Severity::kWarning);
  return serious > 0 ? kDifference : kAgreement;
}

}  // namespace plumb::cli
