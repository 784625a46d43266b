// SPDX-License-Identifier: Apache-2.0
//
// The model was fed something else than golden: before anything else can be read from the run.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {

std::optional<result::Finding> explain_inputs(const Suspect& suspect) {
  if (!suspect.node.is_source) return {};
  result::Finding finding = finding_about(suspect, 0.95);
  const double cosine = suspect.value("cosine");
  if (!std::isnan(cosine))
    finding.evidence.push_back(evidence_of(
        suspect, fmt::format("the input itself has a cosine of {} to golden's", short_text(cosine)),
        "cosine", cosine));
  finding.advice =
      "Feed both sides the same bytes, then compare again: nothing behind a wrong input "
      "tells anything about an operator.";
  add_transform(suspect, finding);
  if (suspect.transform) {
    finding.advice = fmt::format("{}. Pre-processing differs: put it right, then compare again.",
                                 suspect.transform->text);
    finding.advice[0] =
        static_cast<char>(std::toupper(static_cast<unsigned char>(finding.advice[0])));
  }
  finding.next = suspect.of.commands.show(suspect.its_row().target->operator_name);
  return finding;
}

}  // namespace plumb::diagnose
