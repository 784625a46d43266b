// SPDX-License-Identifier: Apache-2.0
//
// Caffe layers with blobs of their own (see caffe_layer.h): the numbers are those of the
// .caffemodel, arranged as ONNX wants them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/checked.h"
#include "graph/caffe_layer.h"

namespace plumb::graph::caffe_layers {
namespace {

int64_t product(const Shape& shape, size_t first, size_t end) {
  int64_t product = 1;  // of a shape that was checked: no overflow
  for (size_t i = first; i < end; ++i) product *= shape[i];
  return product;
}

// What convolutions of both directions are told.
struct ConvolutionWindows {
  int64_t outputs = 1, group = 1;
  std::array<int64_t, 2> kernel{}, stride{}, pad{}, dilation{};
  bool has_bias = false;

  CaffeLayer::Attributes attributes() const {
    return {{"kernel_shape", Ints{kernel[0], kernel[1]}},
            {"strides", Ints{stride[0], stride[1]}},
            {"pads", Ints{pad[0], pad[1], pad[0], pad[1]}},
            {"dilations", Ints{dilation[0], dilation[1]}},
            {"group", group}};
  }
  int64_t extent(size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
};

ConvolutionWindows windows_of(CaffeLayer& layer) {
  ConvolutionWindows told;
  told.outputs = layer.integer("num_output", 1);
  told.group = layer.integer("group", 1);
  told.kernel = layer.height_and_width("kernel_size", 1);
  told.stride = layer.height_and_width("stride", 1);
  told.pad = layer.height_and_width("pad", 0);
  told.dilation = layer.height_and_width("dilation", 1);
  told.has_bias = layer.flag("bias_term");
  if (layer.has("axis") && layer.axis("axis", 4) != 1) layer.refuse("its axis is not 1");
  const int64_t channels = layer.shape()[1];
  if (layer.type().find("Depthwise") != std::string_view::npos && told.group == 1)
    told.group = channels;
  if (channels % told.group != 0 || told.outputs % told.group != 0)
    layer.refuse(
        fmt::format("{} groups divide {} channels into {}", told.group, channels, told.outputs));
  return told;
}

// Scale or Bias: operands along `axis`, of as many axes as `num_axes` says or the second bottom
// has.
struct Broadcast {
  Shape operand;   // what there are numbers for
  Shape to_shape;  // the same with axes of 1 behind, as numpy's rules want them
  bool is_bottom = false;
};

Broadcast broadcast_of(CaffeLayer& layer) {
  Broadcast made;
  const Shape& shape = layer.shape();
  made.is_bottom = layer.bottoms() == 2;
  const size_t axis = layer.axis("axis", shape.size());
  size_t count = made.is_bottom ? layer.shape(1).size() : 0;
  if (!made.is_bottom) {
    const int64_t told = layer.integer("num_axes", -1);
    count = told < 0 ? shape.size() - axis : static_cast<size_t>(told);
  }
  if (axis + count > shape.size()) {
    layer.refuse(
        fmt::format("{} axes from axis {} on are more than {} has", count, axis, to_string(shape)));
    return made;
  }
  const auto first = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  made.operand.assign(first, first + static_cast<std::ptrdiff_t>(count));
  if (made.is_bottom && made.operand != layer.shape(1))
    layer.refuse(fmt::format("{} cannot be applied to {} from axis {} on",
                             to_string(layer.shape(1)), to_string(shape), axis));
  made.to_shape = made.operand;
  made.to_shape.resize(shape.size() - axis, 1);
  return made;
}

// The tensor to combine with: a blob, or the second bottom with axes of 1 behind.
std::string operand_of(CaffeLayer& layer, const Broadcast& how, std::string_view what) {
  if (!how.is_bottom) return layer.blob(0, how.to_shape, what);
  if (how.operand == how.to_shape) return layer.bottom(1);
  const std::string shape = layer.constant(how.to_shape, fmt::format("{}_shape", what));
  return layer.step(what, "Reshape", {layer.bottom(1), shape}, how.to_shape);
}

// Blobs: sums of means and variances, and what to divide both by (nothing was gathered if that is
// zero; Caffe then takes them for zero).
void give_normalized(CaffeLayer& layer, const std::string& factor, const std::string& offset) {
  if (!layer.flag("use_global_stats"))
    return layer.refuse("use_global_stats is false: it would use statistics of the batch",
                        "leave use_global_stats out, as in the network that is deployed");
  const int64_t channels = layer.shape()[1];
  std::vector<float> mean = layer.blob_values(0, channels);
  std::vector<float> variance = layer.blob_values(1, channels);
  const std::vector<float> divisor = layer.blob_values(2, 1);
  const float eps = layer.number("eps");
  if (!layer.ok()) return;
  const float share = divisor[0] == 0 ? 0 : 1 / divisor[0];
  for (float& value : mean) value *= share;
  for (float& value : variance) value *= share;
  const std::string means = layer.constant(mean, {channels}, "mean");
  const std::string variances = layer.constant(variance, {channels}, "variance");
  layer.give("BatchNormalization", {layer.bottom(), factor, offset, means, variances},
             layer.shape(), {{"epsilon", eps}});
}

}  // namespace

void convolution(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 4, .most_axes = 4})) return;
  const ConvolutionWindows told = windows_of(layer);
  if (!layer.ok()) return;
  const Shape& in = layer.shape();
  CaffeLayer::Names inputs{
      layer.bottom(),
      layer.blob(0, {told.outputs, in[1] / told.group, told.kernel[0], told.kernel[1]}, "weight")};
  if (told.has_bias) inputs.push_back(layer.blob(1, {told.outputs}, "bias"));
  Shape out{in[0], told.outputs};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room = in[i + 2] + 2 * told.pad[i] - told.extent(i);
    out.push_back(room < 0 ? 0 : room / told.stride[i] + 1);
  }
  layer.give("Conv", inputs, out, told.attributes());
}

