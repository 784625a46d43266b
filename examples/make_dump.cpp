// SPDX-License-Identifier: Apache-2.0
//
// Makes dumps to try Plumbline on: a small network (convolution, ReLU, average pooling, fully
// connected, softmax) computed once in float32, saved as a framework would (`golden/*.npy`), and
// once with every tensor rounded to float16, saved as a device would (`npu/`, device layouts
// included). `npu_broken/` is the same device run after a conversion that went wrong. With
// --overflow only the dump of a device on which conv1's results were too large for float16, and
// the record it left of that. With --torchair dumps of PyTorch's graph mode, where convolution and
// ReLU are fused into one operator that is wrong.
//
//   make_example_dump [--overflow | --torchair] DIR
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "io/ascend_dump.h"
#include "io/reader.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace {

using namespace plumb;
namespace fs = std::filesystem;

struct Tensor {
  Shape shape;
  std::vector<float> values;
};

// How a device would round: to float16 after every operator. The reference does not round.
using Rounding = float (*)(float);
float exact(float x) { return x; }
float to_half(float x) { return float_from_half(half_from_float(x)); }

struct Network {
  Tensor image, kernel, bias, matrix;              // inputs and weights
  Tensor conv, relu, pool, scores, probabilities;  // results

  void run(Rounding round) {
    constexpr int64_t kChannels = 3, kFilters = 20, kSize = 16, kClasses = 10;
    for (Tensor* t : {&image, &kernel, &bias, &matrix})
      for (float& x : t->values) x = round(x);
    conv = relu = {{1, kFilters, kSize, kSize}, std::vector<float>(kFilters * kSize * kSize)};
    pool = {{1, kFilters}, std::vector<float>(kFilters)};
    scores = probabilities = {{1, kClasses}, std::vector<float>(kClasses)};
    for (int64_t f = 0; f < kFilters; ++f) {
      double mean = 0;
      for (int64_t y = 0; y < kSize; ++y) {
        for (int64_t x = 0; x < kSize; ++x) {
          double sum = bias.values[size_t(f)];
          for (int64_t c = 0; c < kChannels; ++c)
            for (int64_t dy = -1; dy <= 1; ++dy)
              for (int64_t dx = -1; dx <= 1; ++dx)
                if (y + dy >= 0 && y + dy < kSize && x + dx >= 0 && x + dx < kSize)
                  sum += double(image.values[size_t((c * kSize + y + dy) * kSize + x + dx)]) *
                         kernel.values[size_t(((f * kChannels + c) * 3 + dy + 1) * 3 + dx + 1)];
          const auto at = size_t((f * kSize + y) * kSize + x);
          conv.values[at] = round(float(sum));
          relu.values[at] = std::fmax(conv.values[at], 0.0f);
          mean += relu.values[at];
        }
      }
      pool.values[size_t(f)] = round(float(mean / double(kSize * kSize)));
    }
    double total = 0;
    for (int64_t k = 0; k < kClasses; ++k) {
      double sum = 0;
      for (int64_t f = 0; f < kFilters; ++f)
        sum += double(pool.values[size_t(f)]) * matrix.values[size_t(f * kClasses + k)];
      scores.values[size_t(k)] = round(float(sum));
      total += std::exp(scores.values[size_t(k)]);
    }
    for (size_t k = 0; k < size_t(kClasses); ++k)
      probabilities.values[k] = round(float(std::exp(scores.values[k]) / total));
  }
};

// What a converter does that folds a batch normalisation into the convolution before it, and folds
// the scale of one channel twice.
void fold_twice(Network& network) {
  constexpr size_t kFilter = 13, kWeights = 3 * 3 * 3;
  constexpr float kScale = 1.5f;
  for (size_t i = 0; i < kWeights; ++i) network.kernel.values[kFilter * kWeights + i] *= kScale;
  network.bias.values[kFilter] *= kScale;
}

// What a converter does that forgets to divide the weights by the scale they were stored with.
void forget_scale(Network& network) {
  for (float& x : network.kernel.values) x *= 60000;
}

