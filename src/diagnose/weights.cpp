// SPDX-License-Identifier: Apache-2.0
//
// A constant of the model is not golden's: weights were changed, or converted in another way.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {

std::optional<result::Finding> explain_weights(const Suspect& suspect) {
  if (!suspect.node.is_source || !suspect.node.is_constant) return {};
  result::Finding finding = finding_about(suspect, 0.9);
  const double cosine = suspect.value("cosine");
  if (!std::isnan(cosine))
    finding.evidence.push_back(evidence_of(
        suspect,
        fmt::format("the constant itself has a cosine of {} to golden's", short_text(cosine)),
        "cosine", cosine));
  add_transform(suspect, finding);
  finding.advice =
      fmt::format("The weights of {} differ: convert the very model that golden was made with.",
                  suspect.accused);
  finding.next = suspect.of.commands.diff();
  if (finding.next.empty()) finding.next = look_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
