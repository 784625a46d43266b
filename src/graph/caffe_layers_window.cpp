// SPDX-License-Identifier: Apache-2.0
//
// Caffe layers that look at windows or statistics of a blob (see caffe_layer.h). Caffe rounds the
// size of what pooling gives up, where ONNX's own ways to do that differ between versions and
// engines for averages; so sizes are worked out here and become explicit padding where need be.
#include <algorithm>

#include <fmt/format.h>

#include "graph/caffe_layer.h"

namespace plumb::graph::caffe_layers {
namespace {

// The windows along one axis.
struct AxisWindows {
  int64_t count = 0;
  int64_t behind = 0;  // padding behind the data that they reach, 0 if none
  int64_t over = 0;    // ... of which this is beyond the padding that was asked for: the last one
                       // is there because of rounding up
};

struct Pool {
  std::array<int64_t, 2> kernel{}, stride{}, pad{};
  bool rounds_up = true;

  AxisWindows along(size_t axis, int64_t size) const {
    const int64_t room = size + 2 * pad[axis] - kernel[axis];
    if (room < 0) return {};
    AxisWindows made;
    made.count = (room + (rounds_up ? stride[axis] - 1 : 0)) / stride[axis] + 1;
    const auto begin = [&] { return (made.count - 1) * stride[axis]; };
    // With padding the last window starts inside the data or the padding before them.
    if ((pad[0] > 0 || pad[1] > 0) && begin() >= size + pad[axis]) --made.count;
    // Without, it may start behind the data; there is nothing to pool in it.
    if (begin() >= size + pad[axis]) return {};
    const int64_t end = begin() + kernel[axis];
    made.behind = std::max<int64_t>(0, end - size - pad[axis]);
    made.over = std::max<int64_t>(0, end - size - 2 * pad[axis]);
    return made;
  }
};

Pool pool_of(CaffeLayer& layer) {
  constexpr std::string_view kRounding[] = {"CEIL", "FLOOR"};
  Pool pool;
  pool.kernel = layer.height_and_width("kernel_size", 1);
  pool.stride = layer.height_and_width("stride", 1);
  pool.pad = layer.height_and_width("pad", 0);
  pool.rounds_up = layer.choice("round_mode", kRounding) == 0;
  for (size_t i = 0; i < 2; ++i)
    if (pool.pad[i] >= pool.kernel[i])
      layer.refuse(fmt::format("its padding {} is not smaller than its kernel {}", pool.pad[i],
                               pool.kernel[i]));
  return pool;
}

// Caffe divides by what of a window lies within the data and the padding that was asked for.
void average(CaffeLayer& layer, const Pool& pool, const AxisWindows& high, const AxisWindows& wide,
             const Shape& out) {
  const auto& pad = pool.pad;
  const auto attributes = [&](const Ints& pads, int64_t counts_padding) {
    return CaffeLayer::Attributes{{"kernel_shape", Ints{pool.kernel[0], pool.kernel[1]}},
                                  {"strides", Ints{pool.stride[0], pool.stride[1]}},
                                  {"pads", pads},
                                  {"count_include_pad", counts_padding}};
  };
  const bool is_padded = pad[0] > 0 || pad[1] > 0;
  if (high.over == 0 && wide.over == 0)
    return layer.give("AveragePool", {layer.bottom()}, out,
                      attributes({pad[0], pad[1], pad[0], pad[1]}, is_padded ? 1 : 0));
  std::string data = layer.bottom();
  if (is_padded) {
    Shape padded = layer.shape();
    padded[2] += 2 * pad[0];
    padded[3] += 2 * pad[1];
    const Ints pads{0, 0, pad[0], pad[1], 0, 0, pad[0], pad[1]};
    data = layer.step("padded", "Pad", {data, layer.constant(pads, "pads")}, padded);
  }
  layer.give("AveragePool", {data}, out, attributes({0, 0, high.over, wide.over}, 0));
}

// All windows there because of rounding up, none, or explicit padding where the axes differ: what
// is padded is never the largest.
void maximum(CaffeLayer& layer, const Pool& pool, const AxisWindows& high, const AxisWindows& wide,
             const Shape& out) {
  const auto& pad = pool.pad;
  const bool rounds_up = high.over > 0 && wide.over > 0;
  const bool rounds_down = high.over == 0 && wide.over == 0;
  const Ints pads = rounds_up || rounds_down ? Ints{pad[0], pad[1], pad[0], pad[1]}
                                             : Ints{pad[0], pad[1], high.behind, wide.behind};
  CaffeLayer::Attributes attributes{{"kernel_shape", Ints{pool.kernel[0], pool.kernel[1]}},
                                    {"strides", Ints{pool.stride[0], pool.stride[1]}},
                                    {"pads", pads}};
  if (rounds_up) attributes.push_back({"ceil_mode", int64_t{1}});
  layer.give("MaxPool", {layer.bottom()}, out, attributes);
}

}  // namespace

void pooling(CaffeLayer& layer) {
  if (layer.tops() == 2)
    return layer.refuse("it writes a mask of the largest elements, too",
                        "remove the second top if nothing needs it");
  if (!layer.fits({.least_axes = 4, .most_axes = 4})) return;
  constexpr std::string_view kMethods[] = {"MAX", "AVE", "STOCHASTIC"};
  const size_t method = layer.choice("pool", kMethods);
  if (method == 2) return layer.refuse("stochastic pooling is for training");
  const Shape& in = layer.shape();
  if (layer.flag("global_pooling"))
    return layer.give(method == 0 ? "GlobalMaxPool" : "GlobalAveragePool", {layer.bottom()},
                      Shape{in[0], in[1], 1, 1});
  const Pool pool = pool_of(layer);
  if (!layer.ok()) return;
  const AxisWindows high = pool.along(0, in[2]), wide = pool.along(1, in[3]);
  if (high.count == 0 || wide.count == 0)
    return layer.refuse(fmt::format("a window of it lies outside of {}", to_string(in)),
                        "check kernel, stride and the size of the network's input");
  const Shape out{in[0], in[1], high.count, wide.count};
  if (method == 1) return average(layer, pool, high, wide, out);
  maximum(layer, pool, high, wide, out);
}

void lrn(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 4, .most_axes = 4})) return;
  constexpr std::string_view kRegions[] = {"ACROSS_CHANNELS", "WITHIN_CHANNEL"};
  const int64_t size = layer.integer("local_size", 1);
  const float alpha = layer.number("alpha"), beta = layer.number("beta"), k = layer.number("k");
  if (size % 2 == 0) layer.refuse(fmt::format("its local_size {} is even", size));
  const Shape& shape = layer.shape();
  if (layer.choice("norm_region", kRegions) == 0)
    return layer.give("LRN", {layer.bottom()}, shape,
                      {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", k}});
  // Within a channel Caffe averages squares over a window that counts its padding, and adds 1.
  const int64_t half = (size - 1) / 2;
  const std::string squares = layer.step("square", "Mul", {layer.bottom(), layer.bottom()}, shape);
  const std::string mean = layer.step("mean", "AveragePool", {squares}, shape,
                                      {{"kernel_shape", Ints{size, size}},
                                       {"pads", Ints{half, half, half, half}},
                                       {"count_include_pad", int64_t{1}}});
  const std::string scaled =
      layer.step("scaled", "Mul", {mean, layer.constant(alpha, "alpha")}, shape);
  const std::string shifted =
      layer.step("shifted", "Add", {scaled, layer.constant(1.0F, "one")}, shape);
  const std::string powered =
      layer.step("powered", "Pow", {shifted, layer.constant(beta, "beta")}, shape);
  layer.give("Div", {layer.bottom(), powered}, shape);
}

// (x - mean) / (deviation + eps), over each picture or each channel of it.
void mvn(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 3})) return;
  const Shape& shape = layer.shape();
  const bool over_channels = layer.flag("across_channels");
  Ints axes;
  Shape sums = shape;
  double count = 1;
  for (size_t i = over_channels ? 1 : 2; i < shape.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
    sums[i] = 1;
    count *= static_cast<double>(shape[i]);
  }
  const std::string over = layer.constant(axes, "axes");
  const std::string share = layer.constant(static_cast<float>(1 / count), "share");
  const auto mean_of = [&](const std::string& data, const std::string& what) {
    const std::string sum = layer.step(what + "_sum", "ReduceSum", {data, over}, sums);
    return layer.step(what, "Mul", {sum, share}, sums);
  };
  const std::string mean = mean_of(layer.bottom(), "mean");
  if (!layer.flag("normalize_variance")) return layer.give("Sub", {layer.bottom(), mean}, shape);
  const std::string centred = layer.step("centred", "Sub", {layer.bottom(), mean}, shape);
  const std::string squares = layer.step("square", "Mul", {centred, centred}, shape);
  const std::string deviation =
      layer.step("deviation", "Sqrt", {mean_of(squares, "variance")}, sums);
  const std::string positive =
      layer.step("positive", "Add", {deviation, layer.constant(layer.number("eps"), "eps")}, sums);
  layer.give("Div", {centred, positive}, shape);
}

}  // namespace plumb::graph::caffe_layers