io::WriteItem item(std::string name, const Tensor& tensor, DType dtype) {
  std::vector<std::byte> bytes;
  for (float x : tensor.values) {
    const uint16_t half = half_from_float(x);
    const void* from = dtype == DType::kFloat16 ? static_cast<const void*>(&half) : &x;
    const auto* at = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), at, at + bits_of(dtype) / 8);
  }
  return {std::move(name), dtype, tensor.shape,
          [dtype, shape = tensor.shape, bytes]() -> Result<io::TensorReader> {
            return io::TensorReader::from_memory(dtype, shape, bytes);
          }};
}

bool finished(Result<void> result) {
  if (!result)
    std::fprintf(stderr, "error: %s\n  where: %s\n", result.error().what.c_str(),
                 result.error().where.c_str());
  return result.ok();
}

bool save_npy(const fs::path& path, const Tensor& tensor) {
  auto sink = FileSink::create(path);
  if (!sink) return finished(sink.error());
  const io::WriteItem one = item("", tensor, DType::kFloat32);
  return finished(io::format_by_name("npy")->write(*sink, {&one, 1})) && finished(sink->commit());
}

struct Stored {
  std::string slot;
  const Tensor* tensor;
  std::string_view layout;
};
bool save_dump(const fs::path& path, const std::string& op, const std::vector<Stored>& tensors,
               DType dtype = DType::kFloat16) {
  auto sink = FileSink::create(path);
  if (!sink) return finished(sink.error());
  std::vector<io::AscendItem> items;
  for (const Stored& s : tensors)
    items.push_back({item(s.slot, *s.tensor, dtype), *layout_from_name(s.layout)});
  return finished(io::write_ascend_dump(*sink, op, items)) && finished(sink->commit());
}

Tensor random(Shape shape, double scale, std::mt19937& engine) {
  Tensor tensor{shape, std::vector<float>(size_t(*element_count(shape)))};
  // Not std::normal_distribution: its numbers differ from library to library.
  for (float& x : tensor.values) x = float((double(engine()) / 4294967296.0 * 2 - 1) * scale);
  return tensor;
}

bool save_golden(const fs::path& root, const Network& n) {
  const fs::path directory = root / "golden";
  fs::create_directories(directory);
  return save_npy(directory / "conv1.0.1767268800000001.npy", n.conv) &&
         save_npy(directory / "relu1.0.1767268800000002.npy", n.relu) &&
         save_npy(directory / "pool1.0.1767268800000003.npy", n.pool) &&
         save_npy(directory / "fc1.0.1767268800000004.npy", n.scores) &&
         save_npy(directory / "prob.0.1767268800000005.npy", n.probabilities);
}

constexpr std::string_view kRun = "20260101120000/0/tiny/1/0";  // time, device, model, its id, step

bool save_device(const fs::path& root, const Network& n) {
  const fs::path directory = root / kRun;
  fs::create_directories(directory);
  return save_dump(directory / "Conv2D.conv1.1.7.1767268800000001", "conv1",
                   {{"input.0", &n.image, "NC1HWC0"},
                    {"input.1", &n.kernel, "FRACTAL_Z"},
                    {"input.2", &n.bias, "ND"},
                    {"output.0", &n.conv, "NC1HWC0"}}) &&
         save_dump(directory / "Relu.relu1.2.7.1767268800000002", "relu1",
                   {{"input.0", &n.conv, "NC1HWC0"}, {"output.0", &n.relu, "NC1HWC0"}}) &&
         save_dump(directory / "AvgPool.pool1.3.7.1767268800000003", "pool1",
                   {{"input.0", &n.relu, "NC1HWC0"}, {"output.0", &n.pool, "ND"}}) &&
         save_dump(directory / "MatMulV2.fc1.4.7.1767268800000004", "fc1",
                   {{"input.0", &n.pool, "FRACTAL_NZ"},
                    {"input.1", &n.matrix, "FRACTAL_NZ"},
                    {"output.0", &n.scores, "FRACTAL_NZ"}}) &&
         save_dump(directory / "SoftmaxV2.prob.5.7.1767268800000005", "prob",
                   {{"input.0", &n.scores, "ND"}, {"output.0", &n.probabilities, "ND"}});
}

