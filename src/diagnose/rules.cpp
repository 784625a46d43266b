// SPDX-License-Identifier: Apache-2.0
//
// The table of rules, the most specific first, and what they share.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/rule.h"
#include "tensor/shape.h"

namespace plumb::diagnose {

using Explain = std::optional<result::Finding>(const Suspect&);
Explain explain_arguments, explain_overflow, explain_weights, explain_inputs, explain_stale,
    explain_negative_slope, explain_saturation, explain_clipping, explain_input_range;
Explain explain_outlier_channel, explain_levels, explain_precision, explain_fusion;
Explain explain_transform, explain_operator;
Explain explain_model_weights, explain_model_levels, explain_model_precision,
    explain_model_operator;

extern const std::span<const Threshold> kClippingThresholds, kInputRangeThresholds,
    kOutlierThresholds, kPrecisionThresholds;
extern const std::span<const Threshold> kOperatorThresholds, kModelThresholds;

std::span<const Rule> rules() {
  // clang-format off
  static const Rule kRules[] = {
      {"arguments", "operator", "an argument of the call is not golden's", {}, explain_arguments},
      {"overflow", "overflow", "outputs are not finite, inputs are", {}, explain_overflow},
      {"weights", "weights", "a constant of the model is not golden's", {}, explain_weights},
      {"inputs-differ", "inputs_differ", "an input of the model is not golden's", {}, explain_inputs},
      {"input-range", "preprocessing", "much of an input of the model is beyond the range that it is quantized with", kInputRangeThresholds, explain_input_range},
      {"stale-buffer", "transform", "the output is another operator's, bit for bit", {}, explain_stale},
      {"model-weights", "weights", "the models have other weights there", kModelThresholds, explain_model_weights},
      {"model-levels", "quantization", "the target's weights take few values", kModelThresholds, explain_model_levels},
      {"model-precision", "precision_mode", "the target's weights are rounded to a narrower type", kModelThresholds, explain_model_precision},
      {"precision-mode", "precision_mode", "the output holds values of a narrower type than the network's", kPrecisionThresholds, explain_precision},
      {"negative-slope", "operator", "an activation is missing, or has another slope for negative values", {}, explain_negative_slope},
      {"saturation", "saturation", "values pile up at a limit where golden goes on", kClippingThresholds, explain_saturation},
      {"calibration-clipping", "calibration_clipping", "values on a grid end where golden goes on", kClippingThresholds, explain_clipping},
      {"outlier-channel", "outlier_channel", "one scale for a tensor whose largest channel is far larger than the others", kOutlierThresholds, explain_outlier_channel},
      {"levels", "quantization", "few values on an even grid", {}, explain_levels},
      {"model-operator", "operator", "the models have another attribute or operator there", {}, explain_model_operator},
      {"fusion", "fusion", "an operator that was made from several is wrong", {}, explain_fusion},
      {"transform", "transform", "golden becomes the target by a simple change", {}, explain_transform},
      {"operator", "operator", "inputs agree, outputs do not", kOperatorThresholds, explain_operator},
  };
  // clang-format on
  return kRules;
}

double Suspect::value(std::string_view metric) const {
  const metrics::Value value = of.run.value(its_row(), metric);
  return value.is_defined() ? value.number() : kUnknown;
}

std::string short_text(double value) { return fmt::format("{:.3g}", value); }

std::string percent_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

double confidence_of(const Root& root) {
  // A step three times what is normal may be chance, one of thirty is not.
  const double sure =
      std::isinf(root.out) ? 0.95 : std::clamp(1 - 1.2 / std::sqrt(root.ratio), 0.3, 0.97);
  return sure * (root.is_behind ? 0.6 : 1);
}

std::string look_command(const Suspect& suspect) {
  return suspect.of.commands.look_at(suspect.its_row().target->operator_name);
}

std::string convert_command(const Suspect& suspect) {
  const std::string command = suspect.of.commands.write_config();
  return command.empty() ? look_command(suspect) : command;
}

result::Evidence evidence_of(const Suspect& suspect, std::string text, std::string_view metric,
                             double value) {
  return {std::move(text), static_cast<int64_t>(suspect.row), std::string(metric), value};
}

// The output at which its own error was measured.
size_t measured_row(const Suspect& suspect) {
  const Node& node = suspect.node;
  if (!std::isnan(node.inherited)) return node.measured;
  for (const size_t row : node.outputs)
    if (const std::optional<result::OwnError> own = suspect.of.run.rows[row].own_error;
        own && own->measured && own->value == node.own)
      return row;
  return suspect.row;
}

// Whole and part of one row: that of many steps is a mean.
result::Evidence own_evidence(const Suspect& suspect) {
  const Node& node = suspect.node;
  const size_t row = measured_row(suspect);
  const double there = error_of_row(suspect.of.net, row);
  const double error = node.stands_for || !std::isfinite(there) ? suspect.root.out : there;
  constexpr double kNearly = 0.02;
  const std::string part =
      node.own < (1 - kNearly) * error    ? fmt::format("{} of it its own", short_text(node.own))
      : node.own <= (1 + kNearly) * error ? "all of it its own"
                                          : fmt::format("its own error {}", short_text(node.own));
  return {fmt::format("relative error {}, {}: {} times what is normal here", short_text(error),
                      part, short_text(suspect.root.ratio)),
          static_cast<int64_t>(row), "rel_euclid", error};
}

result::Finding finding_about(const Suspect& suspect, double confidence) {
  result::Finding finding;
  finding.operator_name = suspect.accused;
  finding.confidence = confidence;
  const Root& root = suspect.root;
  const result::Row& row = suspect.its_row();
  if (row.target->shape != row.golden->shape && row.target->shape && row.golden->shape)
    for (const auto& [side, name] : {std::pair(&row.target, "target"), {&row.golden, "golden"}})
      finding.evidence.push_back(
          evidence_of(suspect, fmt::format("{} has the shape {}", name, to_string(*(*side)->shape)),
                      "", static_cast<double>(element_count(*(*side)->shape).value_or(0))));
  if (std::isinf(root.out)) return finding;
  if (std::isfinite(suspect.node.own) && root.in > 0)
    finding.evidence.push_back(own_evidence(suspect));
  else
    finding.evidence.push_back(evidence_of(
        suspect,
        root.in > 0
            ? fmt::format(
                  "relative error {} where the inputs have {}: {} times what is normal here",
                  short_text(root.out), short_text(root.in), short_text(root.ratio))
            : fmt::format("relative error {}, {} times what is normal here", short_text(root.out),
                          short_text(root.ratio)),
        "rel_euclid", root.out));
  return finding;
}

void add_transform(const Suspect& suspect, result::Finding& finding) {
  if (!suspect.transform) return;
  const Transform& transform = *suspect.transform;
  finding.detail = transform.detail;
  finding.evidence.push_back(
      evidence_of(suspect,
                  std::isnan(transform.error)
                      ? fmt::format("{}: an error of {} remains", transform.text,
                                    short_text(transform.remaining))
                      : fmt::format("{}: of an error of {} {} remains", transform.text,
                                    short_text(transform.error), short_text(transform.remaining)),
                  "", transform.remaining));
}

}  // namespace plumb::diagnose
