// SPDX-License-Identifier: Apache-2.0
#include "input/lint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/nearest.h"
#include "input/archive.h"
#include "io/file.h"
#include "tensor/decode.h"

namespace plumb::input {
namespace {

using Kind = Modification::Kind;

// ---- what rules share ----

std::string list_text(const std::vector<double>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

void add(LintReport& report, const LintRule& rule, const Config& config, int line, std::string what,
         std::string evidence, std::string fix) {
  report.findings.push_back({rule.id, rule.severity, config.file, line, std::move(what),
                             std::move(evidence), std::move(fix)});
}

const LintRule& rule_of(std::string_view id) {
  for (const LintRule& rule : lint_rules())
    if (rule.id == id) return rule;
  return lint_rules().front();
}

// "input 'data': ", if there is a name to tell inputs apart by.
std::string of_input(const std::string& name) {
  return name.empty() ? "" : fmt::format("input '{}': ", name);
}

bool same(const std::vector<double>& numbers, const std::array<double, 3>& known) {
  if (numbers.size() != 3) return false;
  for (size_t i = 0; i < 3; ++i)
    if (std::abs(numbers[i] - known[i]) > 1e-3 * known[i]) return false;
  return true;
}

std::array<double, 3> reversed(const std::array<double, 3>& a) { return {a[2], a[1], a[0]}; }

// Means of ImageNet as R, G, B; rounded ones included.
constexpr std::array<double, 3> kMeans[] = {
    {0.485, 0.456, 0.406},
    {123.675, 116.28, 103.53},
    {123.68, 116.779, 103.939},
    {123, 117, 104},
};

// In which order a well-known mean is written.
std::optional<ColorSpace> order_of(const std::vector<double>& mean) {
  for (const auto& known : kMeans) {
    if (same(mean, known)) return ColorSpace::kRgb;
    if (same(mean, reversed(known))) return ColorSpace::kBgr;
  }
  return std::nullopt;
}

// The model's tensor that some arithmetic is for.
const ConfigTensor* model_tensor(const Config& config, const std::string& name) {
  if (const ConfigTensor* tensor = tensor_for(config, config.model_inputs, name)) return tensor;
  return name.empty() && config.model_inputs.size() == 1 ? &config.model_inputs[0] : nullptr;
}

ColorSpace color_of(const Config& config, const std::string& name) {
  const ConfigTensor* tensor = model_tensor(config, name);
  const ColorSpace color =
      tensor == nullptr ? ColorSpace::kAuto : tensor->color.value_or(ColorSpace::kAuto);
  if (color != ColorSpace::kAuto || config.kind != ConfigKind::kPulsar) return color;
  // If the model's own colours are not said, Pulsar reads calibration pictures as the compiled
  // model will get them.
  const ConfigTensor* runtime = tensor_for(config, config.runtime_inputs, name);
  if (runtime == nullptr || !runtime->color || is_yuv(*runtime->color)) return color;
  return *runtime->color;
}

struct ModelInput {
  std::string name;
  std::optional<DType> dtype;
  Shape shape;
};

std::vector<ModelInput> inputs_of(const graph::Graph* model) {
  std::vector<ModelInput> inputs;
  if (model == nullptr) return inputs;
  for (const graph::Operator& op : model->operators)
    if ((op.type == "Data" || op.type == "Input") && op.subgraph.empty() && op.outputs.size() == 1)
      inputs.push_back({op.name, op.outputs[0].dtype, op.outputs[0].shape.value_or(Shape{})});
  return inputs;
}

std::optional<int64_t> channels_for(const LintInput& input, const std::string& name) {
  const ColorSpace color = color_of(*input.config, name);
  if (color != ColorSpace::kAuto && !is_yuv(color)) return channels_of(color);
  const auto inputs = inputs_of(input.model);
  for (const ModelInput& entry : inputs) {
    if (entry.name != name && !(name.empty() && inputs.size() == 1)) continue;
    if (auto axes =
            picture_axes({entry.name, DType::kFloat32, entry.shape, {}, ""}, AxisOrder::kNative))
      return axes->has_channels ? axes->channels : 1;
  }
  return std::nullopt;
}

// Every step, of calibration and of the compiled model.
template <class Use>
void each_step(const Config& config, Use&& use) {
  for (const auto* list : {&config.arithmetic, &config.runtime_arithmetic})
    for (const ConfigArithmetic& arithmetic : *list)
      for (const ConfigStep& step : arithmetic.steps) use(arithmetic, step);
}

double first_or(const std::vector<double>& numbers, double neutral) {
  return numbers.empty() ? neutral : numbers[0];
}

// ---- rules ----

void check_lengths(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L01");
  each_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step) {
    const auto channels = channels_for(input, arithmetic.name);
    size_t longest = 1;
    const Modification& m = step.change;
    using Line = std::tuple<const std::vector<double>&, std::string_view, bool>;
    for (const auto& [numbers, name, is_divisor] :
         {Line{m.mean, "mean", false}, Line{m.std, "std", true}, Line{m.slope, "slope", false},
          Line{m.slope_divisor, "slope_divisor", true}, Line{m.bias, "bias", false},
          Line{m.bias_divisor, "bias_divisor", true}}) {
      if (is_divisor && std::find(numbers.begin(), numbers.end(), 0.0) != numbers.end())
        add(report, rule, *input.config, name == "std" ? step.std_line : step.line,
            fmt::format("division by zero: {}", name),
            fmt::format("{}{}: {}", of_input(arithmetic.name), name, list_text(numbers)),
            "write the divisor that training used; 1 changes nothing");
      if (numbers.size() < 2) continue;
      const bool misfit =
          channels ? std::ssize(numbers) != *channels : longest > 1 && numbers.size() != longest;
      if (misfit)
        add(report, rule, *input.config, step.line,
            fmt::format("{} has {} numbers", name, numbers.size()),
            fmt::format("{}{}: {}; {}", of_input(arithmetic.name), name, list_text(numbers),
                        channels ? fmt::format("the input has {} channel{}", *channels,
                                               *channels == 1 ? "" : "s")
                                 : fmt::format("another list has {}", longest)),
            "write one number, or one for each channel");
      longest = std::max(longest, numbers.size());
    }
  });
}

void check_order(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L02");
  const Config& config = *input.config;
  each_step(config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step) {
    const auto order = order_of(step.change.mean);
    if (!order) return;
    const ColorSpace color = color_of(config, arithmetic.name);
    const ColorSpace meant = color == ColorSpace::kAuto ? ColorSpace::kBgr : color;
    if (meant == *order || (meant != ColorSpace::kBgr && meant != ColorSpace::kRgb)) return;
    auto turned = step.change.mean;
    std::reverse(turned.begin(), turned.end());
    add(report, rule, config, step.line,
        fmt::format("{} means are used with {} colours", name_of(*order), name_of(meant)),
        fmt::format("{}mean {} is ImageNet's in the order {}; the colours are {}{}",
                    of_input(arithmetic.name), list_text(step.change.mean),
                    *order == ColorSpace::kRgb ? "R, G, B" : "B, G, R", name_of(color),
                    color == ColorSpace::kAuto ? ", which is BGR for three channels" : ""),
        fmt::format("say that the model takes {}, if it was trained so; else write {} (and the "
                    "std likewise)",
                    name_of(*order), list_text(turned)));
  });
}

