// SPDX-License-Identifier: Apache-2.0
//
// Rules about the build: calibration data, layers, and whether a run gets the build's
// configuration.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/nearest.h"
#include "input/archive.h"
#include "input/lint_rules.h"

namespace plumb::input {
namespace {

std::string step_text(const Modification& m) {
  std::string text;
  const auto part = [&](std::string_view name, const std::vector<double>& numbers, double neutral) {
    const bool is_neutral = std::all_of(numbers.begin(), numbers.end(),
                                        [&](double number) { return number == neutral; });
    if (is_neutral) return;  // also if empty
    const bool is_one = std::all_of(numbers.begin(), numbers.end(),
                                    [&](double number) { return number == numbers[0]; });
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", name,
                        is_one ? fmt::format("{}", numbers[0]) : list_text(numbers));
  };
  part("slope", m.slope, 1);
  part("slope_divisor", m.slope_divisor, 1);
  part("bias", m.bias, 0);
  if (!text.empty() && !m.bias.empty()) part("bias_divisor", m.bias_divisor, 1);
  part("mean", m.mean, 0);
  part("std", m.std, 1);
  return text;
}

std::string standard_text(ColorStandard standard) {
  switch (standard) {
    case ColorStandard::kStudio: return "studio swing";
    case ColorStandard::kFull: return "full swing";
    case ColorStandard::kMatrix: return "matrix";
    default: return "";
  }
}

std::string without(const std::string& value, std::initializer_list<std::string_view> defaults) {
  return std::find(defaults.begin(), defaults.end(), value) == defaults.end() ? value : "";
}

// Everything that changes numbers, by what it is about; defaults are empty.
std::map<std::string, std::pair<std::string, int>> facts_of(const Config& config,
                                                            const std::set<std::string>& names) {
  std::map<std::string, std::pair<std::string, int>> facts;
  const auto put = [&](std::string key, std::string value, int line) {
    if (!value.empty()) facts[std::move(key)] = {std::move(value), line};
  };
  for (const std::string& name : names) {
    const std::string input = name.empty() ? "of the input" : fmt::format("of input '{}'", name);
    for (const auto& [tensors, side] : {std::pair{&config.model_inputs, "the model's"},
                                        {&config.runtime_inputs, "the run-time"}}) {
      const ConfigTensor* tensor = tensor_for(config, *tensors, name);
      if (tensor == nullptr) continue;
      put(fmt::format("{} colour space {}", side, input),
          without(std::string(name_of(tensor->color.value_or(ColorSpace::kAuto))), {"AUTO"}),
          tensor->line);
      put(fmt::format("{} layout {}", side, input),
          tensor->layout == AxisOrder::kNative ? ""
          : tensor->layout == AxisOrder::kNhwc ? "NHWC"
                                               : "NCHW",
          tensor->line);
      put(fmt::format("{} data type {}", side, input),
          without(tensor->data_type, {"UINT8", "DATA_TYPE_UNKNOWN"}), tensor->line);
      put(fmt::format("{} colour standard {}", side, input), standard_text(tensor->yuv.standard),
          tensor->line);
    }
    for (const auto& [list, what] : {std::pair{&config.arithmetic, "the arithmetic"},
                                     {&config.runtime_arithmetic, "the run-time arithmetic"}}) {
      const ConfigArithmetic* arithmetic = arithmetic_for(*list, name);
      if (arithmetic == nullptr) continue;
      std::string text;
      for (const ConfigStep& step : arithmetic->steps)
        if (const std::string part = step_text(step.change); !part.empty())
          text += (text.empty() ? "" : ", then ") + part;
      put(fmt::format("{} {}", what, input), text, arithmetic->line);
      put(fmt::format("the calibration type {}", input),
          without(arithmetic->type, {"UINT8", "DATA_TYPE_UNKNOWN"}), arithmetic->line);
    }
  }
  for (const ConfigLayer& layer : config.layers) {
    std::string who;
    for (const auto* words : {&layer.names, &layer.types, &layer.starts, &layer.ends})
      if (!words->empty())
        who += fmt::format("{}'{}'", who.empty() ? "" : " ", fmt::join(*words, "', '"));
    const std::string layer_text = who.empty() ? "of all layers" : "of " + who;
    put("the data type " + layer_text, without(layer.data_type, {"UINT8", "U8"}), layer.line);
    put("the output type " + layer_text, without(layer.output_data_type, {"U8"}), layer.line);
    put("the weight type " + layer_text, without(layer.weight_data_type, {"INT8", "S8"}),
        layer.line);
  }
  for (const ConfigCalibration& set : config.calibration) {
    const std::string input = set.name.empty()
                                  ? "of the calibration"
                                  : fmt::format("of the calibration of '{}'", set.name);
    put("the method " + input, without(set.method, {"MinMax"}), set.line);
    put("the strategy " + input, set.strategy, set.line);
    if (set.size) put("the size " + input, fmt::format("{}", *set.size), set.size_line);
    put("the data " + input, set.path.filename().string(), set.line);
  }
  return facts;
}

}  // namespace

