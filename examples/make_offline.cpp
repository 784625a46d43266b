// SPDX-License-Identifier: Apache-2.0
//
// Makes the files of every offline comparison to try Plumbline on: a small network (two
// convolutions, one with a normalisation, poolings, a fully connected layer, softmax) computed in
// float64, and what a converter, a quantization tool and a device would have made of it. Each model
// is one list of steps; the dump and the graph are both written from it, so they cannot disagree.
//
//   make_offline_example DIR
//   make_offline_example --fault NAME DIR
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/ascend_dump.h"
#include "io/reader.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace {

using namespace plumb;
namespace fs = std::filesystem;

struct Tensor {
  Shape shape;
  std::vector<double> values;
};

// How numbers are rounded where they are stored.
using Rounding = double (*)(double);
double exact(double x) { return x; }
double half(double x) { return double(float_from_half(half_from_float(float(x)))); }

Tensor each(Tensor tensor, auto change) {
  for (double& x : tensor.values) x = change(x);
  return tensor;
}
// The same with the channel that an element belongs to.
Tensor by_channel(Tensor tensor, auto change) {
  const size_t channels = size_t(tensor.shape[1]), size = tensor.values.size() / channels;
  for (size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = change(tensor.values[i], i / size);
  return tensor;
}

// --- The layers ---

// 3 x 3, zeros around the image. `partial` rounds the sum after each channel, as a processor with
// a short accumulator would.
Tensor convolve(const Tensor& image, const Tensor& kernel, const Tensor& bias, Rounding partial) {
  const int64_t filters = kernel.shape[0], channels = image.shape[1];
  const int64_t rows = image.shape[2], columns = image.shape[3];
  Tensor out{{1, filters, rows, columns}, {}};
  for (int64_t f = 0; f < filters; ++f)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) {
        double sum = bias.values[size_t(f)];
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t dy = -1; dy <= 1; ++dy)
            for (int64_t dx = -1; dx <= 1; ++dx)
              if (y + dy >= 0 && y + dy < rows && x + dx >= 0 && x + dx < columns)
                sum += image.values[size_t((c * rows + y + dy) * columns + x + dx)] *
                       kernel.values[size_t(((f * channels + c) * 3 + dy + 1) * 3 + dx + 1)];
          sum = partial(sum);
        }
        out.values.push_back(sum);
      }
  return out;
}

Tensor relu(const Tensor& in) {
  return each(in, [](double x) { return std::max(x, 0.0); });
}

Tensor max_pool(const Tensor& in) {  // 2 x 2
  const int64_t rows = in.shape[2] / 2, columns = in.shape[3] / 2;
  Tensor out{{1, in.shape[1], rows, columns}, {}};
  for (int64_t c = 0; c < in.shape[1]; ++c)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) {
        const double* at = &in.values[size_t((c * 2 * rows + 2 * y) * 2 * columns + 2 * x)];
        out.values.push_back(std::max({at[0], at[1], at[2 * columns], at[2 * columns + 1]}));
      }
  return out;
}

Tensor average(const Tensor& in) {  // over each channel
  Tensor out{{1, in.shape[1], 1, 1}, std::vector<double>(size_t(in.shape[1]))};
  const size_t size = in.values.size() / out.values.size();
  for (size_t i = 0; i < in.values.size(); ++i) out.values[i / size] += in.values[i] / double(size);
  return out;
}

Tensor connect(const Tensor& in, const Tensor& matrix) {
  Tensor out{{1, matrix.shape[1]}, std::vector<double>(size_t(matrix.shape[1]))};
  for (size_t i = 0; i < matrix.values.size(); ++i)
    out.values[i % out.values.size()] += in.values[i / out.values.size()] * matrix.values[i];
  return out;
}

// A fast exponential for softmax: exp(x) = lim (1 + x/n)^n, with a small n.
double quick_exp(double x) { return std::pow(1 + x / 64, 64); }
Tensor softmax(const Tensor& in, double (*exponential)(double)) {
  const double most = *std::max_element(in.values.begin(), in.values.end());
  Tensor out = each(in, [&](double x) { return exponential(x - most); });
  double total = 0;
  for (double x : out.values) total += x;
  return each(out, [&](double x) { return x / total; });
}
Tensor softmax(const Tensor& in) {
  return softmax(in, [](double x) { return std::exp(x); });
}

// --- The network ---

struct Network {
  Tensor data, filter1, bias1, scale1, shift1, filter2, bias2, matrix;

