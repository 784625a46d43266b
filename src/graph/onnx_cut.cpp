// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_cut.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"
#include "graph/onnx_wiring.h"

namespace plumb::graph {
namespace {

// By name: the first value of each.
using Values = std::unordered_map<std::string_view, const OnnxValue*>;

Values known_values(const OnnxGraph& graph) {
  Values values;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos})
    for (const OnnxValue& value : *list) values.try_emplace(value.name, &value);
  return values;
}

OnnxValue value_for(OnnxModel& model, std::string_view name, const Values& known,
                    const Outside& outside) {
  const auto type = outside.types.find(name);
  if (type != outside.types.end() && type->second.dtype && onnx_from_dtype(*type->second.dtype))
    return *make_value(model, name, type->second);
  const auto value = known.find(name);
  return value != known.end() ? *value->second : make_value(model, name);
}

std::vector<Bytes> without_field(const std::vector<Bytes>& fields, uint32_t number) {
  std::vector<Bytes> kept;
  for (Bytes raw : fields)
    each_field(raw, [&](const ProtoField& field, Bytes) {
      if (field.number != number) kept.push_back(raw);
    });
  return kept;
}

// What a part reads, as its inputs and initializers.
Result<void> add_inputs(OnnxModel& part, const std::vector<std::string>& names, const Values& known,
                        const Outside& outside) {
  std::vector<std::string> untyped;
  for (const std::string& name : names) {
    if (const auto value = outside.values.find(name); value != outside.values.end()) {
      auto weight = make_weight(part, name, value->second);
      if (!weight) return weight.error();
      part.graph.initializers.push_back(*weight);
      continue;
    }
    part.graph.inputs.push_back(value_for(part, name, known, outside));
    if (!is_typed(part.graph.inputs.back())) untyped.push_back(name);
  }
  if (untyped.empty()) return {};
  return Error{"the type of an input is not known", fmt::format("{}", fmt::join(untyped, ", ")),
               "record the types in the model (onnx.shape_inference.infer_shapes), or dump these "
               "tensors"};
}

// All of the model but its graph's lists.
OnnxModel frame_of(const OnnxModel& model) {
  OnnxModel part;
  part.texts = model.texts;
  part.ir_version = std::max<int64_t>(model.ir_version.value_or(0), 4);  // weights are no inputs
  part.other_fields = without_field(model.other_fields, model_field::kTraining);
  part.graph.name = model.graph.name;
  part.graph.other_fields = without_field(model.graph.other_fields, graph_field::kQuantization);
  return part;
}

}  // namespace

Boundary boundary_of(const OnnxModel& model, std::span<const size_t> nodes) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  std::vector<bool> taken(graph.nodes.size());
  for (size_t node : nodes) taken[node] = true;

  Boundary boundary;
  OnnxNames inside, outside;  // what is read by the nodes taken, and by others
  for (const OnnxValue& output : graph.outputs) outside.insert(output.name);
  const auto bring = [&](std::string_view name) {
    if (!inside.insert(name).second) return;
    const auto producer = wiring.producer_of(name);
    if (producer && taken[*producer]) return;
    if (const auto weight = wiring.weight.find(name); weight != wiring.weight.end())
      boundary.weights.push_back(weight->second);
    else if (producer && graph.nodes[*producer].type == "Constant")
      boundary.constants.push_back(*producer);
    else
      boundary.inputs.emplace_back(name);
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (taken[i])
      each_read(graph.nodes[i], bring);
    else
      each_read(graph.nodes[i], [&](std::string_view name) { outside.insert(name); });
  OnnxNames outputs;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view name : graph.nodes[i].outputs)
      if (taken[i] && !name.empty() && (outside.count(name) != 0 || inside.count(name) == 0) &&
          outputs.insert(name).second)
        boundary.outputs.emplace_back(name);
  return boundary;
}

Result<OnnxModel> cut(const OnnxModel& model, std::span<const size_t> nodes,
                      const Outside& outside) {
  const OnnxGraph& graph = model.graph;
  const Boundary boundary = boundary_of(model, nodes);
  if (boundary.outputs.empty())
    return Error{"the part of the model has no outputs",
                 fmt::format("{} nodes were to be cut out", nodes.size()),
                 "name nodes that produce something"};
  OnnxModel part = frame_of(model);
  std::set<size_t> places(nodes.begin(), nodes.end());
  std::vector<std::string> read = boundary.inputs;
  for (const size_t place : boundary.constants) {
    const std::string name(graph.nodes[place].outputs.front());
    if (outside.values.count(name) != 0)  // becomes an initializer
      read.push_back(name);
    else
      places.insert(place);
  }
  OnnxNames inner;
  for (size_t place : places) {
    part.graph.nodes.push_back(graph.nodes[place]);
    inner.insert(graph.nodes[place].outputs.begin(), graph.nodes[place].outputs.end());
  }
  for (size_t weight : boundary.weights)
    part.graph.initializers.push_back(graph.initializers[weight]);
  const Values known = known_values(graph);
  if (auto added = add_inputs(part, read, known, outside); !added) return added.error();
  for (const std::string& name : boundary.outputs) {
    part.graph.outputs.push_back(value_for(part, name, known, outside));
    inner.erase(name);
  }
  for (const OnnxValue& value : graph.value_infos)
    if (inner.count(value.name) != 0) part.graph.value_infos.push_back(value);
  return part;
}

Result<OnnxModel> without(const OnnxModel& model, std::span<const size_t> nodes,
                          const Outside& outside) {
  std::vector<bool> removed(model.graph.nodes.size());
  for (size_t node : nodes) removed[node] = true;
  std::vector<size_t> kept;
  for (size_t i = 0; i < removed.size(); ++i)
    if (!removed[i]) kept.push_back(i);
  return cut(model, kept, outside);
}

}  // namespace plumb::graph
