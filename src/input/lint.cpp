// SPDX-License-Identifier: Apache-2.0
#include "input/lint.h"

#include <array>

#include <fmt/format.h>

#include "input/lint_rules.h"

namespace plumb::input {
namespace {

constexpr std::array kRules{
    LintRule{"L01", Severity::kError, "as many means and stds as channels, no division by zero",
             check_lengths},
    LintRule{"L02", Severity::kWarning, "well-known means in the order of the colours",
             check_order},
    LintRule{"L03", Severity::kWarning, "std 0.225, not 0.255", check_std_slip},
    LintRule{"L04", Severity::kError, "mean on the scale of the values", check_scale},
    LintRule{"L05", Severity::kWarning, "affine steps divide where they should", check_affine},
    LintRule{"L06", Severity::kWarning, "pulsar2: RGB and BGR are never swapped", check_no_swap},
    LintRule{"L07", Severity::kWarning, "pulsar2: normalization inside the compiled model",
             check_embedded},
    LintRule{"L08", Severity::kWarning, "enough different calibration samples", check_calibration},
    LintRule{"L09", Severity::kWarning, "configured layers are in the model", check_layers_exist},
    LintRule{"L10", Severity::kError, "FP32 only where it is verified to work", check_float_layers},
    LintRule{"L11", Severity::kWarning, "NV12 and NV21 with a colour standard", check_standard},
    LintRule{"L12", Severity::kError, "run and build with the same configuration", check_same},
    LintRule{"L13", Severity::kInfo, "float inputs calibrated with 8-bit data", check_float_model},
    LintRule{"L14", Severity::kWarning, "a tolerance smaller than the values", check_tolerance},
    LintRule{"L15", Severity::kError, "fields where they belong, spelt as they are", check_fields},
    LintRule{"L16", Severity::kInfo, "the strategy that the vendor recommends", check_strategy},
};

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: break;
  }
  return "error";
}

std::span<const LintRule> lint_rules() { return kRules; }

LintReport lint(const LintInput& input) {
  LintReport report;
  for (const LintRule& rule : kRules)
    if (input.config != nullptr || rule.id == "L14") rule.check(rule, input, report);
  return report;
}

std::string list_text(const std::vector<double>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

void add(LintReport& report, const LintRule& rule, const Config& config, int line, std::string what,
         std::string evidence, std::string fix) {
  report.findings.push_back({rule.id, rule.severity, config.file, line, std::move(what),
                             std::move(evidence), std::move(fix)});
}

std::string of_input(const std::string& name) {
  return name.empty() ? "" : fmt::format("input '{}': ", name);
}

std::vector<ModelInput> inputs_of(const graph::Graph* model) {
  std::vector<ModelInput> inputs;
  if (model == nullptr) return inputs;
  for (const graph::Operator& op : model->operators)
    if ((op.type == "Data" || op.type == "Input") && op.subgraph.empty() && op.outputs.size() == 1)
      inputs.push_back({op.name, op.outputs[0].dtype, op.outputs[0].shape.value_or(Shape{})});
  return inputs;
}

}  // namespace plumb::input
