// SPDX-License-Identifier: Apache-2.0
//
// Rules about what happens to a picture: the order and scale of its numbers, its colours.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "input/lint_rules.h"

namespace plumb::input {
namespace {

using ModificationKind = Modification::Kind;

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

// ... and its standard deviations.
constexpr std::array<double, 3> kStds[] = {{0.229, 0.224, 0.225}, {58.395, 57.12, 57.375}};

// In which order well-known numbers are written.
std::optional<ColorSpace> order_of(const std::vector<double>& numbers,
                                   std::span<const std::array<double, 3>> all_known) {
  for (const auto& known : all_known) {
    if (same(numbers, known)) return ColorSpace::kRgb;
    if (same(numbers, reversed(known))) return ColorSpace::kBgr;
  }
  return std::nullopt;
}

// The model's tensor that some arithmetic is for.
const ConfigTensor* model_tensor(const Config& config, const std::string& name) {
  if (const ConfigTensor* tensor = tensor_for(config, config.model_inputs, name)) return tensor;
  return name.empty() && config.model_inputs.size() == 1 ? &config.model_inputs[0] : nullptr;
}

ColorSpace color_of(const Config& config, const std::string& name) {
  return model_color(config, model_tensor(config, name), name);
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

// Every step, of calibration, of the compiled model, and what stands where nobody reads it.
template <class Use>
void each_step(const Config& config, Use&& use) {
  for (const auto* list : {&config.arithmetic, &config.runtime_arithmetic, &config.misplaced})
    for (const ConfigArithmetic& arithmetic : *list)
      for (const ConfigStep& step : arithmetic.steps) use(arithmetic, step);
}

double first_or(const std::vector<double>& numbers, double neutral) {
  return numbers.empty() ? neutral : numbers[0];
}

// Where the values 0 to 255 of a picture have got to before each step.
struct Range {
  double low = 0, high = 255;
};
Range after(Range before, const Modification& m) {
  double slope = first_or(m.slope, 1), offset = 0;
  if (m.kind == ModificationKind::kNormalization) {
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
  for (const auto* list : {&config.arithmetic, &config.runtime_arithmetic, &config.misplaced})
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

// How a configuration of that kind divides before it subtracts; empty if it cannot.
std::string_view division_before(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::kPulsar:
      return "divide by 255 first (`affine_preprocess { slope: 1 slope_divisor: 255 }` in front of "
             "input_normalization), or ";
    case ConfigKind::kPlain: return "divide by 255 first (\"scale\": 0.00392156862745098), or ";
    default: return "";
  }
}

}  // namespace

void check_lengths(const LintRule& rule, const LintInput& input, LintReport& report) {
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

void check_order(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  each_step(config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step) {
    const Modification& m = step.change;
    const auto mean = order_of(m.mean, kMeans), deviation = order_of(m.std, kStds);
    const ColorSpace color = color_of(config, arithmetic.name);
    const ColorSpace meant = color == ColorSpace::kAuto ? ColorSpace::kBgr : color;
    if (meant != ColorSpace::kBgr && meant != ColorSpace::kRgb) return;
    const bool is_mean = mean && *mean != meant;
    const auto wrong = is_mean ? mean : deviation;  // with a mean in the right order, the std alone
    if (!wrong || *wrong == meant) return;
    const std::vector<double>& numbers = is_mean ? m.mean : m.std;
    auto turned = numbers;
    std::reverse(turned.begin(), turned.end());
    add(report, rule, config, is_mean ? step.line : step.std_line,
        fmt::format("{} {} with {} colours", name_of(*wrong),
                    is_mean ? "means are used" : "std is used", name_of(meant)),
        fmt::format("{}{} {} is ImageNet's in the order {}; the colours are {}{}{}",
                    of_input(arithmetic.name), is_mean ? "mean" : "std", list_text(numbers),
                    *wrong == ColorSpace::kRgb ? "R, G, B" : "B, G, R", name_of(color),
                    color == ColorSpace::kAuto ? ", which is BGR for three channels" : "",
                    !is_mean && mean ? ", and the mean is in their order" : ""),
        is_mean || !mean
            ? fmt::format("say that the model takes {}, if it was trained so; else write {}{}",
                          name_of(*wrong), list_text(turned),
                          is_mean && deviation != meant ? " (and the std likewise)" : "")
            : fmt::format("write {}", list_text(turned)));
  });
}

void check_std_slip(const LintRule& rule, const LintInput& input, LintReport& report) {
  constexpr std::array<double, 3> kSlips[] = {{0.229, 0.224, 0.255}, {58.395, 57.12, 65.025}};
  each_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step) {
    for (const auto& slip : kSlips) {
      const bool is_reversed = same(step.change.std, reversed(slip));
      const auto ordered = [&](const std::array<double, 3>& known) {  // as they were written
        const std::array<double, 3> shown = is_reversed ? reversed(known) : known;
        return list_text({shown.begin(), shown.end()});
      };
      if (same(step.change.std, slip) || is_reversed)
        add(report, rule, *input.config, step.std_line, "std looks like a slip of the finger",
            fmt::format("{}std {}; ImageNet's is {}", of_input(arithmetic.name),
                        list_text(step.change.std), ordered(slip[0] < 1 ? kStds[0] : kStds[1])),
            fmt::format("write {} instead of {}", slip[0] < 1 ? "0.225" : "57.375", slip[2]));
    }
  });
}

// Whether a mean is of values of 0 to 1 where they are 0 to 255 (kSmall), or the other way round.
enum class MeanScale : char { kFits, kSmall, kLarge };
MeanScale scale_of_mean(const Modification& m, Range range) {
  if (m.kind != ModificationKind::kNormalization) return MeanScale::kFits;
  double largest = 0;
  for (const double mean : m.mean) largest = std::max(largest, std::abs(mean));
  if (largest == 0) return MeanScale::kFits;
  if (largest <= 1 && range.high - range.low > 2) return MeanScale::kSmall;
  return largest > 2 && range.high - range.low <= 2 ? MeanScale::kLarge : MeanScale::kFits;
}

void check_scale(const LintRule& rule, const LintInput& input, LintReport& report) {
  each_image_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step,
                                     Range range) {
    const MeanScale scale = scale_of_mean(step.change, range);
    if (scale == MeanScale::kFits) return;
    add(report, rule, *input.config, step.line, "the mean is on another scale than the values",
        fmt::format("{}mean {} is subtracted from values between {} and {}",
                    of_input(arithmetic.name), list_text(step.change.mean), range.low, range.high),
        scale == MeanScale::kSmall
            ? fmt::format("{}write mean and std for values of 0 to 255",
                          division_before(input.config->kind))
            : "write mean and std for values of 0 to 1, or leave out the division before");
  });
}

