// SPDX-License-Identifier: Apache-2.0
//
// Which stage loses the accuracy of a quantized model, by the top-N that users measure on their own
// data: quantization (original to quantized original) or conversion (that to the model on the
// device). Up to one point is the price of quantization, from three points on it cannot be ignored.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/run_rule.h"

namespace plumb::diagnose {
namespace {

constexpr Threshold kStageTable[] = {
    {"acceptable_drop", 1, "points of top-N (percent of the samples) that a stage may cost"},
    {"severe_drop", 3, "points from which on a stage is a severe cause"},
    {"fewest_samples", 10000, "samples that settle one point"},
};
enum { kAcceptableDrop, kSevereDrop, kSettlingSamples };

result::Evidence number(std::string text, double value) {
  return {std::move(text), std::nullopt, "", value};
}

// What all of these say: the two figures, the drop, and what it is measured with.
result::Finding drop_finding(const RunCase& of, std::string_view what, double from, double to,
                             double drop) {
  result::Finding finding;
  const bool is_severe = drop >= kStageTable[kSevereDrop].value;
  finding.confidence = is_severe ? 0.9 : 0.7;
  finding.evidence.push_back(number(
      fmt::format("top-N falls from {} to {} {}", percent_text(from), percent_text(to), what), to));
  finding.evidence.push_back(number(
      fmt::format(
          "{} points: {}", short_text(drop),
          is_severe ? fmt::format("{:g} or more cannot be ignored", kStageTable[kSevereDrop].value)
                    : fmt::format("more than the {:g} that is acceptable",
                                  kStageTable[kAcceptableDrop].value)),
      drop));
  if (const auto& samples = of.known().topn_samples;
      samples && static_cast<double>(*samples) < kStageTable[kSettlingSamples].value) {
    finding.confidence *= 0.7;
    finding.evidence.push_back(
        number(fmt::format("measured with {} samples only: {:g} or more would settle it", *samples,
                           kStageTable[kSettlingSamples].value),
               static_cast<double>(*samples)));
  }
  return finding;
}

bool exceeds(double drop) { return !std::isnan(drop) && drop > kStageTable[kAcceptableDrop].value; }

bool has_fused_operators(const result::Run& run) {
  return run.network != nullptr &&
         std::any_of(run.network->nodes.begin(), run.network->nodes.end(),
                     [](const result::NetworkNode& node) { return node.origins.size() > 1; });
}

}  // namespace

extern const std::span<const Threshold> kStageThresholds;
const std::span<const Threshold> kStageThresholds = kStageTable;

std::optional<result::Finding> explain_quantization_stage(const RunCase& of) {
  const result::Circumstances& known = of.known();
  const double drop = drop_in_points(known.topn_float, known.topn_quant);
  const double after = drop_in_points(known.topn_quant, known.topn_offline);
  const double total = drop_in_points(known.topn_float, known.topn_offline);
  if (exceeds(drop)) {
    result::Finding finding =
        drop_finding(of, "by quantization", *known.topn_float, *known.topn_quant, drop);
    finding.detail = "stage:quantization";
    finding.advice =
        "Quantization itself loses the accuracy: check that the calibration set represents the "
        "data of the application (10 to 100 samples), and leave the first and the last layers that "
        "can be quantized unquantized.";
    finding.next = "plumb diagnose --guide";
    return finding;
  }
  if (!exceeds(total) || exceeds(after)) return {};
  result::Finding finding = drop_finding(of, "from the original to the converted model",
                                         *known.topn_float, *known.topn_offline, total);
  if (known.topn_quant) {
    finding.confidence *= 0.6;
    finding.detail = "stage:both";
    finding.evidence.push_back(
        number(fmt::format("quantization costs {} points of it, conversion {}", short_text(drop),
                           short_text(after)),
               drop));
    finding.advice =
        "Each stage alone costs no more than is acceptable, both together do: quantize with more "
        "precision where it costs most.";
  } else {
    finding.confidence *= 0.5;
    finding.detail = "stage:unknown";
    finding.advice =
        "Measure the quantized original, too (--topn-quant): it tells whether quantization or "
        "conversion loses the accuracy.";
  }
  finding.next = "plumb diagnose --guide";
  return finding;
}

std::optional<result::Finding> explain_conversion_stage(const RunCase& of) {
  const result::Circumstances& known = of.known();
  const double drop = drop_in_points(known.topn_quant, known.topn_offline);
  if (!exceeds(drop)) return {};
  result::Finding finding =
      drop_finding(of, "by conversion", *known.topn_quant, *known.topn_offline, drop);
  finding.detail = "stage:conversion";
  if (has_fused_operators(of.run)) {
    finding.advice =
        "The conversion loses the accuracy, and operators are fused in the model that was "
        "compared: "
        "convert with fusion off and compare that with the quantized original first.";
  } else if (!of.found.empty() && !of.found.front().operator_name.empty()) {
    finding.advice = fmt::format(
        "The conversion loses the accuracy, in {}: leave that operator unquantized and quantize "
        "again.",
        of.found.front().operator_name);
  } else if (!of.found.empty() && of.found.front().cause == "accumulated") {
    finding.advice =
        "The conversion loses the accuracy a little in many operators: look at the quantization "
        "first, adjust its configuration and repeat.";
  } else {
    finding.advice =
        "The conversion loses the accuracy: compare the dump of the converted model (fusion off) "
        "with that of the quantized original, operator by operator.";
  }
  finding.next = "plumb diagnose --guide";
  return finding;
}

}  // namespace plumb::diagnose
