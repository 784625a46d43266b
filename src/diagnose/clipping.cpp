// SPDX-License-Identifier: Apache-2.0
//
// Values pile up at a limit where golden goes on: the limit of a type, or the end of a range that
// calibration chose.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr double kRemains = 0.35, kGridRemains = 0.7;
constexpr Threshold kClippingTable[] = {
    {"remains", kRemains, "share of the error that may remain after golden was cut at the limits"},
    {"grid_remains", kGridRemains, "... where values stand on a grid, which rounds besides"},
};

bool is_cut(const Suspect& suspect) {
  if (!suspect.levels || !suspect.levels->is_clipped()) return false;
  const Levels& levels = *suspect.levels;
  const double remains = levels.is_grid ? kGridRemains : kRemains;
  return levels.after_clipping <= std::max(remains * levels.error, 4 * suspect.noise);
}

bool ends_at_type(const Levels& levels) {
  return (levels.at_high >= 1 && is_type_limit(levels.high)) ||
         (levels.at_low >= 1 && is_type_limit(levels.low));
}

// Somebody put a Clip there: no calibration did that.
bool is_by_clip(const Suspect& suspect) {
  return std::any_of(
      suspect.of.net.nodes.begin(), suspect.of.net.nodes.end(), [&](const Node& node) {
        return node.name == suspect.accused && node.inserted && node.type.starts_with("Clip");
      });
}

result::Finding cut_finding(const Suspect& suspect) {
  const Levels& levels = *suspect.levels;
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.6 : 0.93);
  finding.detail = fmt::format("saturated:{:.6g},{:.6g}", levels.low, levels.high);
  const bool at_high = levels.above >= levels.below;
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format("{} values stand at {:.6g}, where golden goes on to {:.6g}",
                  at_high ? levels.at_high : levels.at_low, at_high ? levels.high : levels.low,
                  at_high ? levels.golden_high : levels.golden_low),
      at_high ? "golden_max" : "golden_min", at_high ? levels.golden_high : levels.golden_low));
  finding.evidence.push_back(
      evidence_of(suspect,
                  fmt::format("golden cut at these limits leaves an error of {} of {}",
                              short_text(levels.after_clipping), short_text(levels.error)),
                  "", levels.after_clipping));
  return finding;
}

}  // namespace

extern const std::span<const Threshold> kClippingThresholds;
const std::span<const Threshold> kClippingThresholds = kClippingTable;

std::optional<result::Finding> explain_saturation(const Suspect& suspect) {
  if (!is_cut(suspect)) return {};
  const Levels& levels = *suspect.levels;
  const bool is_quantized = levels.is_grid || suspect.of.is_on_grids;
  if (is_quantized && !ends_at_type(levels) && !is_by_clip(suspect)) return {};
  result::Finding finding = cut_finding(suspect);
  finding.advice = fmt::format(
      "{} saturates: its values do not fit between {:.6g} and {:.6g}. Give it a wider type or "
      "another "
      "scale, or find what cuts there (a Clip, a Relu6, an integer of too few bits).",
      suspect.accused, levels.low, levels.high);
  finding.next = look_command(suspect);
  return finding;
}

std::optional<result::Finding> explain_clipping(const Suspect& suspect) {
  if (!is_cut(suspect)) return {};
  const Levels& levels = *suspect.levels;
  result::Finding finding = cut_finding(suspect);
  if (levels.is_grid)
    finding.evidence.push_back(
        evidence_of(suspect,
                    fmt::format("its values take {} levels, {:.6g} apart; golden takes {}",
                                levels.count, levels.step, levels.golden),
                    "", static_cast<double>(levels.count)));
  finding.advice = fmt::format(
      "The range that calibration chose for {} ends too early. Calibrate with data that reach "
      "{:.6g}, "
      "take min-max instead of a clipping observer for it, or leave it in 16 bits.",
      suspect.accused, std::max(std::abs(levels.golden_high), std::abs(levels.golden_low)));
  finding.next = look_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
