// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_wiring.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/nearest.h"

namespace plumb::graph {
namespace {

bool is_random(const OnnxNode& node) {
  return node.type.starts_with("Random") || node.type == "Bernoulli" ||
         node.type == "Multinomial" || node.type == "Dropout";
}

}  // namespace

Wiring::Wiring(const OnnxGraph& graph) {
  for (size_t i = 0; i < graph.initializers.size(); ++i)
    weight.emplace(graph.initializers[i].name, i);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view output : graph.nodes[i].outputs)
      if (!output.empty()) producer.emplace(output, i);
}

std::optional<size_t> Wiring::producer_of(std::string_view tensor) const {
  const auto found = producer.find(tensor);
  if (found == producer.end()) return std::nullopt;
  return found->second;
}

Result<size_t> find_node(const OnnxModel& model, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if (model.graph.nodes[i].name == name) return i;
    names.push_back(model.graph.nodes[i].name);
  }
  return Error{fmt::format("the model has no operator '{}'", name),
               fmt::format("{} {} looked at", counted(names.size(), "operator"),
                           names.size() == 1 ? "was" : "were"),
               did_you_mean(name, names) + "names are those of the original ONNX model"};
}

std::vector<bool> constant_nodes(const OnnxModel& model) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  std::vector<bool> constant(graph.nodes.size());
  // Nodes come after what they read, in every model that can run.
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const OnnxNode& node = graph.nodes[i];
    bool reads = node.type == "Constant", depends = is_random(node);
    each_read(node, [&](std::string_view name) {
      reads = true;
      const auto producer = wiring.producer_of(name);
      depends |= producer ? !constant[*producer] : !wiring.weight.contains(name);
    });
    constant[i] = reads && !depends;
  }
  return constant;
}

std::vector<size_t> with_constant_sources(const OnnxModel& model, std::span<const size_t> nodes) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  const std::vector<bool> constant = constant_nodes(model);
  std::vector<bool> taken(graph.nodes.size());
  for (size_t node : nodes) taken[node] = true;
  std::vector<size_t> all;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!taken[i]) continue;
    all.push_back(i);
    each_read(graph.nodes[i], [&](std::string_view name) {
      const auto producer = wiring.producer_of(name);
      if (producer && *producer < i && constant[*producer]) taken[*producer] = true;
    });
  }
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<size_t> nodes_between(const OnnxModel& model, size_t first, size_t last) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  std::vector<bool> after(graph.nodes.size()), before(graph.nodes.size());
  after[first] = before[last] = true;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    each_read(graph.nodes[i], [&](std::string_view name) {
      const auto producer = wiring.producer_of(name);
      if (producer && after[*producer]) after[i] = true;
    });
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (before[i])
      each_read(graph.nodes[i], [&](std::string_view name) {
        if (const auto producer = wiring.producer_of(name)) before[*producer] = true;
      });
  std::vector<size_t> between;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (after[i] && before[i]) between.push_back(i);
  return between;
}

}  // namespace plumb::graph
