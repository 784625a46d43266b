// SPDX-License-Identifier: Apache-2.0
//
// Outputs that are infinite or NaN where golden's are finite, from inputs that are finite.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {

std::optional<result::Finding> explain_overflow(const Suspect& suspect) {
  if (!std::isinf(suspect.root.out)) return {};
  const double inf = suspect.value("target_inf"), nan = suspect.value("target_nan");
  const double golden_inf = suspect.value("golden_inf"), golden_nan = suspect.value("golden_nan");
  if (!(inf > golden_inf) && !(nan > golden_nan)) return {};
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.6 : 0.95);
  const bool is_inf = inf > golden_inf;
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format("{} {} where golden has {}; all that it reads is finite", is_inf ? inf : nan,
                  is_inf ? "infinities" : "NaN", is_inf ? golden_inf : golden_nan),
      is_inf ? "target_inf" : "target_nan", is_inf ? inf : nan));
  const double high = suspect.value("golden_max"), low = suspect.value("golden_min");
  const double largest = std::max(std::abs(high), std::abs(low));
  const std::string& dtype = suspect.its_row().target->dtype;
  constexpr double kFloat16 = 65504;
  if (!std::isnan(largest))
    finding.evidence.push_back(evidence_of(
        suspect,
        dtype == "float16" && largest > kFloat16
            ? fmt::format("golden reaches {}, float16 ends at 65504", short_text(largest))
            : fmt::format("golden reaches {} there, the target stores {}", short_text(largest),
                          dtype),
        std::abs(high) >= std::abs(low) ? "golden_max" : "golden_min", largest));
  // Far from where the type ends something else gives no number.
  constexpr double kNear = 1e-2;
  if (largest < kNear * (dtype == "float16" ? kFloat16 : 3e38)) {
    finding.confidence *= 0.7;
    finding.advice = fmt::format(
        "{} gives values that are not finite although golden's are small: an intermediate sum that "
        "overflows, a division by zero, or a logarithm or root of a negative number.",
        suspect.accused);
    finding.next = look_command(suspect);
    return finding;
  }
  finding.advice = fmt::format(
      "{} overflows. Keep it in float32 (atc: --keep_dtype or --modify_mixlist with its name, or "
      "--precision_mode_v2=origin for all), or scale what it reads.",
      suspect.accused);
  finding.next = convert_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