  Tensor normalise(const Tensor& in) const {  // bn1
    return by_channel(in,
                      [&](double x, size_t c) { return x * scale1.values[c] + shift1.values[c]; });
  }
  // The first convolution with the normalisation in its weights.
  Tensor folded_filter() const {
    Tensor folded = filter1;
    const size_t size = folded.values.size() / scale1.values.size();
    for (size_t i = 0; i < folded.values.size(); ++i) folded.values[i] *= scale1.values[i / size];
    return folded;
  }
  Tensor folded_bias() const { return normalise({{1, bias1.shape[0]}, bias1.values}); }
};

Tensor random(Shape shape, double low, double high, std::mt19937& engine) {
  Tensor tensor{shape, std::vector<double>(size_t(*element_count(shape)))};
  // Not std::uniform_real_distribution: its numbers differ from library to library.
  for (double& x : tensor.values) x = low + double(engine()) / 4294967296.0 * (high - low);
  return tensor;
}

Network make_network() {
  std::mt19937 engine(11);
  Network n;
  n.data = random({1, 3, 16, 16}, -1, 1, engine);
  n.filter1 = random({20, 3, 3, 3}, -0.4, 0.4, engine);
  n.bias1 = random({20}, -0.1, 0.1, engine);
  n.scale1 = random({20}, 0.5, 1.5, engine);
  n.shift1 = random({20}, -0.6, 0.6, engine);
  n.filter2 = random({16, 20, 3, 3}, -0.15, 0.15, engine);
  n.bias2 = random({16}, -0.1, 0.1, engine);
  n.matrix = random({16, 10}, -2, 2, engine);
  return n;
}

// --- Models as lists of steps ---

struct Quantization {
  double scale, offset;
};

// One operator with its only output.
struct Step {
  std::string type, name;
  std::vector<std::string> inputs;   // the steps that feed it
  std::vector<std::string> origins;  // what it was made from; empty: inserted by the compiler
  std::string origin;                // the original operator whose output it gives; empty: none
  Tensor output;
  DType dtype = DType::kFloat16;
  std::string layout = "NC1HWC0";
  std::optional<Quantization> quantization = {};

  bool is_dumped() const { return type != "Data" && type != "Const" && type != "NetOutput"; }
};

// What goes wrong with a step; whoever reads it is computed from what is left.
using Spoil = std::function<void(Step&)>;

struct Model : std::vector<Step> {
  Spoil spoil = [](Step&) {};
  void push_back(Step step) {
    spoil(step);
    std::vector<Step>::push_back(std::move(step));
  }
};

const Tensor& output_of(const Model& model, std::string_view name) {
  return std::find_if(model.begin(), model.end(), [&](const Step& s) { return s.name == name; })
      ->output;
}

// A step that went through the conversion as it was.
Step kept(std::string type, std::string name, std::vector<std::string> inputs, Tensor output) {
  return {std::move(type), name, std::move(inputs), {name}, name, std::move(output)};
}
Step plain(Step step, DType dtype = DType::kFloat16) {
  step.layout = step.output.shape.size() == 4 ? "NCHW" : "ND";
  step.dtype = dtype;
  return step;
}
Step inserted(std::string type, std::string name, std::vector<std::string> inputs, Tensor output,
              std::string layout) {
  return {std::move(type),   std::move(name), std::move(inputs), {}, {},
          std::move(output), DType::kFloat16, std::move(layout)};
}
Step weights(std::string name, const Tensor& values, std::string layout) {
  return inserted("Const", std::move(name), {}, each(values, half), std::move(layout));
}

// What a framework computes and saves, under the names of the original model.
Model original(const Network& n) {
  Model m;
  const auto add = [&](const char* type, const char* name, const char* input, Tensor output) {
    m.push_back(plain(kept(type, name, {input}, std::move(output)), DType::kFloat32));
  };
  m.push_back(plain(kept("Input", "data", {}, n.data), DType::kFloat32));
  add("Convolution", "conv1", "data", convolve(n.data, n.filter1, n.bias1, exact));
  add("BatchNorm", "bn1", "conv1", n.normalise(m.back().output));
  add("ReLU", "relu1", "bn1", relu(m.back().output));
  add("Pooling", "pool1", "relu1", max_pool(m.back().output));
  add("Convolution", "conv2", "pool1", convolve(m.back().output, n.filter2, n.bias2, exact));
  add("ReLU", "relu2", "conv2", relu(m.back().output));
  add("Pooling", "pool2", "relu2", average(m.back().output));
  add("InnerProduct", "fc1", "pool2", connect(m.back().output, n.matrix));
  add("Softmax", "prob", "fc1", softmax(m.back().output));
  return m;
}

