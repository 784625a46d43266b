// SPDX-License-Identifier: Apache-2.0
//
// `plumb lint CONFIG`: mistakes in a pre-processing or quantization configuration, before they cost
// a day.
#include "input/lint.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using namespace plumb::input;
using report::counted;
using report::printable;

std::string coloured_severity(Severity severity, bool colour) {
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

void print_lint_report(const Linted& linted) {
  const bool colour = colour_is_wanted();
  const LintReport& report = linted.report;
  for (const LintFinding& finding : report.findings)
    fmt::print("{}{} {}: {}\n  where: {}\n  try:   {}\n", place_of(finding),
               coloured_severity(finding.severity, colour), finding.rule, printable(finding.what),
               printable(finding.evidence), printable(finding.fix));
  size_t notes = report.count(Severity::kInfo);
  if (linted.config) {
    for (const ConfigField& field : linted.config->unknown) {
      if (field.is_mistake) continue;  // told by a rule
      ++notes;
      fmt::print("{}:{}: {}: field '{}' is not known here and was not looked at\n",
                 printable(linted.config->file), field.line,
                 coloured_severity(Severity::kInfo, colour), printable(field.path));
    }
  }
  for (const NotChecked& left : report.not_checked)
    fmt::print("not checked: {} needs {}\n", left.rule, printable(left.needs));
  fmt::print("{}, {}, {}\n", counted(report.count(Severity::kError), "error"),
             counted(report.count(Severity::kWarning), "warning"), counted(notes, "note"));
}

int print_rules() {
  for (const LintRule& rule : lint_rules())
    fmt::print("{}  {:<8} {}\n", rule.id, name_of(rule.severity), rule.summary);
  return kAgreement;
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
  LintRequest request;
  std::string json;
  bool rules = false;
  options.arguments("CONFIG", paths,
                    "Pulsar config.prototxt or output_config.prototxt, pulsar2\n"
                    "JSON, or the form of docs/inputs.md",
                    false);
  options.group("what else is at hand");
  options.text("--model", "FILE", request.model,
               "the optimised model: its layers, inputs and types");
  options.text("--other", "FILE", request.other, "the configuration that the build used");
  options.text("--atol", "X", request.atol, "absolute tolerance that a comparison is run with");
  options.text("--rtol", "X", request.rtol, "relative tolerance, likewise");
  options.text("--golden", "DIR", request.golden, "the values that it compares with");
  options.group("output");
  options.text("--json", "FILE", json, "write the findings as JSON; - for stdout");
  options.flag("--rules", rules, "list the rules and end");
  if (auto status = options.parse(argc, argv)) return *status;
  if (rules) return print_rules();
  if (paths.size() > 1 || (paths.empty() && request.atol.empty() && request.rtol.empty()))
    return fail_with({paths.empty() ? "which configuration?" : "one configuration at a time",
                      "plumb lint", "plumb lint config.prototxt"});
  if (!paths.empty()) request.config = paths[0];
  const NamedPath outputs[] = {{"--json", json == "-" ? "" : json}};
  const NamedPath inputs[] = {{"CONFIG", request.config.value_or("")},
                              {"--model", request.model},
                              {"--other", request.other},
                              {"--golden", request.golden}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());

  auto linted = lint(request);
  if (!linted) return fail_with(linted.error());
  if (json == "-")
    fmt::print("{}", to_json(*linted));
  else
    print_lint_report(*linted);
  if (!json.empty() && json != "-")
    if (auto written = write_file(json, to_json(*linted)); !written)
      return fail_with(written.error());
  const LintReport& report = linted->report;
  const bool is_serious = report.count(Severity::kError) + report.count(Severity::kWarning) > 0;
  return is_serious ? kDifference : kAgreement;
}

}  // namespace plumb::cli
