// SPDX-License-Identifier: Apache-2.0
#include "scan/inspect_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "dump/operator_patterns.h"

namespace plumb::scan {
namespace {

bool is_model_input(const graph::Operator& op) {
  constexpr std::string_view kTypes[] = {"Data", "AippData", "RefData", "Input", "Placeholder"};
  return std::find(std::begin(kTypes), std::end(kTypes), op.type) != std::end(kTypes);
}

template <class Has>
size_t count(const graph::Graph& graph, Has has) {
  return static_cast<size_t>(std::count_if(graph.operators.begin(), graph.operators.end(), has));
}

void describe(const graph::Output& output, Json& json) {
  json["dtype"] = output.dtype ? Json(name_of(*output.dtype)) : Json();
  json["shape"] = output.shape ? Json(*output.shape) : Json();
  json["layout"] = output.layout;
  json["origin"] = output.origin;
}

Json tensors_json(const std::vector<ModelTensor>& tensors) {
  Json list = Json::array();
  for (const ModelTensor& tensor : tensors) {
    Json& json = list.emplace_back(Json{{"name", tensor.name}});
    if (tensor.output != nullptr) describe(*tensor.output, json);
  }
  return list;
}

Json operators_json(const std::vector<const graph::Operator*>& operators) {
  Json list = Json::array();
  for (const graph::Operator* op : operators) {
    Json& json = list.emplace_back(Json{{"name", op->name}, {"type", op->type}});
    json["inputs"] = Json::array();
    for (const graph::Edge& edge : op->inputs)
      json["inputs"].push_back(fmt::format("{}:{}", edge.producer, edge.output));
    json["outputs"] = Json::array();
    for (const graph::Output& output : op->outputs)
      describe(output, json["outputs"].emplace_back(Json::object()));
    json["origins"] = op->origins ? Json(*op->origins) : Json();
  }
  return list;
}

}  // namespace

std::vector<ModelTensor> InspectedModel::inputs() const {
  std::vector<ModelTensor> found;
  for (const graph::Operator& op : graph.operators)
    if (is_model_input(op) && op.subgraph == graph.operators.front().subgraph)
      found.push_back({&op, op.name, op.outputs.empty() ? nullptr : &op.outputs.front()});
  return found;
}

std::vector<ModelTensor> InspectedModel::outputs() const {
  const auto by_name = graph.by_name();
  std::vector<ModelTensor> found;
  for (const graph::Edge& edge : graph.outputs) {
    ModelTensor& tensor = found.emplace_back();
    const auto op = by_name.find(edge.producer);
    tensor.name = fmt::format("{}:{}", edge.producer, edge.output);
    if (op == by_name.end()) continue;
    tensor.op = op->second;
    if (edge.output >= 0 && edge.output < std::ssize(tensor.op->outputs))
      tensor.output = &tensor.op->outputs[static_cast<size_t>(edge.output)];
  }
  return found;
}

std::map<std::string_view, size_t> InspectedModel::types() const {
  std::map<std::string_view, size_t> found;
  for (const graph::Operator& op : graph.operators) ++found[op.type];
  return found;
}

size_t InspectedModel::subgraphs() const {
  std::set<std::string_view> names;
  for (const graph::Operator& op : graph.operators) names.insert(op.subgraph);
  return names.size();
}

size_t InspectedModel::fused() const {
  return count(graph,
               [](const graph::Operator& op) { return op.origins && op.origins->size() > 1; });
}

size_t InspectedModel::inserted() const {
  return count(graph, [](const graph::Operator& op) { return op.is_inserted(); });
}

size_t InspectedModel::quantizing() const {
  return count(graph, [](const graph::Operator& op) { return op.quantization.has_value(); });
}

Error why_no_tensors(const std::string& path, Error error) {
  const auto file = MappedFile::open(path);
  const graph::Importer* importer = file ? graph::importer_of(file->bytes()) : nullptr;
  if (importer == nullptr) return error;
  return {"a model holds no dumped tensors", fmt::format("{}: {}", path, importer->title),
          importer->is_runnable
              ? fmt::format("`plumb dump {} --input FILE -o DIR` runs it and saves them", path)
              : fmt::format("`plumb inspect {0}` shows the model, `plumb compare TARGET GOLDEN "
                            "--graph {0}` pairs dumps of it",
                            path)};
}

Result<std::unique_ptr<InspectedModel>> inspect_model(const std::string& path,
                                                      std::span<const std::string> patterns) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::unique_ptr<InspectedModel>();
  auto found = std::make_unique<InspectedModel>();
  found->path = path;
  {
    const auto file = MappedFile::open(path);
    if (!file) return file.error();
    found->importer = graph::importer_of(file->bytes());
    found->file_bytes = file->bytes().size();
  }
  if (found->importer == nullptr) return std::unique_ptr<InspectedModel>();
  auto graph = graph::load_graph(path);
  if (!graph) return graph.error();
  found->graph = std::move(*graph);
  std::set<std::string> names;
  for (const graph::Operator& op : found->graph.operators) {
    names.insert(op.name);
    if (std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& p) { return operator_matches(p, op.name); }))
      found->chosen.push_back(&op);
  }
  if (auto known = dump::check_patterns(patterns, names); !known)
    return std::move(known.error()).in(path);
  return found;
}

std::string to_json(const InspectedModel& model, bool command_line) {
  const graph::Graph& graph = model.graph;
  Json types = Json::object(), properties = Json::object();
  for (const auto& [type, operators] : model.types()) types[std::string(type)] = operators;
  for (const auto& [key, value] : graph.properties) properties[key] = value;
  Json json{{"format", graph.format},
            {"name", graph.name},
            {"bytes", model.file_bytes},
            {"operators", graph.operators.size()},
            {"subgraphs", model.subgraphs()},
            {"fused", model.fused()},
            {"inserted", model.inserted()},
            {"quantizing", model.quantizing()},
            {"inputs", tensors_json(model.inputs())},
            {"outputs", tensors_json(model.outputs())},
            {"types", std::move(types)},
            {"properties", std::move(properties)}};
  if (command_line) json["command_line"] = graph.command_line;
  if (!model.chosen.empty()) json["chosen"] = operators_json(model.chosen);
  return text_of_json({{"schema", "plumb.inspect/1"},
                       {"tool", tool_json()},
                       {"path", model.path},
                       {"model", std::move(json)},
                       {"warnings", graph.warnings}});
}

}  // namespace plumb::scan