// How every model on the device begins: float16, in the layout of the convolutions.
Model begin(
    const Network& n, const Spoil& spoil = [](Step&) {}) {
  Model m;
  m.spoil = spoil;
  m.push_back(plain(kept("Data", "data", {}, n.data), DType::kFloat32));
  const Tensor image = each(m.back().output, half);
  m.push_back(inserted("Cast", "trans_Cast_0", {"data"}, image, "NCHW"));
  m.push_back(inserted("TransData", "trans_TransData_1", {"trans_Cast_0"}, image, "NC1HWC0"));
  return m;
}

// ... and how it ends, after relu2.
void finish(Model& m, const std::string& last, const Network& n) {
  m.push_back(kept("Pooling", "pool2", {last}, each(average(m.back().output), half)));
  const Tensor pooled = m.back().output;
  m.push_back(inserted("TransData", "trans_TransData_2", {"pool2"}, pooled, "NCHW"));
  m.push_back(weights("fc1_weights", n.matrix, "FRACTAL_NZ"));
  const Tensor scores = each(connect(pooled, m.back().output), half);
  m.push_back(plain(kept("FullyConnection", "fc1", {"trans_TransData_2", "fc1_weights"}, scores)));
  m.push_back(plain(kept("SoftmaxV2", "prob", {"fc1"}, each(softmax(scores), half))));
  m.push_back(inserted("NetOutput", "Node_Output", {"prob"}, {}, "ND"));
}

// Converted as usual: conv1, bn1 and relu1 in one operator, conv2 and relu2 in another. With
// `wrong_order` the first applies relu before the normalisation.
Model fused(const Network& n, bool wrong_order) {
  Model m = begin(n);
  const Tensor image = m.back().output, bias1 = each(wrong_order ? n.bias1 : n.folded_bias(), half);
  m.push_back(weights("conv1_filter", wrong_order ? n.filter1 : n.folded_filter(), "FRACTAL_Z"));
  Tensor sum = convolve(image, m.back().output, bias1, exact);
  m.push_back({"Conv2D",
               "conv1relu1",
               {"trans_TransData_1", "conv1_filter"},
               {"conv1", "bn1", "relu1"},
               "relu1",
               each(wrong_order ? n.normalise(relu(sum)) : relu(sum), half)});
  m.push_back(kept("Pooling", "pool1", {"conv1relu1"}, max_pool(m.back().output)));
  const Tensor pooled = m.back().output;
  m.push_back(weights("conv2_filter", n.filter2, "FRACTAL_Z"));
  sum = convolve(pooled, m.back().output, each(n.bias2, half), exact);
  m.push_back({"Conv2D",
               "conv2relu2",
               {"pool1", "conv2_filter"},
               {"conv2", "relu2"},
               "relu2",
               each(relu(sum), half)});
  finish(m, "conv2relu2", n);
  return m;
}

// Converted with fusion switched off. `partial` as in convolve.
Model unfused(
    const Network& n, Rounding partial, const Spoil& spoil = [](Step&) {}) {
  Model m = begin(n, spoil);
  const Tensor image = m.back().output;
  m.push_back(weights("conv1_filter", n.filter1, "FRACTAL_Z"));
  Tensor sum = convolve(image, m.back().output, each(n.bias1, half), partial);
  m.push_back(kept("Conv2D", "conv1", {"trans_TransData_1", "conv1_filter"}, each(sum, half)));
  m.push_back(kept("BNInference", "bn1", {"conv1"}, each(n.normalise(m.back().output), half)));
  m.push_back(kept("Relu", "relu1", {"bn1"}, relu(m.back().output)));
  m.push_back(kept("Pooling", "pool1", {"relu1"}, max_pool(m.back().output)));
  const Tensor pooled = m.back().output;
  m.push_back(weights("conv2_filter", n.filter2, "FRACTAL_Z"));
  sum = convolve(pooled, m.back().output, each(n.bias2, half), partial);
  m.push_back(kept("Conv2D", "conv2", {"pool1", "conv2_filter"}, each(sum, half)));
  m.push_back(kept("Relu", "relu2", {"conv2"}, relu(m.back().output)));
  finish(m, "relu2", n);
  return m;
}