// What the device noted of conv1: 32-bit words, then 64-bit ones.
bool save_overflow_record(const fs::path& root) {
  const uint32_t head[] = {0x5A5A5A5A, 0, 1, 0, 0, 88};  // magic, version, valid, AIC, -, bytes
  const uint64_t data[] = {1,      7,      1, 0, 65535,
                           65535,                        // model, stream, task, -, none, none
                           0x1000, 0x2000, 4, 0, 0x20};  // addresses, core, block, status
  std::vector<std::byte> bytes(sizeof head + sizeof data);
  std::memcpy(bytes.data(), head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, data, sizeof data);
  const Shape shape{std::ssize(bytes)};
  const io::AscendItem record{{"output.0", DType::kUint8, shape,
                               [shape, bytes]() -> Result<io::TensorReader> {
                                 return io::TensorReader::from_memory(DType::kUint8, shape, bytes);
                               }},
                              *layout_from_name("ND")};
  auto sink = FileSink::create(root / kRun / "Opdebug.Node_OpDebug.9.7.1767268800000001");
  if (!sink) return finished(sink.error());
  return finished(io::write_ascend_dump(*sink, "Node_OpDebug", {&record, 1})) &&
         finished(sink->commit());
}

// ---- TorchAir: the graph engine (GE) against the FX graph that it was made from ----

struct Node {
  std::string name, type, fx;  // "Relu_2", "Relu", "relu_2-aten.relu.default"
  std::vector<std::pair<std::string, const Tensor*>> inputs;  // with the operators they come from
  const Tensor* output;
};

std::vector<Node> nodes_of(const Network& n) {
  return {{"Conv2D_1",
           "Conv2D",
           "conv2d_1-aten.conv2d.default",
           {{"arg0_1", &n.image}, {"arg1_1", &n.kernel}, {"arg2_1", &n.bias}},
           &n.conv},
          {"Relu_2", "Relu", "relu_2-aten.relu.default", {{"Conv2D_1", &n.conv}}, &n.relu},
          {"ReduceMean_3", "ReduceMean", "mean_3-aten.mean.dim", {{"Relu_2", &n.relu}}, &n.pool},
          {"MatMul_4",
           "MatMulV2",
           "mm_4-aten.mm.default",
           {{"ReduceMean_3", &n.pool}, {"arg3_1", &n.matrix}},
           &n.scores},
          {"Softmax_5",
           "SoftmaxV2",
           "_softmax_5-aten._softmax.default",
           {{"MatMul_4", &n.scores}},
           &n.probabilities}};
}

bool save_graph(const fs::path& path, const std::vector<Node>& nodes) {
  std::string text = "name: \"graph_1\"\n";
  for (const Node& node : nodes) {
    text += "op {\n  name: \"" + node.name + "\"\n  type: \"" + node.type + "\"\n";
    for (const auto& [producer, tensor] : node.inputs) text += "  input: \"" + producer + ":0\"\n";
    text += "  output_desc {\n    attr {\n      key: \"_fx_tensor_name\"\n      value { s: \"" +
            node.fx + ".OUTPUT.0\" }\n    }\n  }\n}\n";
  }
  auto sink = FileSink::create(path);
  if (!sink) return finished(sink.error());
  sink->write(text);
  return finished(sink->commit());
}

bool save_ge(const fs::path& root, const std::vector<Node>& nodes, bool is_fused) {
  const fs::path directory = root / "worldsize1_global_rank0/20260101120000/0/graph_1_0/1/0";
  fs::create_directories(directory);
  bool ok = save_graph(root / "dynamo_original_graph_1_rank_0_pid_4242_ts_20260101115959000001.txt",
                       nodes);
  for (size_t i = 0; i < nodes.size() && ok; ++i) {
    Node node = nodes[i];
    if (is_fused && i == 0) {
      node.name += nodes[1].name;
      node.type = "AutomaticBufferFusionOp";
      node.output = nodes[1].output;
    } else if (is_fused && i == 1) {
      continue;
    }
    std::vector<Stored> tensors;
    for (const auto& [producer, tensor] : node.inputs)
      tensors.push_back({"input." + std::to_string(tensors.size()), tensor, "ND"});
    tensors.push_back({"output.0", node.output, "ND"});
    const std::string number = std::to_string(i + 1);
    ok = save_dump(
        directory / (node.type + "." + node.name + "." + number + ".7.176726880000000" + number),
        node.name, tensors, DType::kFloat32);
  }
  return ok;
}