void check_std_slip(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L03");
  constexpr std::array<double, 3> kSlips[] = {{0.229, 0.224, 0.255}, {58.395, 57.12, 65.025}};
  each_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step) {
    for (const auto& slip : kSlips)
      if (same(step.change.std, slip) || same(step.change.std, reversed(slip)))
        add(report, rule, *input.config, step.std_line, "std looks like a slip of the finger",
            fmt::format("{}std {}; ImageNet's is {}", of_input(arithmetic.name),
                        list_text(step.change.std),
                        slip[0] < 1 ? "0.229, 0.224, 0.225" : "58.395, 57.12, 57.375"),
            fmt::format("write {} instead of {}", slip[0] < 1 ? "0.225" : "57.375", slip[2]));
  });
}

// Where the values 0 to 255 of a picture have got to before each step.
struct Range {
  double low = 0, high = 255;
};
Range after(Range before, const Modification& m) {
  double slope = first_or(m.slope, 1), offset = 0;
  if (m.kind == Kind::kNormalization) {
    slope = 1 / first_or(m.std, 1);
    offset = -first_or(m.mean, 0) * slope;
  } else {
    slope /= first_or(m.slope_divisor, 1);
    offset = first_or(m.bias, 0) / first_or(m.bias_divisor, 1);
  }
  const double a = before.low * slope + offset, b = before.high * slope + offset;
  return {std::min(a, b), std::max(a, b)};
}

template <class Use>
void each_image_step(const Config& config, Use&& use) {
  for (const auto* list : {&config.arithmetic, &config.runtime_arithmetic})
    for (const ConfigArithmetic& arithmetic : *list) {
      // Values that are floats when they come in may have any range.
      if (!arithmetic.is_image || arithmetic.type == "FLOAT32") continue;
      Range range;
      for (const ConfigStep& step : arithmetic.steps) {
        use(arithmetic, step, range);
        range = after(range, step.change);
      }
    }
}