// The fused model by the next version of the toolkit: it takes float16 images, so that the cast at
// the start is gone; softmax uses a quick exponential, and its result is cast to float32.
Model next_version(const Network& n) {
  Model m = fused(n, false);
  m.erase(m.begin() + 1);
  m[0].output = each(n.data, half);
  m[0].dtype = DType::kFloat16;
  m[1].inputs = {"data"};
  Step& prob = m[m.size() - 2];
  prob.output = each(softmax(output_of(m, "fc1"), quick_exp), half);
  Step cast = inserted("Cast", "trans_Cast_3", {"prob"}, prob.output, "ND");
  cast.dtype = DType::kFloat32;
  m.back().inputs = {cast.name};
  m.insert(m.end() - 1, std::move(cast));
  return m;
}

// --- Quantization: eight bits for both convolutions; the last layer stays as it is ---

double quantized(double x, Quantization q) {
  return std::clamp(std::nearbyint(x * q.scale + q.offset), -128.0, 127.0);
}
double dequantized(double integer, Quantization q) { return (integer - q.offset) / q.scale; }

struct QuantizedLayer {
  Quantization input;
  Tensor filter;               // integers
  std::vector<double> scales;  // of each filter
  Tensor bias;
};

QuantizedLayer quantize(const Tensor& input, const Tensor& filter, const Tensor& bias) {
  const auto [low, high] = std::minmax_element(input.values.begin(), input.values.end());
  // Positive numbers use all 256 integers.
  QuantizedLayer layer{
      *low < 0 ? Quantization{127 / std::max(-*low, *high), 0} : Quantization{255 / *high, -128},
      filter,
      {},
      bias};
  const size_t size = filter.values.size() / size_t(filter.shape[0]);
  for (size_t f = 0; f < size_t(filter.shape[0]); ++f) {
    double most = 0;
    for (size_t i = 0; i < size; ++i) most = std::max(most, std::abs(filter.values[f * size + i]));
    layer.scales.push_back(127 / most);
    for (size_t i = 0; i < size; ++i)
      layer.filter.values[f * size + i] =
          std::nearbyint(filter.values[f * size + i] * layer.scales[f]);
  }
  return layer;
}

// What the convolution of integers yields, as the device holds it.
Tensor integer_sums(const QuantizedLayer& layer, const Tensor& integers) {
  const Tensor image = each(integers, [&](double x) { return x - layer.input.offset; });
  Tensor bias = layer.bias;
  for (size_t f = 0; f < bias.values.size(); ++f)
    bias.values[f] = std::nearbyint(bias.values[f] * layer.input.scale * layer.scales[f]);
  return convolve(image, layer.filter, bias, exact);
}

Tensor numbers(const QuantizedLayer& layer, const Tensor& sums) {
  return by_channel(sums,
                    [&](double x, size_t c) { return x / layer.input.scale / layer.scales[c]; });
}

struct QuantizedNetwork {
  QuantizedLayer conv1, conv2;
};
QuantizedNetwork quantize(const Network& n, const Model& golden) {
  Tensor bias = n.folded_bias();
  bias.shape = n.bias1.shape;
  return {quantize(n.data, n.folded_filter(), bias),
          quantize(output_of(golden, "pool1"), n.filter2, n.bias2)};
}

// The quantized model as the framework runs it: numbers that are rounded to what the integers can
// stand for. The steps also say what the quantization tool notes in its json.
Model quantized_original(const Network& n, const QuantizedNetwork& q) {
  Model m;
  const auto add = [&](const char* type, std::string name, std::string input,
                       std::vector<std::string> origins, std::string origin, Tensor output,
                       DType dtype = DType::kFloat16) {
    m.push_back(plain({type,
                       std::move(name),
                       {std::move(input)},
                       std::move(origins),
                       std::move(origin),
                       std::move(output)},
                      dtype));
  };
  const auto quantized_layer = [&](std::string name, std::vector<std::string> origins,
                                   const QuantizedLayer& layer) {
    const std::string before = m.back().name;
    const auto round = [&](double x) {
      return dequantized(quantized(x, layer.input), layer.input);
    };
    add("Quant", name + "_quant_layer", before, {before}, before, each(m.back().output, round),
        DType::kInt8);
    const Tensor integers =
        each(m.back().output, [&](double x) { return quantized(x, layer.input); });
    add("Convolution", name, name + "_quant_layer", origins, "",
        numbers(layer, integer_sums(layer, integers)), DType::kInt32);
    add("DeQuant", name + "_dequant_layer", name, origins, origins.back(), m.back().output);
  };
  m.push_back(plain(kept("Input", "data", {}, n.data)));
  quantized_layer("conv1", {"conv1", "bn1"}, q.conv1);
  add("ReLU", "relu1", "conv1_dequant_layer", {"relu1"}, "relu1", relu(m.back().output));
  add("Pooling", "pool1", "relu1", {"pool1"}, "pool1", max_pool(m.back().output));
  quantized_layer("conv2", {"conv2"}, q.conv2);
  add("ReLU", "relu2", "conv2_dequant_layer", {"relu2"}, "relu2", relu(m.back().output));
  add("Pooling", "pool2", "relu2", {"pool2"}, "pool2", average(m.back().output));
  add("InnerProduct", "fc1", "pool2", {"fc1"}, "fc1", connect(m.back().output, n.matrix));
  add("Softmax", "prob", "fc1", {"prob"}, "prob", softmax(m.back().output));
  return m;
}

