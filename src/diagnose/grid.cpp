// SPDX-License-Identifier: Apache-2.0
//
// Values on an even grid, as quantization leaves them: one scale for channels of very different
// size, or simply too few levels.
#include <cmath>

#include <fmt/format.h>

#include "diagnose/grids.h"
#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr Threshold kOutlierTable[] = {
    {"spread", kSpread, "how many times the usual channel the largest one is"},
};

result::Finding grid_finding(const Suspect& suspect) {
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.55 : 0.9);
  const Levels& levels = *suspect.levels;
  finding.detail = fmt::format("levels:{}", levels.count);
  finding.evidence.push_back(
      evidence_of(suspect,
                  fmt::format("its values take {} levels, {:.6g} apart; golden takes {}",
                              levels.count, levels.step, levels.golden),
                  "", static_cast<double>(levels.count)));
  return finding;
}

}  // namespace

extern const std::span<const Threshold> kOutlierThresholds;
const std::span<const Threshold> kOutlierThresholds = kOutlierTable;

std::optional<result::Finding> explain_outlier_channel(const Suspect& suspect) {
  if (!suspect.levels || !suspect.levels->is_grid || suspect.values == nullptr) return {};
  const auto spread = channel_spread(*suspect.values);
  if (!spread || spread->ratio < kSpread || spread->others_error < 2 * suspect.node.out.relative)
    return {};
  // The grid has to be what the others lose by.
  const double rounding = suspect.levels->step / std::sqrt(12.0);
  if (2 * rounding < spread->others_error * spread->others_size) return {};
  result::Finding finding = grid_finding(suspect);
  finding.detail.clear();
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format(
          "channel {} (axis {}) is {} times as large as the usual one; the others are off by {}",
          spread->channel, spread->axis, short_text(spread->ratio),
          percent_text(spread->others_error)),
      "", spread->ratio));
  finding.advice = fmt::format(
      "One scale for all channels of {} leaves the small ones few levels. Quantize it per channel, "
      "spread "
      "the scales (cross-layer equalization), or leave it in 16 bits.",
      suspect.accused);
  finding.next = look_command(suspect);
  return finding;
}

// Where everything is quantized, that it is so explains nothing.
std::optional<result::Finding> explain_levels(const Suspect& suspect) {
  if (!suspect.levels || !suspect.levels->is_grid || suspect.of.is_on_grids) return {};
  result::Finding finding = grid_finding(suspect);
  finding.advice = fmt::format(
      "{} gives out {} different values: it is quantized, with too few bits or too wide a range. "
      "Give it more bits, or calibrate it again.",
      suspect.accused, suspect.levels->count);
  finding.next = look_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
