// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_edit.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/onnx_build.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"
#include "graph/onnx_wiring.h"

namespace plumb::graph {
namespace {

// The NodeProto with another name for one input.
std::string with_input(Bytes node, size_t input, std::string_view name) {
  size_t next = 0;
  return rewritten(node, [&](const ProtoField& field, ProtoWriter& out) {
    if (field.number != node_field::kInput || next++ != input) return false;
    out.message(field.number, as_bytes(name));
    return true;
  });
}

bool is_output(const OnnxModel& model, std::string_view tensor) {
  return std::any_of(model.graph.outputs.begin(), model.graph.outputs.end(),
                     [&](const OnnxValue& output) { return output.name == tensor; });
}

}  // namespace

std::vector<std::string> expose(OnnxModel& model, std::span<const std::string> tensors) {
  OnnxNames produced, outputs;
  for (const OnnxNode& node : model.graph.nodes)
    produced.insert(node.outputs.begin(), node.outputs.end());
  for (const OnnxValue& output : model.graph.outputs) outputs.insert(output.name);
  std::vector<std::string> exposed;
  for (const std::string& tensor : tensors) {
    if (tensor.empty() || produced.count(tensor) == 0) continue;
    exposed.push_back(tensor);
    if (outputs.count(tensor) != 0) continue;
    model.graph.outputs.push_back(make_value(model, tensor));
    outputs.insert(model.graph.outputs.back().name);
  }
  return exposed;
}

void drop_weight_inputs(OnnxModel& model) {
  OnnxNames weights;
  for (const OnnxWeight& weight : model.graph.initializers) weights.insert(weight.name);
  std::erase_if(model.graph.inputs,
                [&](const OnnxValue& input) { return weights.count(input.name) != 0; });
  if (!weights.empty()) model.ir_version = std::max<int64_t>(model.ir_version.value_or(0), 4);
}

std::vector<OnnxReader> readers_of(const OnnxModel& model, std::string_view tensor) {
  std::vector<OnnxReader> readers;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const OnnxNode& node = model.graph.nodes[i];
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] == tensor) readers.push_back({i, k});
    if (std::find(node.captures.begin(), node.captures.end(), tensor) != node.captures.end())
      readers.push_back({i, std::nullopt});
  }
  return readers;
}

Result<void> rewire(OnnxModel& model, std::span<const OnnxReader> readers, std::string_view from,
                    std::string_view to) {
  for (const OnnxReader& reader : readers) {
    const OnnxNode& node = model.graph.nodes[reader.node];
    auto done = rewrite_node(model, reader.node,
                             reader.input ? with_input(node.bytes, *reader.input, to)
                                          : renamed_in_bodies(node, {{from, to}}));
    if (!done) return done;
  }
  return {};
}

Result<size_t> insert_nodes(OnnxModel& model, std::vector<OnnxNode> nodes, std::string_view tensor,
                            std::span<const OnnxReader> readers, std::string_view result) {
  const Wiring wiring(model.graph);
  size_t place = 0;
  for (const OnnxNode& node : nodes)
    each_read(node, [&](std::string_view name) {
      if (const auto producer = wiring.producer_of(name)) place = std::max(place, *producer + 1);
    });
  for (const OnnxReader& reader : readers)
    if (reader.node < place)
      return Error{
          "new nodes would have to run before what they read",
          fmt::format("'{}' is read by '{}', which comes before '{}'", result,
                      model.graph.nodes[reader.node].name, model.graph.nodes[place - 1].name),
          "name readers that come later"};
  if (auto rewired = rewire(model, readers, tensor, result); !rewired) return rewired.error();
  model.graph.nodes.insert(model.graph.nodes.begin() + static_cast<ptrdiff_t>(place),
                           std::make_move_iterator(nodes.begin()),
                           std::make_move_iterator(nodes.end()));
  return place;
}

void replace_node(OnnxModel& model, size_t node, std::vector<OnnxNode> nodes) {
  auto& all = model.graph.nodes;
  OnnxNames gone(all[node].outputs.begin(), all[node].outputs.end());
  for (const OnnxNode& added : nodes)
    for (std::string_view output : added.outputs) gone.erase(output);
  std::erase_if(model.graph.value_infos,
                [&](const OnnxValue& value) { return gone.contains(value.name); });
  const auto at = all.erase(all.begin() + static_cast<ptrdiff_t>(node));
  all.insert(at, std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
}

Result<void> remove_node(OnnxModel& model, size_t node) {
  const OnnxNode removed = model.graph.nodes[node];
  const auto refuse = [&](std::string why) {
    return Error{"a node cannot be taken out", fmt::format("'{}' {}", removed.name, why),
                 "replace it by others"};
  };
  std::string_view output;
  for (std::string_view name : removed.outputs) {
    if (!is_output(model, name) && readers_of(model, name).empty()) continue;
    if (!output.empty()) return refuse("has several outputs that are read");
    output = name;
  }
  if (output.empty()) {
    replace_node(model, node, {});
    return {};
  }
  if (removed.inputs.empty() || removed.inputs.front().empty()) return refuse("reads nothing");
  const std::string_view input = removed.inputs.front();
  if (auto done = rewire(model, readers_of(model, output), output, input); !done) return done;
  std::vector<OnnxNode> nodes;
  if (is_output(model, output)) nodes.push_back(make_identity(model, removed.name, input, output));
  replace_node(model, node, std::move(nodes));
  return {};
}

Result<OnnxNode> with_names(OnnxModel& model, const OnnxNode& node, const Renames& renames) {
  auto renamed = read_onnx_node(as_bytes(model.keep(renamed_node(node, renames))));
  if (!renamed) return std::move(renamed.error()).in(node.name);
  return renamed;
}

Result<void> rewrite_node(OnnxModel& model, size_t node, std::string bytes) {
  OnnxNode& old = model.graph.nodes[node];
  auto read = read_onnx_node(as_bytes(model.keep(std::move(bytes))));
  if (!read) return std::move(read.error()).in(old.name);
  read->name = old.name;
  old = std::move(*read);
  return {};
}

}  // namespace plumb::graph
