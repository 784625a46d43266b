// SPDX-License-Identifier: Apache-2.0
#include "graph/caffe_layer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumb::graph {
namespace {

constexpr size_t kMostBlobAxes = 32;
constexpr int64_t kMostExtent = 1 << 20;  // of a window: products of two stay small

}  // namespace

bool is_blob_shape(const Shape& shape) {
  const auto count = element_count(shape);
  return shape.size() <= kMostBlobAxes && count && *count >= 1 && *count <= CaffeLayer::kMostSize;
}

CaffeLayer::CaffeLayer(OnnxModel& model, UniqueNames& names, const Operator& op,
                       const OperatorContent& content, std::vector<CaffeBlob> bottoms, Names tops)
    : model_(model),
      names_(names),
      op_(op),
      content_(content),
      bottoms_(std::move(bottoms)),
      tops_(std::move(tops)) {
  for (const Operand& operand : content.operands)
    if (operand.constant) blobs_.push_back(operand.constant.get());
}

void CaffeLayer::refuse(std::string problem, std::string remedy) {
  if (error_) return;
  if (remedy.empty()) remedy = "check the layer in the prototxt";
  error_ = Error{fmt::format("the Caffe layer '{}' cannot be translated to ONNX", op_.name),
                 fmt::format("{} '{}': {}", op_.type, op_.name, problem), std::move(remedy)};
}

bool CaffeLayer::fits(const CaffeForm& form) {
  const auto read = static_cast<int64_t>(bottoms()), written = static_cast<int64_t>(tops());
  if (read < form.least_bottoms || (form.most_bottoms >= 0 && read > form.most_bottoms))
    refuse(fmt::format("it reads {} blobs, {} are expected", read, form.least_bottoms));
  if (written < 1 || (form.most_tops >= 0 && written > form.most_tops))
    refuse(fmt::format("it writes {} blobs, 1 is expected", written));
  for (const CaffeBlob& blob : bottoms_) {
    const auto axes = static_cast<int64_t>(blob.shape.size());
    if (axes < form.least_axes || (form.most_axes >= 0 && axes > form.most_axes))
      refuse(fmt::format("it reads a blob of {} axes, {}", axes, to_string(blob.shape)),
             fmt::format("only blobs of {} axes can be translated here", form.least_axes));
  }
  return ok();
}

const AttributeValue* CaffeLayer::find(std::string_view field) {
  const auto found = content_.attributes.find(field);
  if (found != content_.attributes.end()) return &found->second;
  refuse(fmt::format("{} is not told", field));
  return nullptr;
}

std::optional<int64_t> CaffeLayer::whole(std::string_view field, double value, int64_t least,
                                         int64_t most) {
  if (value >= static_cast<double>(least) && value <= static_cast<double>(most) &&
      value == std::floor(value))
    return static_cast<int64_t>(value);
  refuse(fmt::format("{} is {}, not a whole number from {} to {}", field, value, least, most));
  return std::nullopt;
}

int64_t CaffeLayer::integer(std::string_view field, int64_t least, int64_t most) {
  const AttributeValue* value = find(field);
  if (value == nullptr) return least;
  const auto numbers = numbers_of(*value);
  // Sizes are there for height and width.
  if (!numbers || numbers->empty() || numbers->front() != numbers->back()) {
    refuse(fmt::format("{} is '{}', no number", field, to_text(*value)));
    return least;
  }
  return whole(field, numbers->front(), least, most).value_or(least);
}

std::vector<int64_t> CaffeLayer::integers(std::string_view field, int64_t least) {
  std::vector<int64_t> values;
  if (!has(field)) return values;
  for (const float value : numbers(field))
    values.push_back(whole(field, static_cast<double>(value), least, kMostSize).value_or(least));
  return values;
}

std::array<int64_t, 2> CaffeLayer::height_and_width(std::string_view field, int64_t least) {
  find(field);
  const std::vector<int64_t> values = integers(field, least);
  if (values.size() == 2 && std::max(values[0], values[1]) <= kMostExtent)
    return {values[0], values[1]};
  refuse(fmt::format("{} is [{}], not height and width", field, fmt::join(values, ", ")));
  return {least, least};
}

float CaffeLayer::number(std::string_view field) {
  const AttributeValue* value = find(field);
  const auto numbers = value == nullptr ? std::nullopt : numbers_of(*value);
  if (numbers && numbers->size() == 1 && std::isfinite(numbers->front()))
    return static_cast<float>(numbers->front());
  if (value != nullptr) refuse(fmt::format("{} is '{}', no number", field, to_text(*value)));
  return 0;
}

std::vector<float> CaffeLayer::numbers(std::string_view field) {
  std::vector<float> values;
  if (!has(field)) return values;
  const AttributeValue& value = *find(field);
  const auto numbers = numbers_of(value);
  if (!numbers) refuse(fmt::format("{} is '{}', no numbers", field, to_text(value)));
  for (const double each : numbers.value_or(std::vector<double>{}))
    values.push_back(static_cast<float>(each));
  return values;
}

bool CaffeLayer::flag(std::string_view field) {
  const AttributeValue* value = find(field);
  if (value == nullptr) return false;
  const std::string text = to_text(*value);
  for (const std::string_view yes : {"true", "True", "t", "1"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "False", "f", "0"})
    if (text == no) return false;
  refuse(fmt::format("{} is '{}', neither true nor false", field, text));
  return false;
}