// What goes wrong on the device.
struct Faults {
  bool zero_point = false;  // conv2 takes its integers for what they stand for: one node is wrong
  bool is_fused = false;    // dequantization and relu2 are one operator ...
  bool no_relu = false;     // ... that forgets relu2
};
// ... and as the device runs it, fusion off: int8 in, int32 out, float16 again.
Model device_quantized(const Network& n, const QuantizedNetwork& q, Faults faults = {}) {
  Model m = begin(n);
  const auto quantized_layer = [&](const std::string& name, const QuantizedLayer& layer) {
    Step quant = kept("AscendQuant", name + "_quant_layer", {m.back().name},
                      each(m.back().output, [&](double x) { return quantized(x, layer.input); }));
    quant.dtype = DType::kInt8;
    quant.quantization = layer.input;
    Step filter = inserted("Const", name + "_filter", {}, layer.filter, "NCHW");
    filter.dtype = DType::kInt8;
    QuantizedLayer used = layer;
    if (faults.zero_point && name == "conv2") used.input.offset = 0;
    Step sums = kept("Conv2D", name, {quant.name, filter.name}, integer_sums(used, quant.output));
    sums.dtype = DType::kInt32;
    Step dequant = kept("AscendDequant", name + "_dequant_layer", {name},
                        each(numbers(layer, sums.output), half));
    for (Step* step : {&quant, &filter, &sums, &dequant}) m.push_back(std::move(*step));
  };
  quantized_layer("conv1", q.conv1);
  m.push_back(kept("Relu", "relu1", {"conv1_dequant_layer"}, relu(m.back().output)));
  m.push_back(kept("Pooling", "pool1", {"relu1"}, max_pool(m.back().output)));
  quantized_layer("conv2", q.conv2);
  if (faults.is_fused) {
    Step& last = m.back();
    last.name = "conv2_dequant_relu2";
    last.origins = {"conv2_dequant_layer", "relu2"};
    last.origin = "relu2";
    if (!faults.no_relu) last.output = relu(last.output);
  } else {
    m.push_back(kept("Relu", "relu2", {"conv2_dequant_layer"}, relu(m.back().output)));
  }
  finish(m, m.back().name, n);
  return m;
}

// --- One fault, everything else as it should be ---

struct Fault {
  const char *name, *summary;
  std::function<void(Step&)> spoil;
  bool has_loud_channel = false;  // one channel of bn1 is a hundred times as large as the others
};

// On an even grid of so many levels on either side of zero, of which the last is `high`.
double on_grid(double x, double high, double levels) {
  return std::clamp(std::nearbyint(x * levels / high), -levels, levels) * high / levels;
}
double largest(const Tensor& tensor) {
  double most = 0;
  for (const double x : tensor.values) most = std::max(most, std::abs(x));
  return most;
}
Spoil at(std::string name, std::function<Tensor(const Tensor&)> change) {
  return [=](Step& step) {
    if (step.name == name) step.output = change(step.output);
  };
}
double bfloat16(double x) { return double(float_from_bfloat16(bfloat16_from_float(float(x)))); }

