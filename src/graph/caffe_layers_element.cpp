// SPDX-License-Identifier: Apache-2.0
//
// Caffe layers that work element by element (see caffe_layer.h).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/caffe_layer.h"

namespace plumb::graph::caffe_layers {
namespace {

void same_shape(CaffeLayer& layer, std::string_view type,
                const CaffeLayer::Attributes& attributes = {}) {
  if (layer.fits({})) layer.give(type, {layer.bottom()}, layer.shape(), attributes);
}

// One node after the other, each with a constant beside it if it has a name.
struct Link {
  std::string_view what, type;
  std::string_view operand = {};
  float value = 0;
};

void chain(CaffeLayer& layer, const std::vector<Link>& links) {
  if (links.empty()) return layer.give("Identity", {layer.bottom()}, layer.shape());
  std::string at = layer.bottom();
  for (const Link& link : links) {
    CaffeLayer::Names inputs{at};
    if (!link.operand.empty()) inputs.push_back(layer.constant(link.value, link.operand));
    if (&link == &links.back()) return layer.give(link.type, inputs, layer.shape());
    at = layer.step(link.what, link.type, inputs, layer.shape());
  }
}

// base^x and the logarithm to it; -1 stands for e.
float logarithm_of_base(CaffeLayer& layer) {
  const float base = layer.number("base");
  if (base == -1) return 1;
  if (!(base > 0)) layer.refuse(fmt::format("its base {} is not above 0", base));
  return std::log(base);
}

std::vector<Link> affine(float scale, float shift) {
  std::vector<Link> links;
  if (scale != 1) links.push_back({"scaled", "Mul", "scale", scale});
  if (shift != 0) links.push_back({"shifted", "Add", "shift", shift});
  return links;
}

}  // namespace

void relu(CaffeLayer& layer) {
  const float slope = layer.number("negative_slope");
  if (slope == 0) return same_shape(layer, "Relu");
  same_shape(layer, "LeakyRelu", {{"alpha", slope}});
}

void relu6(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const std::string low = layer.constant(0.0F, "low"), high = layer.constant(6.0F, "high");
  layer.give("Clip", {layer.bottom(), low, high}, layer.shape());
}

void sigmoid(CaffeLayer& layer) { same_shape(layer, "Sigmoid"); }
void tanh(CaffeLayer& layer) { same_shape(layer, "Tanh"); }
void bnll(CaffeLayer& layer) { same_shape(layer, "Softplus"); }
void abs_val(CaffeLayer& layer) { same_shape(layer, "Abs"); }
void elu(CaffeLayer& layer) { same_shape(layer, "Elu", {{"alpha", layer.number("alpha")}}); }

// (shift + scale * x) ^ power
void power(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const float exponent = layer.number("power");
  std::vector<Link> links = affine(layer.number("scale"), layer.number("shift"));
  if (exponent != 1) links.push_back({"powered", "Pow", "power", exponent});
  chain(layer, links);
}

// base ^ (shift + scale * x)
void exp(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const float factor = logarithm_of_base(layer);
  std::vector<Link> links = affine(factor * layer.number("scale"), factor * layer.number("shift"));
  links.push_back({"exponential", "Exp"});
  chain(layer, links);
}

void log(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const float divisor = logarithm_of_base(layer);
  std::vector<Link> links = affine(layer.number("scale"), layer.number("shift"));
  links.push_back({"logarithm", "Log"});
  if (divisor != 1) links.push_back({"divided", "Div", "base", divisor});
  chain(layer, links);
}

void softmax(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const auto axis = static_cast<int64_t>(layer.axis("axis", layer.shape().size()));
  layer.give("Softmax", {layer.bottom()}, layer.shape(), {{"axis", axis}});
}

void eltwise(CaffeLayer& layer) {
  if (!layer.fits({.least_bottoms = 2, .most_bottoms = -1})) return;
  for (size_t i = 1; i < layer.bottoms(); ++i)
    if (layer.shape(i) != layer.shape())
      return layer.refuse(
          fmt::format("it reads {} and {}", to_string(layer.shape()), to_string(layer.shape(i))));
  constexpr std::string_view kOperations[] = {"PROD", "SUM", "MAX"};
  const size_t operation = layer.choice("operation", kOperations);
  CaffeLayer::Names inputs;
  for (size_t i = 0; i < layer.bottoms(); ++i) inputs.push_back(layer.bottom(i));
  const Shape& shape = layer.shape();
  if (operation == 2) return layer.give("Max", inputs, shape);
  const std::vector<float> factors = layer.numbers("coeff");
  if (!factors.empty() && (factors.size() != inputs.size() || operation != 1))
    return layer.refuse(
        fmt::format("it has {} coefficients for {} blobs", factors.size(), inputs.size()));
  for (size_t i = 0; i < factors.size(); ++i)
    if (factors[i] != 1)
      inputs[i] =
          layer.step(fmt::format("scaled_{}", i), "Mul",
                     {inputs[i], layer.constant(factors[i], fmt::format("coeff_{}", i))}, shape);
  if (operation == 1) return layer.give(inputs.size() == 2 ? "Add" : "Sum", inputs, shape);
  std::string at = inputs[0];  // of products there is none of many
  for (size_t i = 1; i + 1 < inputs.size(); ++i)
    at = layer.step(fmt::format("part_{}", i), "Mul", {at, inputs[i]}, shape);
  layer.give("Mul", {at, inputs.back()}, shape);
}

// Does nothing at inference, unless the network was trained without scaling what was kept.
void dropout(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  if (layer.flag("scale_train")) return chain(layer, {});
  chain(layer, {{"kept", "Mul", "kept_share", 1 - layer.number("dropout_ratio")}});
}

}  // namespace plumb::graph::caffe_layers