void check_affine(const LintRule& rule, const LintInput& input, LintReport& report) {
  each_image_step(*input.config, [&](const ConfigArithmetic& arithmetic, const ConfigStep& step,
                                     Range range) {
    if (step.change.kind != ModificationKind::kAffine) return;
    const Range become = after(range, step.change);
    if (!(become.high - become.low > 4 * 255)) return;
    add(report, rule, *input.config, step.line, "the affine step multiplies instead of dividing",
        fmt::format("{}values of {} to {} become {} to {}", of_input(arithmetic.name), range.low,
                    range.high, become.low, become.high),
        "slope_divisor: 255 maps 0 to 255 to 0 to 1");
  });
}

void check_no_swap(const LintRule& rule, const LintInput& input, LintReport& report) {
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

void check_embedded(const LintRule& rule, const LintInput& input, LintReport& report) {
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

void check_standard(const LintRule& rule, const LintInput& input, LintReport& report) {
  const Config& config = *input.config;
  for (const ConfigTensor& tensor : config.runtime_inputs) {
    if (!tensor.color || !is_yuv(*tensor.color)) continue;
    const ConfigTensor* model = tensor_for(config, config.model_inputs, tensor.name);
    if (tensor.yuv.standard != ColorStandard::kUnset ||
        (model != nullptr && model->yuv.standard != ColorStandard::kUnset))
      continue;
    std::string evidence, fix;
    switch (config.kind) {
      case ConfigKind::kPulsar:
        evidence = "color_standard is not set: CSC_LEGACY, whose numbers are not published";
        fix = "set color_standard to CSS_ITU_BT601_FULL_SWING or CSS_ITU_BT601_STUDIO_SWING";
        break;
      case ConfigKind::kPulsar2:
        evidence = "csc_mode is not set";
        fix = "set csc_mode to FullRange or LimitedRange";
        break;
      case ConfigKind::kPlain:
        evidence = "color_standard is not set";
        fix = "set color_standard to full or studio";
        break;
    }
    add(report, rule, config, tensor.line,
        fmt::format("{} without a colour standard", name_of(*tensor.color)),
        of_input(tensor.name) + evidence, fix + ", as the camera delivers it");
  }
}

std::optional<std::string> channel_doubt(const Preprocess& preprocess) {
  const ColorSpace meant =
      preprocess.color == ColorSpace::kAuto ? ColorSpace::kBgr : preprocess.color;
  if (meant != ColorSpace::kBgr && meant != ColorSpace::kRgb) return std::nullopt;
  for (const Modification& change : preprocess.modifications) {
    const auto order = order_of(change.mean, kMeans);
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

std::optional<std::string> scale_doubt(const Preprocess& preprocess, const engine::Port& port) {
  Range range;
  for (const Modification& change : preprocess.modifications) {
    if (const MeanScale scale = scale_of_mean(change, range); scale != MeanScale::kFits)
      return fmt::format(
          "mean {} is subtracted from values between {} and {} of a picture, which is another "
          "scale: {}",
          list_text(change.mean), range.low, range.high,
          scale == MeanScale::kSmall
              ? "--scale 0.00392156862745098, or a division by 255 in the configuration, is missing"
              : "mean and std are for values of 0 to 255, without a division before");
    range = after(range, change);
  }
  if (!preprocess.modifications.empty() || !port.dtype || kind_of(*port.dtype) != DKind::kFloat)
    return std::nullopt;
  return fmt::format(
      "pixels go into input '{}' ({}) as values of 0 to 255: neither --scale, --mean, --std nor a "
      "--config says how the model was trained; --scale 1 says that it takes them so",
      port.name, name_of(*port.dtype));
}

}  // namespace plumb::input