std::vector<Fault> faults() {
  return {
      {"overflow", "results of conv2 are too large for float16",
       at("conv2",
          [](const Tensor& t) { return each(t, [](double x) { return half(x * 1e5); }); })},
      {"saturation", "conv2 stops at 1.5",
       at("conv2",
          [](const Tensor& t) { return each(t, [](double x) { return std::min(x, 1.5); }); })},
      {"calibration_clipping", "bn1 is on eight bits, in a range that ends too early",
       at("bn1",
          [](const Tensor& t) {
            const double high = largest(t) / 3;
            return each(t, [&](double x) { return half(on_grid(x, high, 127)); });
          })},
      {"outlier_channel", "bn1 is on eight bits with one scale, and one channel is very large",
       at("bn1",
          [](const Tensor& t) {
            const double high = largest(t);
            return each(t, [&](double x) { return half(on_grid(x, high, 127)); });
          }),
       true},
      {"quantization", "conv2 is on four bits",
       at("conv2",
          [](const Tensor& t) {
            const double high = largest(t);
            return each(t, [&](double x) { return half(on_grid(x, high, 7)); });
          })},
      {"precision_mode", "conv1 computes in bfloat16",
       at("conv1", [](const Tensor& t) { return each(t, bfloat16); })},
      {"inputs_differ", "the picture has its colours in reverse order",
       at("data",
          [](const Tensor& t) {
            Tensor reversed = t;
            const size_t size = t.values.size() / 3;
            for (size_t i = 0; i < t.values.size(); ++i)
              reversed.values[i] = t.values[(2 - i / size) * size + i % size];
            return reversed;
          })},
      {"transform", "bn1 gives out what conv1 left in its buffer",
       [conv1 = Tensor()](Step& step) mutable {
         if (step.name == "conv1") conv1 = step.output;
         if (step.name == "bn1") step.output = conv1;
       }},
      {"weights", "the weights of conv2 are 3 % too large",
       at("conv2_filter",
          [](const Tensor& t) { return each(t, [](double x) { return half(x * 1.03); }); })},
      {"operator", "relu2 hands on what it reads",
       [conv2 = Tensor()](Step& step) mutable {
         if (step.name == "conv2") conv2 = step.output;
         if (step.name == "relu2") step.output = conv2;
       }},
      {"accumulated", "everything that computes is off by one or two percent",
       [engine = std::mt19937(3)](Step& step) mutable {
         if (!step.is_dumped() || step.origins.empty()) return;
         for (double& x : step.output.values)
           x = half(x * (1 + 0.06 * (double(engine()) / 4294967296.0 - 0.5)));
       }},
  };
}

// --- Writing ---

bool finished(Result<void> result) {
  if (!result)
    std::fprintf(stderr, "error: %s\n  where: %s\n", result.error().what.c_str(),
                 result.error().where.c_str());
  return result.ok();
}

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* at = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), at, at + sizeof value);
}

io::WriteItem item(std::string name, const Tensor& tensor, DType dtype) {
  std::vector<std::byte> bytes;
  for (double x : tensor.values) {
    switch (dtype) {
      case DType::kFloat16: append(bytes, half_from_float(float(x))); break;
      case DType::kInt8: append(bytes, int8_t(x)); break;
      case DType::kInt32: append(bytes, int32_t(x)); break;
      default: append(bytes, float(x)); break;
    }
  }
  return {std::move(name), dtype, tensor.shape,
          [dtype, shape = tensor.shape, bytes]() -> Result<io::TensorReader> {
            return io::TensorReader::from_memory(dtype, shape, bytes);
          }};
}

std::string time_of(size_t step) { return std::to_string(1767268800000001 + step); }

// Every output as the framework saves it: operator.output.time.npy.
bool save_npy(const fs::path& directory, const Model& model) {
  fs::create_directories(directory);
  for (size_t i = 0; i < model.size(); ++i) {
    auto sink = FileSink::create(directory / (model[i].name + ".0." + time_of(i) + ".npy"));
    if (!sink) return finished(sink.error());
    const io::WriteItem one = item("", model[i].output, DType::kFloat32);
    if (!finished(io::format_by_name("npy")->write(*sink, {&one, 1})) || !finished(sink->commit()))
      return false;
  }
  return true;
}

