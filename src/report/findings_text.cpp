// SPDX-License-Identifier: Apache-2.0
#include "report/findings_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {
namespace {

using result::Finding;
using result::Run;

struct CauseWords {
  std::string_view cause, words;
};
constexpr CauseWords kCauses[] = {
    {"inputs_differ", "the inputs differ"},
    {"overflow", "overflow"},
    {"saturation", "saturation"},
    {"accumulated", "accumulated error"},
    {"fusion", "wrong fusion"},
    {"operator", "the operator computes something else"},
    {"precision_mode", "narrower data type"},
    {"quantization", "quantization"},
    {"calibration_clipping", "calibration range too small"},
    {"outlier_channel", "outlier channel"},
    {"calibration_set", "calibration set"},
    {"preprocessing", "pre-processing differs"},
    {"postprocessing", "post-processing differs"},
    {"environment", "another environment"},
    {"transform", "the tensor was changed in a simple way"},
    {"weights", "other weights"},
    {"unknown", "not known"},
};

// Of a model that is converted in stages, the one that loses the accuracy.
constexpr CauseWords kStages[] = {
    {"stage:quantization", "the quantization stage loses accuracy"},
    {"stage:conversion", "the conversion stage loses accuracy"},
    {"stage:both", "quantization and conversion together lose accuracy"},
    {"stage:unknown", "quantization or conversion loses accuracy"},
};

void add_finding(const Finding& finding, std::string_view key, Block& block) {
  block.line(key, fmt::format("{}, confidence {:.0f} %", finding_title(finding),
                              100 * finding.confidence));
  for (const result::Evidence& evidence : finding.evidence)
    block.line("", printable(evidence.text));
  if (!finding.consequences.empty())
    block.line("", fmt::format("{} inherit{} it: {}{}", finding.consequences.size(),
                               finding.consequences.size() == 1 ? "s" : "",
                               printable(finding.consequences.front()),
                               finding.consequences.size() > 1
                                   ? " to " + printable(finding.consequences.back())
                                   : ""));
  if (!finding.advice.empty()) block.line("advice", printable(finding.advice));
  if (!finding.next.empty()) block.verbatim("next", "$ " + printable(finding.next));
}

}  // namespace

std::string_view cause_in_words(std::string_view cause) {
  for (const CauseWords& each : kCauses)
    if (each.cause == cause) return each.words;
  return cause;
}

std::string finding_title(const Finding& finding) {
  for (const CauseWords& stage : kStages)
    if (stage.cause == finding.detail && finding.operator_name.empty())
      return std::string(stage.words);
  const std::vector<std::string_view> suspects = suspects_of(finding);
  if (!suspects.empty()) {
    const std::string place = fmt::format("somewhere from {} to {}", printable(suspects.front()),
                                          printable(suspects.back()));
    return finding.cause == "unknown" ? place
                                      : place + fmt::format(": {}", cause_in_words(finding.cause));
  }
  std::string title =
      finding.operator_name.empty() ? "no single operator" : printable(finding.operator_name);
  title += fmt::format(": {}", cause_in_words(finding.cause));
  if (!finding.detail.empty()) title += fmt::format(" ({})", printable(finding.detail));
  return title;
}

std::vector<std::string_view> suspects_of(const Finding& finding) {
  constexpr std::string_view kAmong = "among:";
  std::vector<std::string_view> suspects;
  if (!finding.operator_name.empty() || !finding.detail.starts_with(kAmong)) return suspects;
  std::string_view rest = std::string_view(finding.detail).substr(kAmong.size());
  for (size_t end = rest.find(','); end != rest.npos; end = rest.find(',')) {
    suspects.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  suspects.push_back(rest);
  return suspects;
}

bool has_culprit(const Run& run) {
  return !run.findings.empty() &&
         (run.findings.front().cause != "unknown" || !suspects_of(run.findings.front()).empty());
}

bool has_row_to_mark(const Run& run) {
  return has_culprit(run) && suspects_of(run.findings.front()).empty();
}

void add_culprit(const Run& run, Block& block) {
  if (!has_culprit(run)) return;
  // Where nothing is out of limits, no operator is to blame for anything yet.
  const bool is_quiet = run.summary().verdict == result::Verdict::kPass &&
                        !run.findings.front().operator_name.empty();
  add_finding(run.findings.front(), is_quiet ? "notable" : "culprit", block);
  if (run.findings.size() > 1)
    block.line("also", fmt::format("{}{}", finding_title(run.findings[1]),
                                   run.findings.size() > 2
                                       ? fmt::format(", and {} more; `plumb diagnose` tells all",
                                                     run.findings.size() - 2)
                                       : ""));
}

std::string findings_text(const Run& run, size_t width, bool colour, size_t first) {
  if (run.findings.empty()) return "nothing to explain: no compared tensor differs\n";
  Block block(width, colour);
  for (size_t i = 0; i < run.findings.size(); ++i)
    add_finding(run.findings[i], fmt::format("{}.", i + first), block);
  return block.text();
}

}  // namespace plumb::report