size_t CaffeLayer::choice(std::string_view field, std::span<const std::string_view> words) {
  const AttributeValue* value = find(field);
  if (value == nullptr) return 0;
  const std::string text = to_text(*value);
  for (size_t i = 0; i < words.size(); ++i)
    if (text == words[i] || text == std::to_string(i)) return i;
  refuse(fmt::format("{} is '{}', none of {}", field, text, fmt::join(words, ", ")));
  return 0;
}

size_t CaffeLayer::axis(std::string_view field, size_t axes, size_t end) {
  const auto count = static_cast<int64_t>(axes);
  const int64_t least = -count - static_cast<int64_t>(end);
  const int64_t value =
      integer(field, least, std::max(least, count + static_cast<int64_t>(end) - 1));
  const int64_t place = value < 0 ? value - least : value;
  return ok() ? static_cast<size_t>(place) : 0;
}

std::string CaffeLayer::unique(std::string_view what) {
  return names_.claim(fmt::format("{}/{}", op_.name, what));
}

std::vector<float> CaffeLayer::blob_values(size_t i, int64_t count) {
  if (i >= blobs_.size()) {
    refuse(fmt::format("the weights have {} blobs for it, {} are expected", blobs_.size(), i + 1),
           "give the .caffemodel of this network: --weights FILE");
    return {};
  }
  const ConstantTensor& blob = *blobs_[i];
  if (blob.elements() != count) {
    refuse(fmt::format("blob {} of the weights has {} numbers ({}), {} are expected", i,
                       blob.elements(), to_string(blob.shape()), count),
           "give the .caffemodel of this network: --weights FILE");
    return {};
  }
  std::vector<float> values(static_cast<size_t>(count));
  std::array<double, 4096> piece;
  for (size_t at = 0; at < values.size(); at += piece.size()) {
    const auto part = std::span(piece).first(std::min(piece.size(), values.size() - at));
    blob.read(static_cast<int64_t>(at), part);
    std::transform(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(at),
                   [](double value) { return static_cast<float>(value); });
  }
  return values;
}

std::string CaffeLayer::blob(size_t i, const Shape& shape, std::string_view what) {
  const auto count = element_count(shape);
  const std::vector<float> values = blob_values(i, count.value_or(-1));
  return ok() ? constant(values, shape, what) : std::string();
}

std::string CaffeLayer::add_weight(const std::string& name, const OnnxTensor& tensor) {
  auto weight = make_weight(model_, name, tensor);
  if (weight)
    model_.graph.initializers.push_back(*weight);
  else
    refuse(weight.error().where);
  return name;
}

std::string CaffeLayer::constant(std::span<const float> values, const Shape& shape,
                                 std::string_view what) {
  if (!ok()) return {};
  return add_weight(unique(what), {DType::kFloat32, shape, std::as_bytes(values)});
}

std::string CaffeLayer::constant(std::span<const int64_t> values, std::string_view what) {
  if (!ok()) return {};
  return add_weight(unique(what), {DType::kInt64, {std::ssize(values)}, std::as_bytes(values)});
}

void CaffeLayer::add_node(std::string name, std::string_view type, const Names& inputs,
                          const Names& outputs, const std::vector<Shape>& shapes,
                          const Attributes& attributes) {
  for (const Shape& shape : shapes)
    if (!is_blob_shape(shape))
      refuse(fmt::format("it would give a blob of shape {}", to_string(shape)),
             "check its parameters and the size of the network's input");
  if (!ok()) return;
  auto node = make_node(model_, {.type = std::string(type),
                                 .inputs = inputs,
                                 .outputs = outputs,
                                 .attributes = attributes,
                                 .name = std::move(name)});
  if (!node) return refuse(node.error().where);
  model_.graph.nodes.push_back(std::move(*node));
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto value = make_value(model_, outputs[i], {DType::kFloat32, shapes[i]});
    if (value) model_.graph.value_infos.push_back(std::move(*value));
  }
}

std::string CaffeLayer::step(std::string_view what, std::string_view type, const Names& inputs,
                             const Shape& shape, const Attributes& attributes) {
  if (!ok()) return {};
  std::string name = unique(what);
  add_node(name, type, inputs, {name}, {shape}, attributes);
  return name;
}

void CaffeLayer::give(std::string_view type, const Names& inputs, const Shape& shape,
                      const Attributes& attributes) {
  give(type, inputs, std::vector<Shape>{shape}, attributes);
}

void CaffeLayer::give(std::string_view type, const Names& inputs, const std::vector<Shape>& shapes,
                      const Attributes& attributes) {
  if (ok() && shapes.size() != tops_.size())
    refuse(fmt::format("it gives {} blobs, {} are named", shapes.size(), tops_.size()));
  if (!ok()) return;
  add_node(op_.name, type, inputs, tops_, shapes, attributes);
  given_ = shapes;
}

void CaffeLayer::give_copies() {
  for (size_t i = 0; i < tops_.size() && ok(); ++i)
    add_node(i == 0 ? op_.name : unique(fmt::format("copy_{}", i)), "Identity", {bottom()},
             {tops_[i]}, {shape()}, {});
  given_.assign(tops_.size(), shape());
}

}  // namespace plumb::graph
