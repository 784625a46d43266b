// SPDX-License-Identifier: Apache-2.0
#include "engine/channel_blocks.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/onnx_build.h"

namespace plumb::engine {
namespace {

constexpr int64_t kChannels = 64;  // at least as many as a block has anywhere
constexpr const char* kDomain = "com.microsoft.nchwc";

// Brings a tensor of kChannels channels of two elements into blocks.
Result<std::string> reordering_model() {
  graph::OnnxModel model;
  model.ir_version = 7;
  auto input = make_value(model, "x", {DType::kFloat32, Shape{1, kChannels, 1, 2}});
  if (!input) return input.error();
  model.graph.inputs.push_back(*input);
  model.graph.outputs.push_back(make_value(model, "y"));
  auto node = make_node(model, {.type = "ReorderInput",
                                .inputs = {"x"},
                                .outputs = {"y"},
                                .name = "reorder",
                                .domain = kDomain});
  if (!node) return node.error();
  model.graph.nodes.push_back(*node);
  import_opset(model, "", 13);
  import_opset(model, kDomain, 1);
  return write_onnx(model);
}

}  // namespace

bool has_channel_blocks(const graph::Graph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), [](const graph::Operator& op) {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [](const graph::Output& output) {
      return output.layout == graph::kBlockedChannels;
    });
  });
}

Result<int64_t> channels_of_block(Engine& engine) {
  const auto model = reordering_model();
  if (!model) return model.error();
  auto session = engine.open({as_bytes(*model), {}, {}, {}}, {});
  if (!session) return session.error();
  std::vector<float> values(2 * kChannels);
  std::iota(values.begin(), values.end(), 0.0F);
  const Bytes bytes = std::as_bytes(std::span(values));
  int64_t block = 0;
  auto ran = (*session)->run(
      {{"x", {DType::kFloat32, {1, kChannels, 1, 2}, {bytes.begin(), bytes.end()}}}},
      [&](const Output& output) -> Result<void> {
        if (!output.tensor || output.tensor->bytes.size() != bytes.size()) return {};
        std::vector<float> given(values.size());
        std::memcpy(given.data(), output.tensor->bytes.data(), bytes.size());
        // The second element of the first channel follows the first elements of its block.
        block = std::find(given.begin(), given.end(), 1.0F) - given.begin();
        return {};
      });
  if (!ran) return ran.error();
  if (block < 1 || block > kChannels)
    return Error{"the engine does not tell how it stores channels", engine.version(),
                 "use a lower level of optimization"};
  return block;
}

std::optional<Shape> blocked_shape(const Shape& shape, int64_t block) {
  if (shape.size() != 4 || block < 1 || shape[1] % block != 0) return std::nullopt;
  return Shape{shape[0], shape[1] / block, shape[2], shape[3], block};
}

}  // namespace plumb::engine