// Every operator as the device dumps it: type.operator.task.stream.time.
bool save_dump(const fs::path& root, const Model& model) {
  const fs::path directory =
      root / "20260101120000/0/net/1/0";  // time, device, model, its id, step
  fs::create_directories(directory);
  size_t task = 0;
  for (const Step& step : model) {
    if (!step.is_dumped()) continue;
    std::vector<io::AscendItem> items;
    const auto add = [&](std::string slot, const Step& from) {
      // Convolutions of integers keep blocks of sixteen sums.
      items.push_back({item(std::move(slot), from.output, from.dtype),
                       *layout_from_name(from.layout),
                       {},
                       from.dtype == DType::kInt32 ? 16 : 0});
    };
    for (size_t k = 0; k < step.inputs.size(); ++k)
      add("input." + std::to_string(k),
          *std::find_if(model.begin(), model.end(),
                        [&](const Step& other) { return other.name == step.inputs[k]; }));
    add("output.0", step);
    const std::string name =
        fmt::format("{}.{}.{}.7.{}", step.type, step.name, task + 1, time_of(task));
    ++task;
    auto sink = FileSink::create(directory / name);
    if (!sink) return finished(sink.error());
    if (!finished(io::write_ascend_dump(*sink, step.name, items)) || !finished(sink->commit()))
      return false;
  }
  return true;
}

std::string attribute(std::string_view key, const std::string& value) {
  return fmt::format(R"({{"key": "{}", "value": {{{}}}}})", key, value);
}

std::string json_of(const Step& step, size_t id) {
  std::vector<std::string> inputs, attributes, origin;
  for (const std::string& input : step.inputs) inputs.push_back(fmt::format("\"{}:0\"", input));
  // An empty list is left out: inserted by the compiler.
  std::string names = R"("list": {"val_type": 1)";
  for (size_t i = 0; i < step.origins.size(); ++i)
    names += fmt::format("{}\"{}\"", i == 0 ? ", \"s\": [" : ", ", step.origins[i]);
  attributes.push_back(
      attribute("_datadump_original_op_names", names + (step.origins.empty() ? "}" : "]}")));
  if (step.quantization) {
    attributes.push_back(attribute("scale", fmt::format("\"f\": {}", step.quantization->scale)));
    attributes.push_back(attribute("offset", fmt::format("\"f\": {}", step.quantization->offset)));
  }
  if (!step.origin.empty()) {
    origin.push_back(attribute("_datadump_origin_name", "\"s\": \"" + step.origin + '"'));
    origin.push_back(attribute("_datadump_origin_output_index", "\"i\": 0"));
    origin.push_back(attribute("_datadump_origin_format",
                               step.output.shape.size() == 4 ? R"("s": "NCHW")" : R"("s": "ND")"));
  }
  const std::map<DType, const char*> types = {{DType::kFloat16, "DT_FLOAT16"},
                                              {DType::kFloat32, "DT_FLOAT"},
                                              {DType::kInt8, "DT_INT8"},
                                              {DType::kInt32, "DT_INT32"}};
  const std::string output =
      step.type == "NetOutput"
          ? ""
          : fmt::format(
                R"({{"dtype": "{}", "layout": "{}", "shape": {{"dim": [{}]}}, "attr": [{}]}})",
                types.at(step.dtype), step.layout, fmt::join(step.output.shape, ", "),
                fmt::join(origin, ", "));
  return fmt::format(
      "   {{\"name\": \"{}\", \"type\": \"{}\", \"id\": {},\n    \"input\": [{}],\n"
      "    \"attr\": [{}],\n    \"output_desc\": [{}]}}",
      step.name, step.type, id, fmt::join(inputs, ", "), fmt::join(attributes, ",\n     "), output);
}

// The model as `atc --mode=1` and the quantization tool write it.
bool save_graph(const fs::path& path, const Model& model) {
  std::vector<std::string> steps;
  for (size_t i = 0; i < model.size(); ++i) steps.push_back(json_of(model[i], i + 1));
  std::ofstream file(path);
  file << fmt::format(
      "{{\"name\": \"net\", \"graph\": [{{\"name\": \"net\", \"op\": [\n{}\n]}}]}}\n",
      fmt::join(steps, ",\n"));
  return file.good();
}

}  // namespace