void check_calibration(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  constexpr int64_t kFewest = 10;
  for (const ConfigCalibration& set : config.calibration) {
    const int line = set.size_line != 0 ? set.size_line : set.line;
    if (set.size && *set.size >= 0 && *set.size < kFewest)
      add(report, rule, config, line, "few calibration samples",
          fmt::format("{}size {}", of_input(set.name), *set.size),
          "use 32 or more of the kind the model will see; 1 is fine only to look at arithmetic");
    if (set.path.empty()) continue;
    std::error_code ignored;
    if (!std::filesystem::exists(set.path, ignored)) {
      report.not_checked.push_back(
          {rule.id, fmt::format("the calibration data {}", set.path.string())});
      continue;
    }
    auto entries = list_archive(set.path.string());
    if (!entries) {
      add(report, rule, config, set.line, "the calibration data cannot be read",
          fmt::format("{}: {}", entries.error().where, entries.error().what),
          entries.error().remedy);
      continue;
    }
    const auto there = std::ssize(*entries);
    if (set.size && *set.size > there)
      add(report, rule, config, line, "more samples are asked for than there are",
          fmt::format("{}size {}, {} holds {}", of_input(set.name), *set.size, set.path.string(),
                      there),
          "add samples, or ask for as many as there are");
    if ((!set.size || *set.size < 0) && there < kFewest)
      add(report, rule, config, set.line, "few calibration samples",
          fmt::format("{}{} holds {}", of_input(set.name), set.path.string(), there),
          "use 32 or more of the kind the model will see");
    std::map<std::pair<uint64_t, uint64_t>, const ArchiveEntry*> seen;
    const ArchiveEntry* twin = nullptr;
    const ArchiveEntry* first = nullptr;
    int64_t copies = 0;
    for (const ArchiveEntry& entry : *entries) {
      const auto [place, is_new] = seen.insert({{entry.size_bytes, entry.hash}, &entry});
      if (is_new) continue;
      if (copies++ == 0) first = place->second, twin = &entry;
    }
    if (copies > 0)
      add(report, rule, config, set.line, "some calibration samples are the same",
          fmt::format("{}{} of {} in {} are copies, e.g. {} of {}", of_input(set.name), copies,
                      there, set.path.string(), twin->name, first->name),
          "leave out the copies: they weigh one scene more than others");
  }
}

void check_layers_exist(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  if (config.layers.empty()) return;
  if (input.model == nullptr) {
    report.not_checked.push_back(
        {rule.id, "--model, the optimised graph whose layers are configured"});
    return;
  }
  std::set<std::string, std::less<>> names, types, tensors{"DEFAULT"};
  for (const graph::Operator& op : input.model->operators) {
    names.insert(op.name);
    types.insert(op.type);
    for (const graph::Output& output : op.outputs) tensors.insert(output.name);
  }
  const auto look = [&](const ConfigLayer& layer, const std::vector<std::string>& wanted,
                        const std::set<std::string, std::less<>>& known, std::string_view what) {
    for (const std::string& word : wanted) {
      bool found = known.contains(word);
      if (!found && layer.is_pattern) {
        bool sure = true;
        for (const std::string& name : known) {
          const auto matches = simple_regex_matches(word, name);
          sure &= matches.has_value();
          found |= matches.value_or(false);
        }
        if (!sure) {
          report.not_checked.push_back(
              {rule.id,
               fmt::format("a simpler expression than '{}' in line {}", word, layer.line)});
          continue;
        }
      }
      if (found) continue;
      const std::vector<std::string> all(known.begin(), known.end());
      add(report, rule, config, layer.line, fmt::format("the model has no {} '{}'", what, word),
          fmt::format("{} {} looked at; the line will have no effect",
                      counted(input.model->operators.size(), "operator"),
                      input.model->operators.size() == 1 ? "was" : "were"),
          did_you_mean(word, all) + "use names of the optimised graph");
    }
  };
  for (const ConfigLayer& layer : config.layers) {
    look(layer, layer.names, names, "layer");
    look(layer, layer.types, types, "operator of type");
    look(layer, layer.starts, tensors, "tensor");
    look(layer, layer.ends, tensors, "tensor");
  }
}