void check_scale(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L04");
  each_image_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step,
                                     Range range) {
    if (step.change.kind != Kind::kNormalization || step.change.mean.empty()) return;
    double largest = 0;
    for (const double mean : step.change.mean) largest = std::max(largest, std::abs(mean));
    if (largest == 0) return;
    const bool small_mean = largest <= 1 && range.high - range.low > 2;
    const bool large_mean = largest > 2 && range.high - range.low <= 2;
    if (!small_mean && !large_mean) return;
    add(report, rule, *input.config, step.line, "the mean is on another scale than the values",
        fmt::format("{}mean {} is subtracted from values between {} and {}",
                    of_input(arithmetic.name), list_text(step.change.mean), range.low, range.high),
        small_mean
            ? "divide by 255 first (an affine step with slope_divisor: 255), or write mean and std "
              "for values of 0 to 255"
            : "write mean and std for values of 0 to 1, or leave out the division before");
  });
}

void check_affine(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L05");
  each_image_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step,
                                     Range range) {
    if (step.change.kind != Kind::kAffine) return;
    const Range become = after(range, step.change);
    if (!(become.high - become.low > 4 * 255)) return;
    add(report, rule, *input.config, step.line, "the affine step multiplies instead of dividing",
        fmt::format("{}values of {} to {} become {} to {}", of_input(arithmetic.name), range.low,
                    range.high, become.low, become.high),
        "slope_divisor: 255 maps 0 to 255 to 0 to 1");
  });
}

void check_no_swap(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L06");
  const Config& config = *input.config;
  if (config.kind != ConfigKind::kPulsar2) return;
  for (const ConfigTensor& runtime : config.runtime_inputs) {
    const ConfigTensor* model = tensor_for(config, config.model_inputs, runtime.name);
    if (model == nullptr || !model->color || !runtime.color) continue;
    const auto is_color = [](ColorSpace c) {
      return c == ColorSpace::kBgr || c == ColorSpace::kRgb;
    };
    if (!is_color(*model->color) || !is_color(*runtime.color) || *model->color == *runtime.color)
      continue;
    add(report, rule, config, runtime.line, "channels will not be swapped at run time",
        fmt::format("{}tensor_format is {}, src_format is {}", of_input(runtime.name),
                    name_of(*model->color), name_of(*runtime.color)),
        fmt::format("feed the compiled model {}: the compiler never swaps RGB and BGR",
                    name_of(*model->color)));
  }
}

void check_embedded(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L07");
  const Config& config = *input.config;
  if (config.kind != ConfigKind::kPulsar2) return;
  for (const ConfigArithmetic& calibration : config.arithmetic) {
    if (calibration.steps.empty()) continue;
    const ConfigArithmetic* runtime = arithmetic_for(config.runtime_arithmetic, calibration.name);
    if (runtime != nullptr && !runtime->steps.empty()) continue;
    const Modification& m = calibration.steps[0].change;
    add(report, rule, config, calibration.steps[0].line,
        "the compiled model will normalise by the calibration's mean and std",
        fmt::format("{}calibration mean {}, std {}; mean and std of input_processors are not set",
                    of_input(calibration.name), list_text(m.mean), list_text(m.std)),
        "do not normalise again before feeding it; or set mean: [0], std: [1] in input_processors");
  }
}