bool save_fx(const fs::path& root, const std::vector<Node>& nodes) {
  const fs::path directory = root / "worldsize1_global_rank0/gm_20260101120000000000_dump/0";
  fs::create_directories(directory);
  bool ok = true;
  for (const Node& node : nodes) {
    const std::string number = std::to_string(&node - nodes.data() + 1);
    const auto file = [&](const std::string& slot) {
      return directory / (node.fx + "." + slot + ".2026010112000000000" + number + ".npy");
    };
    for (size_t i = 0; i < node.inputs.size(); ++i)
      ok = ok && save_npy(file("INPUT." + std::to_string(i)), *node.inputs[i].second);
    ok = ok && save_npy(file("OUTPUT.0"), *node.output);
  }
  return ok;
}

// Both runs compute in float32; only the fused operator has one filter spoilt.
bool save_torchair(const fs::path& root, Network network) {
  Network broken = network;
  network.run(exact);
  fold_twice(broken);
  broken.run(exact);
  broken.kernel = network.kernel;  // what goes in is right
  broken.bias = network.bias;
  return save_ge(root / "msprobe_ge_dump", nodes_of(broken), true) &&
         save_fx(root / "msprobe_fx_dump", nodes_of(network)) &&
         save_ge(root / "fusion_off/msprobe_ge_dump", nodes_of(network), false);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool wants_help = first == "--help" || first == "-h", overflow = first == "--overflow";
  const bool torchair = first == "--torchair", has_option = overflow || torchair;
  if (argc != (has_option ? 3 : 2) || wants_help || (first.starts_with('-') && !has_option)) {
    std::fprintf(
        wants_help ? stdout : stderr,
        "usage: make_example_dump [--overflow | --torchair] DIR\n\n"
        "Makes dumps to try plumb on: DIR/golden, the tensors of a small network as float32\n"
        "npy files; DIR/npu, the same ones rounded to float16 as a device dump; and\n"
        "DIR/npu_broken, that device after a conversion that spoilt one filter of conv1.\n"
        "With --overflow DIR is a device dump in which conv1 overflows; with --torchair it\n"
        "holds dumps of TorchAir: GE fused, GE with fusion off, and FX.\n\n"
        "  make_example_dump example && plumb compare example/npu_broken example/golden\n");
    return wants_help ? 0 : 2;
  }
  std::mt19937 engine(7);
  Network reference;
  reference.image = random({1, 3, 16, 16}, 1, engine);
  reference.kernel = random({20, 3, 3, 3}, 0.4, engine);
  reference.bias = random({20}, 0.1, engine);
  reference.matrix = random({20, 10}, 2, engine);
  if (torchair) {
    if (!save_torchair(argv[2], reference)) return 2;
    std::printf("%s: msprobe_ge_dump/, msprobe_fx_dump/ and fusion_off/msprobe_ge_dump/\n",
                argv[2]);
    return 0;
  }
  if (overflow) {
    Network overflowing = reference;
    forget_scale(overflowing);
    overflowing.run(to_half);
    if (!save_device(argv[2], overflowing) || !save_overflow_record(argv[2])) return 2;
    std::printf("%s: a float16 device dump in which conv1 overflows\n", argv[2]);
    return 0;
  }
  Network device = reference, broken = reference;
  fold_twice(broken);
  reference.run(exact);
  device.run(to_half);
  broken.run(to_half);

  const fs::path root = argv[1];
  if (!save_golden(root, reference) || !save_device(root / "npu", device) ||
      !save_device(root / "npu_broken", broken))
    return 2;
  std::printf("%s: golden/ (float32 npy), npu/ and npu_broken/ (float16 device dumps)\n",
              root.c_str());
  return 0;
}
