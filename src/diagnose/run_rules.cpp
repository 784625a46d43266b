// SPDX-License-Identifier: Apache-2.0
//
// The table of rules about a run as a whole, and what they share.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/run_rule.h"

namespace plumb::diagnose {

using ExplainRun = std::optional<result::Finding>(const RunCase&);
ExplainRun explain_quantization_stage, explain_conversion_stage, explain_calibration_set,
    explain_environment;

extern const std::span<const Threshold> kStageThresholds, kCalibrationThresholds,
    kEnvironmentThresholds;

std::span<const RunRule> run_rules() {
  // clang-format off
  static const RunRule kRules[] = {
      {"quantization-stage", "quantization", "top-N falls from the original to the quantized original", kStageThresholds, explain_quantization_stage},
      {"conversion-stage", "operator", "top-N falls from the quantized original to the converted model", kStageThresholds, explain_conversion_stage},
      {"calibration-set", "calibration_set", "too few or too many samples calibrated what differs", kCalibrationThresholds, explain_calibration_set},
      {"environment", "environment", "versions around the models differ, or do not fit each other", kEnvironmentThresholds, explain_environment},
  };
  // clang-format on
  return kRules;
}

bool differs(const result::Run& run) {
  return std::any_of(run.rows.begin(), run.rows.end(), [](const result::Row& row) {
    return row.verdict == result::Verdict::kFail ||
           (row.verdict == result::Verdict::kInconclusive && row.target && row.golden);
  });
}

void explain_as_a_whole(result::Run& run) { explain_as_a_whole(run, differs(run)); }

void explain_as_a_whole(result::Run& run, bool is_different) {
  std::erase_if(run.findings, [](const result::Finding& finding) {
    return std::any_of(run_rules().begin(), run_rules().end(),
                       [&](const RunRule& rule) { return rule.name == finding.rule; });
  });
  std::vector<result::Finding> added;
  for (const RunRule& rule : run_rules()) {
    auto finding = rule.explain({run, is_different, run.findings});
    if (!finding) continue;
    finding->rule = rule.name;
    finding->cause = rule.cause;
    added.push_back(std::move(*finding));
  }
  if (added.empty()) return;
  // Before others of the same confidence: those tell where, these tell why.
  run.findings.insert(run.findings.begin(), added.begin(), added.end());
  std::stable_sort(run.findings.begin(), run.findings.end(),
                   [](const auto& a, const auto& b) { return a.confidence > b.confidence; });
}

std::optional<result::Evidence> worst_output(const result::Run& run) {
  const bool knows_outputs =
      std::any_of(run.rows.begin(), run.rows.end(),
                  [](const result::Row& row) { return row.is_model_output && row.target; });
  std::optional<result::Evidence> worst;
  int64_t next = 0;
  for (const result::Row& row : run.rows) {
    const int64_t place = next++;
    if ((knows_outputs && !row.is_model_output) || !row.target) continue;
    const metrics::Value cosine = run.value(row, "cosine");
    if (!cosine.is_defined() || std::isnan(cosine.number())) continue;
    if (!worst || cosine.number() < worst->value)
      worst = {fmt::format("{} has a cosine of {:.6g} to golden's", row.target->operator_name,
                           cosine.number()),
               place, "cosine", cosine.number()};
  }
  return worst;
}

double drop_in_points(const std::optional<double>& from, const std::optional<double>& to) {
  if (!from || !to || !std::isfinite(*from) || !std::isfinite(*to)) return kUnknown;
  // 76.0 % - 75.0 % is 1 point, whatever binary fractions make of it.
  return std::round((*from - *to) * 1e8) / 1e6;
}

}  // namespace plumb::diagnose