// The original, the device without a fault and with one, and the graph of both.
int make_fault(const std::string& name, const fs::path& root) {
  const std::vector<Fault> all = faults();
  const auto fault =
      std::find_if(all.begin(), all.end(), [&](const Fault& each) { return each.name == name; });
  if (fault == all.end()) {
    std::fprintf(stderr, "there is no fault '%s'; there are:\n", name.c_str());
    for (const Fault& each : all) std::fprintf(stderr, "  %-22s%s\n", each.name, each.summary);
    return 2;
  }
  Network network = make_network();
  if (fault->has_loud_channel) {
    constexpr size_t kChannel = 13, kKernel = 9;
    constexpr double kTimes = 100;
    network.scale1.values[kChannel] *= kTimes;
    network.shift1.values[kChannel] *= kTimes;
    const size_t channels = size_t(network.filter2.shape[1]);
    for (size_t i = 0; i < network.filter2.values.size(); ++i)
      if (i / kKernel % channels == kChannel) network.filter2.values[i] /= kTimes;
  }
  const Model right = unfused(network, exact), wrong = unfused(network, exact, fault->spoil);
  if (!save_npy(root / "original", original(network)) || !save_dump(root / "npu_right", right) ||
      !save_dump(root / "npu", wrong) || !save_graph(root / "model.json", right))
    return 2;
  std::printf("%s: %s\n", root.c_str(), fault->summary);
  return 0;
}

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--fault" && argc == 4) return make_fault(argv[2], argv[3]);
  const bool wants_help = first == "--help" || first == "-h";
  if (argc != 2 || first.starts_with('-')) {
    std::fprintf(
        wants_help ? stdout : stderr,
        "usage: make_offline_example DIR\n"
        "       make_offline_example --fault NAME DIR\n\n"
        "Makes the files of every offline comparison, of one small network:\n"
        "  original/            outputs of the original model, npy\n"
        "  npu/                 device dump of the converted model, and model.json\n"
        "  npu_broken/          the same with one fused operator gone wrong\n"
        "  npu_unfused/         converted with fusion off, and model_unfused.json\n"
        "  npu_other_chip/      the same on another processor\n"
        "  npu_next/            converted by the next toolkit, and model_next.json\n"
        "  quantized_original/  outputs of the quantized original, npy, and quant.json\n"
        "  npu_quantized/       that one converted with fusion off, and npu_quantized.json\n"
        "  npu_quantized_node/  the same with one operator wrong\n"
        "  npu_quantized_fused/, npu_quantized_broken/  with fusion on, right and wrong, and\n"
        "                       npu_quantized_fused.json\n"
        "  quantized_badly/     the quantized original after a calibration with too few samples\n\n"
        "With --fault DIR holds the original/, npu/ with one fault, npu_right/ without it, and\n"
        "model.json; an unknown name lists the faults.\n\n"
        "  make_offline_example net\n"
        "  plumb compare net/npu net/original --graph net/model.json\n");
    return wants_help ? 0 : 2;
  }
  const fs::path root = argv[1];
  const Network network = make_network();
  const Model golden = original(network), converted = fused(network, false),
              without_fusion = unfused(network, exact), next = next_version(network);
  const QuantizedNetwork integers = quantize(network, golden);
  const Model quantized = quantized_original(network, integers),
              quantized_device = device_quantized(network, integers),
              quantized_fused = device_quantized(network, integers, {.is_fused = true});
  // Ranges of samples that reach a third as far as the data do.
  QuantizedNetwork clipped = integers;
  for (QuantizedLayer* layer : {&clipped.conv1, &clipped.conv2}) layer->input.scale *= 3;
  if (!save_npy(root / "original", golden) || !save_dump(root / "npu", converted) ||
      !save_graph(root / "model.json", converted) ||
      !save_dump(root / "npu_broken", fused(network, true)) ||
      !save_dump(root / "npu_unfused", without_fusion) ||
      !save_graph(root / "model_unfused.json", without_fusion) ||
      !save_dump(root / "npu_other_chip", unfused(network, half)) ||
      !save_dump(root / "npu_next", next) || !save_graph(root / "model_next.json", next) ||
      !save_npy(root / "quantized_original", quantized) ||
      !save_graph(root / "quant.json", quantized) ||
      !save_dump(root / "npu_quantized", quantized_device) ||
      !save_graph(root / "npu_quantized.json", quantized_device) ||
      !save_dump(root / "npu_quantized_node",
                 device_quantized(network, integers, {.zero_point = true})) ||
      !save_dump(root / "npu_quantized_fused", quantized_fused) ||
      !save_graph(root / "npu_quantized_fused.json", quantized_fused) ||
      !save_dump(root / "npu_quantized_broken",
                 device_quantized(network, integers, {.is_fused = true, .no_relu = true})) ||
      !save_npy(root / "quantized_badly", quantized_original(network, clipped)))
    return 2;
  std::printf("%s: dumps and graphs of a small network; make_offline_example --help lists them\n",
              root.c_str());
  return 0;
}
