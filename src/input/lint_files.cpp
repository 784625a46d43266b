// SPDX-License-Identifier: Apache-2.0
//
// The rules applied to files, and what they found as JSON.

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/number_from_text.h"
#include "graph/importers.h"
#include "input/lint.h"

namespace plumb::input {
namespace {

Result<std::optional<double>> tolerance_from(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<double>();
  const auto value = number_from_text<double>(text);
  if (value && *value >= 0) return value;
  return Error{"a number was expected", fmt::format("{} {}", option, text),
               fmt::format("for example {} 0.01", option)};
}

Result<Tolerance> tolerance_of(const LintRequest& request) {
  auto absolute = tolerance_from("--atol", request.atol);
  if (!absolute) return absolute.error();
  auto relative = tolerance_from("--rtol", request.rtol);
  if (!relative) return relative.error();
  Tolerance tolerance{*absolute, *relative, {}, !request.golden.empty()};
  if (!tolerance.has_golden) return tolerance;
  auto signals = read_signals(request.golden);
  if (!signals) return signals.error();
  tolerance.golden = std::move(*signals);
  return tolerance;
}

template <class T>
Result<void> keep(Result<T> read, std::optional<T>& kept) {
  if (!read) return read.error();
  kept = std::move(*read);
  return {};
}

template <class T>
const T* address_of(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

size_t LintReport::count(Severity severity) const {
  size_t count = 0;
  for (const LintFinding& finding : findings) count += finding.severity == severity;
  return count;
}

Result<Linted> lint(const LintRequest& request) {
  Linted linted;
  std::optional<Config> other;
  std::optional<graph::Graph> model;
  std::optional<Tolerance> tolerance;
  Result<void> read;
  if (request.config) read = keep(read_config(*request.config), linted.config);
  if (read && !request.other.empty()) read = keep(read_config(request.other), other);
  if (read && !request.model.empty()) read = keep(graph::load_graph(request.model), model);
  if (read && !(request.atol.empty() && request.rtol.empty()))
    read = keep(tolerance_of(request), tolerance);
  if (!read) return read.error();
  linted.report = lint(LintInput{address_of(linted.config), address_of(model), address_of(other),
                                 address_of(tolerance)});
  return linted;
}

std::string to_json(const Linted& linted) {
  const LintReport& report = linted.report;
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
  if (linted.config)
    for (const ConfigField& field : linted.config->unknown)
      unknown.push_back({{"field", field.path}, {"line", field.line}, {"hint", field.hint}});
  const Json document{{"schema", "plumb.lint/1"},
                      {"tool", tool_json()},
                      {"config", linted.config ? Json(linted.config->file) : Json()},
                      {"summary",
                       {{"error", report.count(Severity::kError)},
                        {"warning", report.count(Severity::kWarning)},
                        {"info", report.count(Severity::kInfo)}}},
                      {"findings", std::move(findings)},
                      {"not_checked", std::move(left)},
                      {"unknown_fields", std::move(unknown)}};
  return text_of_json(document, 2);
}

}  // namespace plumb::input
