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

// A detail in words, by what stands before its colon; {0} and {1} are what stands behind it, up to
// a comma and from there. Some say all there is to say: the cause in front of them would only be
// noise.
struct DetailWords {
  std::string_view key, words;
  bool is_alone = false;
};
constexpr DetailWords kDetails[] = {
    {"affine", "scaled by {0}, then moved by {1}", true},
    {"affine_per_channel", "each channel has a scale and an offset of its own", true},
    {"argument", "input {0} is another one", true},
    {"attribute", "its attribute {0} differs", true},
    {"axes", "axes in the order {0}", true},
    {"cast", "{0}"},
    {"channel", "only in channel {0}"},
    {"channels_reversed", "channels in reverse order", true},
    {"flip", "turned around along axis {0}", true},
    {"levels", "{0} levels"},
    {"missing", "{0} is missing", true},
    {"negated", "all values have the other sign", true},
    {"offset", "moved by {0}", true},
    {"saturated", "values cut to {0} ... {1}"},
    {"scale", "scaled by {0}"},
    {"shift", "moved along axis {0} by {1}", true},
    {"size:1", "1 sample"},
    {"size", "{0} samples"},
    {"stale", "its output is that of {0}", true},
};

// Empty where the table does not fit.
std::string detail_in_words(const DetailWords& known, std::string_view detail) {
  if (known.key == detail && known.words.find('{') == known.words.npos)
    return std::string(known.words);
  const size_t colon = detail.find(':');
  if (colon == detail.npos || detail.substr(0, colon) != known.key) return "";
  const std::string_view rest = detail.substr(colon + 1);
  if (known.words.find("{1}") == known.words.npos)
    return fmt::format(fmt::runtime(known.words), rest);
  const size_t comma = rest.find(',');
  if (comma == rest.npos) return "";
  return fmt::format(fmt::runtime(known.words), rest.substr(0, comma), rest.substr(comma + 1));
}

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

std::string cause_in_words(const Finding& finding) {
  const std::string cause(cause_in_words(finding.cause));
  if (finding.detail.empty()) return cause;
  for (const DetailWords& known : kDetails)
    if (const std::string words = detail_in_words(known, finding.detail); !words.empty())
      return known.is_alone || finding.cause == "transform" ? words : cause + ": " + words;
  return fmt::format("{} ({})", cause, finding.detail);
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
  return fmt::format(
      "{}: {}",
      finding.operator_name.empty() ? "no single operator" : printable(finding.operator_name),
      printable(cause_in_words(finding)));
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
