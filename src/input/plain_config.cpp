// SPDX-License-Identifier: Apache-2.0
//
// Our own form, for models that have no vendor's configuration: a JSON object with a list `inputs`,
// whose fields are called as the options of `plumb run` are. docs/inputs.md describes it.
#include <fmt/format.h>

#include "input/config.h"

namespace plumb::input {
namespace {

template <class T>
Result<void> set(const ConfigNode& node, std::string_view field, std::optional<T>& place,
                 std::optional<T> (*parse)(std::string_view), std::string_view remedy) {
  const ConfigNode* word = node.find(field);
  if (word == nullptr) return {};
  place = parse(word->value);
  if (place) return {};
  return not_understood(*word, fmt::format("'{}' is not understood", field), std::string(remedy));
}

std::optional<Resize> resize_in(std::string_view text) {
  auto resize = resize_from_text(text);
  return resize ? std::optional(*resize) : std::nullopt;
}

std::optional<Interpolation> interpolation_in(std::string_view text) {
  constexpr std::string_view kNames[] = {"bilinear", "nearest", "area", "cubic"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == text) return static_cast<Interpolation>(i);
  return std::nullopt;
}

std::optional<AxisOrder> layout_in_word(std::string_view text) {
  if (text == "NCHW") return AxisOrder::kNchw;
  if (text == "NHWC") return AxisOrder::kNhwc;
  return std::nullopt;
}

std::optional<ColorStandard> standard_in(std::string_view text) {
  if (text == "studio") return ColorStandard::kStudio;
  if (text == "full") return ColorStandard::kFull;
  return std::nullopt;
}

// scale, then mean and std, as the options of the same names.
Result<void> read_arithmetic(const ConfigNode& node, ConfigArithmetic& into) {
  ConfigStep scaling{{}, node.line, 0}, normalization{{}, node.line, 0};
  normalization.change.kind = Modification::Kind::kNormalization;
  using Line = std::tuple<std::string_view, ConfigStep*, std::vector<double>*>;
  for (const auto& [field, step, list] : {Line{"scale", &scaling, &scaling.change.slope},
                                          Line{"mean", &normalization, &normalization.change.mean},
                                          Line{"std", &normalization, &normalization.change.std}}) {
    auto numbers = numbers_of(node, field);
    if (!numbers) return numbers.error();
    if (!numbers->empty() && step->line == node.line) step->line = node.all(field).front()->line;
    *list = std::move(*numbers);
  }
  if (const auto nodes = node.all("std"); !nodes.empty()) normalization.std_line = nodes[0]->line;
  if (!scaling.change.slope.empty()) into.steps.push_back(std::move(scaling));
  if (!normalization.change.mean.empty() || !normalization.change.std.empty())
    into.steps.push_back(std::move(normalization));
  return {};
}

}  // namespace

Result<void> fill_from_plain(Config& config) {
  for (const ConfigNode* node : config.tree.all("inputs")) {
    ConfigTensor model, runtime;
    model.name = runtime.name = text_of(*node, "name");
    model.line = runtime.line = node->line;
    std::optional<AxisOrder> layout;
    std::optional<ColorStandard> standard;
    constexpr std::string_view kColors = "AUTO, BGR, RGB, GRAY, NV12, NV21, BGR0, YUYV or UYVY";
    for (auto read : {set(*node, "color", model.color, color_space_from_name, kColors),
                      set(*node, "source_color", runtime.color, color_space_from_name, kColors),
                      set(*node, "color_standard", standard, standard_in, "use studio or full"),
                      set(*node, "layout", layout, layout_in_word, "use NCHW or NHWC"),
                      set(*node, "resize", model.resize, resize_in,
                          "use stretch, short:256+crop, letterbox:114 or none"),
                      set(*node, "crop", model.crop, size_from_text, "use 224 or 640x480"),
                      set(*node, "interpolation", model.interpolation, interpolation_in,
                          "use bilinear, nearest, area or cubic")})
      if (!read) return read;
    model.layout = layout.value_or(AxisOrder::kNative);
    model.yuv.standard = standard.value_or(ColorStandard::kUnset);
    model.align_corners = text_of(*node, "align_corners") == "true";
    ConfigArithmetic arithmetic;
    arithmetic.name = model.name;
    arithmetic.line = node->line;
    if (auto read = read_arithmetic(*node, arithmetic); !read) return read;
    config.arithmetic.push_back(std::move(arithmetic));
    if (runtime.color) config.runtime_inputs.push_back(std::move(runtime));
    config.model_inputs.push_back(std::move(model));
  }
  return {};
}

std::vector<std::string> plain_fields() {
  std::vector<std::string> fields;
  for (const char* field : {"name", "color", "source_color", "color_standard", "layout", "resize",
                            "crop", "interpolation", "align_corners", "scale", "mean", "std"})
    fields.push_back(fmt::format("inputs.{}", field));
  return fields;
}

}  // namespace plumb::input