void check_float_layers(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  constexpr std::array<std::string_view, 9> kVerified{
      "LeakyRelu", "Sigmoid", "Relu", "Add", "Mul", "Div", "Sub", "Concat", "Softmax"};
  const auto check = [&](const ConfigLayer& layer, const std::string& type,
                         const std::string& name) {
    if (std::find(kVerified.begin(), kVerified.end(), type) != kVerified.end()) return;
    add(report, rule, config, layer.line, fmt::format("{} cannot be relied on as FP32", type),
        fmt::format("data_type: FP32 for {}; verified are {}",
                    name.empty() ? fmt::format("op_type {}", type)
                                 : fmt::format("layer {} ({})", name, type),
                    fmt::join(kVerified, ", ")),
        type == "Conv" ? "use U16, or output_data_type: FP32: only a Conv's output can be float"
                       : "use U16: the setting may be ignored without a word");
  };
  bool unknown = false;
  for (const ConfigLayer& layer : config.layers) {
    if (layer.data_type != "FP32") continue;
    for (const std::string& type : layer.types) check(layer, type, "");
    for (const std::string& name : layer.names) {
      if (input.model == nullptr) {
        unknown = true;
        continue;
      }
      for (const graph::Operator& op : input.model->operators)
        if (op.name == name) check(layer, op.type, name);
    }
  }
  if (unknown)
    report.not_checked.push_back({rule.id, "--model, to know the types of layers named FP32"});
}

void check_same(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  if (config.kind == ConfigKind::kPlain) return;  // nothing is built from it
  if (input.other == nullptr) {
    report.not_checked.push_back({rule.id, "--other, the configuration that the build used"});
    return;
  }
  std::set<std::string> names;
  for (const Config* each : {input.config, input.other}) {
    for (const auto* tensors : {&each->model_inputs, &each->runtime_inputs})
      for (const ConfigTensor& tensor : *tensors) names.insert(tensor.name);
    for (const auto* list : {&each->arithmetic, &each->runtime_arithmetic})
      for (const ConfigArithmetic& arithmetic : *list)
        if (!arithmetic.is_pattern) names.insert(arithmetic.name);
  }
  // An entry for all inputs is seen through the names of the inputs, if there are any.
  if (names.size() > 1) names.erase("");
  const auto here = facts_of(config, names), there = facts_of(*input.other, names);
  std::set<std::string> keys;
  for (const auto& [key, value] : here) keys.insert(key);
  for (const auto& [key, value] : there) keys.insert(key);
  for (const std::string& key : keys) {
    const auto a = here.find(key), b = there.find(key);
    const std::string ours = a == here.end() ? "the default" : a->second.first;
    const std::string theirs = b == there.end() ? "the default" : b->second.first;
    if (ours == theirs) continue;
    add(report, rule, config, a == here.end() ? 0 : a->second.second, key + " differs",
        fmt::format("{} here, {} in {}{}", ours, theirs, input.other->file,
                    b == there.end() ? "" : fmt::format(", line {}", b->second.second)),
        "run with the configuration that the build wrote (--output_config)");
  }
}

void check_float_model(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  if (config.kind != ConfigKind::kPulsar) return;
  if (input.model == nullptr) {
    report.not_checked.push_back({rule.id, "--model, to know the types of its inputs"});
    return;
  }
  for (const ModelInput& model : inputs_of(input.model)) {
    if (!model.dtype || kind_of(*model.dtype) != DKind::kFloat) continue;
    const ConfigArithmetic* arithmetic = arithmetic_for(config.arithmetic, model.name);
    const std::string type = arithmetic == nullptr ? "" : arithmetic->type;
    if (!type.empty() && type != "UINT8" && type != "DATA_TYPE_UNKNOWN") continue;
    add(report, rule, config, arithmetic == nullptr ? 0 : arithmetic->line,
        "a float input is calibrated with UINT8 data",
        fmt::format("input '{}' is {}, attributes.type is {}", model.name, name_of(*model.dtype),
                    type.empty() ? "not set" : type),
        "right for pictures; float calibration data needs type: FLOAT32");
  }
}

void check_fields(const LintRule& rule, const LintInput& input, LintReport& report) {
  for (const ConfigField& field : input.config->unknown)
    if (field.is_mistake)
      add(report, rule, *input.config, field.line,
          fmt::format("'{}' has no effect here", field.path),
          "no field of this name is read in this place",
          field.hint.empty() ? "leave it out; docs/inputs.md lists the fields" : field.hint);
}

void check_strategy(const LintRule& rule, const LintInput& input, LintReport& report) {
  for (const ConfigCalibration& set : input.config->calibration)
    if (set.strategy == "CALIB_STRATEGY_PER_CHANNEL")
      add(report, rule, *input.config, set.line, "per-channel calibration may lose accuracy here",
          fmt::format("{}calibration_strategy: {}", of_input(set.name), set.strategy),
          "the vendor recommends CALIB_STRATEGY_PER_TENSOR, with either observer; measure both "
          "(plumb quantize --per-tensor, --per-channel)");
}

}  // namespace plumb::input
