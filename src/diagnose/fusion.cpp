// SPDX-License-Identifier: Apache-2.0
//
// An operator that the converter made from several is wrong, though what it reads is right.
#include <fmt/format.h>

#include "diagnose/converter_files.h"
#include "diagnose/rule.h"

namespace plumb::diagnose {

std::optional<result::Finding> explain_fusion(const Suspect& suspect) {
  if (suspect.node.origins < 2 || suspect.of.run.network == nullptr) return {};
  const auto place = static_cast<size_t>(&suspect.node - suspect.of.net.nodes.data());
  const auto& origins = suspect.of.run.network->nodes[place].origins;
  result::Finding finding = finding_about(suspect, 0.95 * confidence_of(suspect.root));
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format("it was made from {} operators: {}", origins.size(), fmt::join(origins, ", ")),
      "", static_cast<double>(origins.size())));
  add_transform(suspect, finding);
  // The same numbers in another order were computed rightly.
  if (finding.detail.starts_with("axes:")) return {};
  add_slope(suspect, finding);
  finding.advice = fmt::format(
      "The fused operator {} does not compute what {} compute one after the other. Convert once "
      "with "
      "fusion off (atc --fusion_switch_file=fusion_switch.cfg, in it {}) and compare again: if the "
      "error is gone, it was the fusion.",
      suspect.accused, fmt::join(origins, ", "), kFusionOff);
  finding.next = convert_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
