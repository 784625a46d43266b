// SPDX-License-Identifier: Apache-2.0
//
// The model is fed numbers far beyond those that its input was quantized for: neither an operator
// is to blame nor the calibration, but what comes before the model.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr double kBeyond = 0.1;
constexpr Threshold kInputRangeTable[] = {
    {"beyond", kBeyond, "share of the input's values that have to be beyond the range"},
};

// Of the tensor that the suspect quantizes.
bool is_input(const Suspect& suspect) {
  const auto gives_it = [&](const Node& node) {
    return node.is_source && !node.is_constant &&
           std::find(node.outputs.begin(), node.outputs.end(), *suspect.node.stands_for) !=
               node.outputs.end();
  };
  return std::any_of(suspect.of.net.nodes.begin(), suspect.of.net.nodes.end(), gives_it);
}

}  // namespace

extern const std::span<const Threshold> kInputRangeThresholds;
const std::span<const Threshold> kInputRangeThresholds = kInputRangeTable;

std::optional<result::Finding> explain_input_range(const Suspect& suspect) {
  if (!suspect.node.stands_for || !suspect.levels || !is_input(suspect)) return {};
  const Levels& levels = *suspect.levels;
  const double beyond =
      static_cast<double>(levels.below + levels.above) / static_cast<double>(levels.elements);
  if (!(beyond >= kBeyond)) return {};
  result::Finding finding = finding_about(suspect, 0.95);
  finding.operator_name = suspect.its_row().target->operator_name;
  finding.detail = fmt::format("range:{:.6g},{:.6g}", levels.low, levels.high);
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format("{} quantizes it between {:.6g} and {:.6g}; {} of its values are beyond that",
                  suspect.node.name, levels.low, levels.high, percent_text(beyond)),
      "", beyond));
  finding.evidence.push_back(evidence_of(
      suspect, fmt::format("it is fed {:.6g} to {:.6g}", levels.golden_low, levels.golden_high),
      "golden_max", levels.golden_high));
  finding.advice = fmt::format(
      "Feed {} what the model was trained and quantized with: usually pixels lack --scale, --mean "
      "and --std (or a --config that has them). Nothing behind such an input tells anything about "
      "an operator.",
      finding.operator_name);
  finding.next = suspect.of.commands.show(finding.operator_name);
  return finding;
}

}  // namespace plumb::diagnose