void check_calibration(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L08");
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

void check_layers_exist(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L09");
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
          fmt::format("{} operators were looked at; the line will have no effect",
                      input.model->operators.size()),
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

void check_float_layers(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L10");
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

void check_standard(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L11");
  const Config& config = *input.config;
  for (const ConfigTensor& tensor : config.runtime_inputs) {
    if (!tensor.color || !is_yuv(*tensor.color)) continue;
    const ConfigTensor* model = tensor_for(config, config.model_inputs, tensor.name);
    if (tensor.yuv.standard != ColorStandard::kUnset ||
        (model != nullptr && model->yuv.standard != ColorStandard::kUnset))
      continue;
    const bool is_pulsar2 = config.kind == ConfigKind::kPulsar2;
    add(report, rule, config, tensor.line,
        fmt::format("{} without a colour standard", name_of(*tensor.color)),
        fmt::format("{}{} is not set{}", of_input(tensor.name),
                    is_pulsar2                          ? "csc_mode"
                    : config.kind == ConfigKind::kPlain ? "color_standard"
                                                        : "color_standard",
                    config.kind == ConfigKind::kPulsar
                        ? ": CSC_LEGACY, whose numbers are not published"
                        : ""),
        is_pulsar2 ? "set csc_mode to FullRange or LimitedRange, as the camera delivers it"
        : config.kind == ConfigKind::kPlain
            ? "set color_standard to full or studio, as the camera delivers it"
            : "set color_standard to CSS_ITU_BT601_FULL_SWING or CSS_ITU_BT601_STUDIO_SWING, as "
              "the "
              "camera delivers it");
  }
}

// ---- two configurations ----

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

void check_same(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L12");
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

void check_float_model(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L13");
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

void check_tolerance(const LintInput& input, LintReport& report) {
  const LintRule& rule = rule_of("L14");
  if (input.tolerance == nullptr) return;
  const Tolerance& tolerance = *input.tolerance;
  const auto tell = [&](std::string what, std::string evidence, std::string fix) {
    report.findings.push_back({rule.id, rule.severity,
                               input.config == nullptr ? "" : input.config->file, 0,
                               std::move(what), std::move(evidence), std::move(fix)});
  };
  if (tolerance.relative && *tolerance.relative >= 1)
    tell("the relative tolerance accepts zeros",
         fmt::format("rtol {}: a difference of 100 % passes", *tolerance.relative),
         "use 0.01 or less");
  if (!tolerance.absolute) return;
  if (!tolerance.has_golden) {
    report.not_checked.push_back({rule.id, "--golden, to know how large the values are"});
    return;
  }
  size_t drowned = 0;
  const Tolerance::Signal* largest = nullptr;
  for (const Tolerance::Signal& signal : tolerance.golden) {
    drowned += *tolerance.absolute > signal.largest;
    if (largest == nullptr || signal.largest > largest->largest) largest = &signal;
  }
  if (drowned == 0) return;
  tell("the tolerance exceeds the signal",
       fmt::format(
           "atol {}; in {} of {} golden tensors no value is larger, the largest of all is {} "
           "in {}",
           *tolerance.absolute, drowned, tolerance.golden.size(), largest->largest, largest->name),
       "any result would pass; use 0.01, or `plumb compare`, which judges by the tensors' own "
       "range");
}

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
    if (input.config != nullptr || rule.id == "L14") rule.check(input, report);
  return report;
}

Result<std::vector<Tolerance::Signal>> read_signals(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code code;
  if (fs::is_directory(path, code)) {
    for (fs::recursive_directory_iterator at(path, code), end; !code && at != end;
         at.increment(code))
      if (std::error_code ignored; at->is_regular_file(ignored))
        files.push_back(at->path().string());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  std::vector<Tolerance::Signal> signals;
  for (const std::string& name : files) {
    auto file = io::open_tensor_file(name);
    if (!file) {
      if (files.size() == 1) return file.error();
      continue;  // a directory holds other files, too
    }
    for (const TensorInfo& info : file->listing.tensors) {
      if (kind_of(info.dtype) == DKind::kComplex || kind_of(info.dtype) == DKind::kOpaque) continue;
      auto reader = file->open(info);
      if (!reader) return reader.error();
      Tolerance::Signal signal{info.name.empty() ? name : name + ", " + info.name, 0};
      std::vector<double> values;
      auto read = io::for_each_piece(*reader, [&](Bytes piece, int64_t, int64_t count) {
        values.resize(static_cast<size_t>(count));
        decode_double(reader->dtype(), piece.data(), count, values.data());
        for (const double value : values)
          if (std::abs(value) > signal.largest) signal.largest = std::abs(value);
      });
      if (!read) return std::move(read.error()).in(name);
      signals.push_back(std::move(signal));
    }
  }
  if (signals.empty())
    return Error{"there is no tensor to read", path, "pass the dump of the reference model"};
  return signals;
}

std::optional<std::string> channel_doubt(const Preprocess& preprocess) {
  const ColorSpace meant =
      preprocess.color == ColorSpace::kAuto ? ColorSpace::kBgr : preprocess.color;
  if (meant != ColorSpace::kBgr && meant != ColorSpace::kRgb) return std::nullopt;
  for (const Modification& change : preprocess.modifications) {
    const auto order = order_of(change.mean);
    if (!order || *order == meant) continue;
    return fmt::format("mean {} is ImageNet's in the order {}, but the model is fed {}{}",
                       list_text(change.mean), *order == ColorSpace::kRgb ? "R, G, B" : "B, G, R",
                       name_of(meant),
                       preprocess.color == ColorSpace::kAuto
                           ? fmt::format("; --input-color {} would fit", name_of(*order))
                           : "");
  }
  return std::nullopt;
}

}  // namespace plumb::input