void deconvolution(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 4, .most_axes = 4})) return;
  const ConvolutionWindows told = windows_of(layer);
  if (!layer.ok()) return;
  const Shape& in = layer.shape();
  CaffeLayer::Names inputs{
      layer.bottom(),
      layer.blob(0, {in[1], told.outputs / told.group, told.kernel[0], told.kernel[1]}, "weight")};
  if (told.has_bias) inputs.push_back(layer.blob(1, {told.outputs}, "bias"));
  Shape out{in[0], told.outputs};
  for (size_t i = 0; i < 2; ++i)
    out.push_back(told.stride[i] * (in[i + 2] - 1) + told.extent(i) - 2 * told.pad[i]);
  layer.give("ConvTranspose", inputs, out, told.attributes());
}

void inner_product(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const Shape& in = layer.shape();
  const size_t axis = layer.axis("axis", in.size());
  const int64_t outputs = layer.integer("num_output", 1);
  const bool is_transposed = layer.flag("transpose"), has_bias = layer.flag("bias_term");
  if (!layer.ok()) return;
  const int64_t rows = product(in, 0, axis), columns = product(in, axis, in.size());
  std::string data = layer.bottom();
  if (in.size() != 2 || axis != 1)
    data = layer.step("flat", "Flatten", {data}, {rows, columns},
                      {{"axis", static_cast<int64_t>(axis)}});
  const Shape stored = is_transposed ? Shape{columns, outputs} : Shape{outputs, columns};
  CaffeLayer::Names inputs{data, layer.blob(0, stored, "weight")};
  if (has_bias) inputs.push_back(layer.blob(1, {outputs}, "bias"));
  const CaffeLayer::Attributes attributes{{"transB", int64_t{is_transposed ? 0 : 1}}};
  if (axis == 1) return layer.give("Gemm", inputs, Shape{rows, outputs}, attributes);
  Shape out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis));
  out.push_back(outputs);
  const std::string product = layer.step("product", "Gemm", inputs, {rows, outputs}, attributes);
  layer.give("Reshape", {product, layer.constant(out, "shape")}, out);
}

void batch_norm(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 2})) return;
  const int64_t channels = layer.shape()[1];
  const std::vector<float> ones(static_cast<size_t>(channels), 1.0F), zeros(ones.size(), 0.0F);
  const std::string factor = layer.constant(ones, {channels}, "scale");
  give_normalized(layer, factor, layer.constant(zeros, {channels}, "bias"));
}

void scaled_batch_norm(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 2})) return;
  const int64_t channels = layer.shape()[1];
  const std::string factor = layer.blob(kBatchNormBlobs, {channels}, "scale");
  const std::vector<float> zeros(static_cast<size_t>(channels), 0.0F);
  give_normalized(layer, factor,
                  layer.flag("bias_term") ? layer.blob(kBatchNormBlobs + 1, {channels}, "bias")
                                          : layer.constant(zeros, {channels}, "bias"));
}

void scale(CaffeLayer& layer) {
  if (!layer.fits({.most_bottoms = 2})) return;
  const Broadcast how = broadcast_of(layer);
  const bool has_bias = layer.flag("bias_term");
  const std::string factor = layer.ok() ? operand_of(layer, how, "scale") : "";
  if (!has_bias) return layer.give("Mul", {layer.bottom(), factor}, layer.shape());
  const std::string scaled = layer.step("scaled", "Mul", {layer.bottom(), factor}, layer.shape());
  const std::string offset = layer.blob(how.is_bottom ? 0 : 1, how.to_shape, "bias");
  layer.give("Add", {scaled, offset}, layer.shape());
}

void bias(CaffeLayer& layer) {
  if (!layer.fits({.most_bottoms = 2})) return;
  const Broadcast how = broadcast_of(layer);
  const std::string offset = layer.ok() ? operand_of(layer, how, "bias") : "";
  layer.give("Add", {layer.bottom(), offset}, layer.shape());
}

void prelu(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 2})) return;
  Shape slope(layer.shape().size() - 1, 1);  // without the batch
  if (!layer.flag("channel_shared")) slope[0] = layer.shape()[1];
  const std::string slopes = layer.blob(0, slope, "slope");
  layer.give("PRelu", {layer.bottom(), slopes}, layer.shape());
}

// x / |x| * scale, as SSD has it.
void normalize(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 2})) return;
  const Shape& shape = layer.shape();
  Shape sums = shape;
  Ints axes{1};
  if (layer.flag("across_spatial"))
    for (size_t i = 2; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  for (const int64_t axis : axes) sums[static_cast<size_t>(axis)] = 1;
  Shape factors(shape.size() - 1, 1);
  if (!layer.flag("channel_shared")) factors[0] = shape[1];
  const std::string squares = layer.step("square", "Mul", {layer.bottom(), layer.bottom()}, shape);
  const std::string total =
      layer.step("sum", "ReduceSum", {squares, layer.constant(axes, "axes")}, sums);
  const std::string positive =
      layer.step("positive", "Add", {total, layer.constant(layer.number("eps"), "eps")}, sums);
  const std::string norm = layer.step("norm", "Sqrt", {positive}, sums);
  const std::string unit = layer.step("unit", "Div", {layer.bottom(), norm}, shape);
  layer.give("Mul", {unit, layer.blob(0, factors, "scale")}, shape);
}

}  // namespace plumb::graph::caffe_layers
