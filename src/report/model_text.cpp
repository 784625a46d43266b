// SPDX-License-Identifier: Apache-2.0
#include "report/model_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using scan::InspectedModel;
using scan::ModelTensor;

std::string model_summary(const InspectedModel& model) {
  const graph::Graph& graph = model.graph;
  std::string text = fmt::format("{}: {}", model.path, model.importer->title);
  if (!graph.name.empty()) text += fmt::format(" '{}'", printable(graph.name));
  text += fmt::format(", {}", counted(graph.operators.size(), "operator"));
  if (const size_t graphs = model.subgraphs(); graphs > 1)
    text += fmt::format(" in {}", counted(graphs, "graph"));
  return text + fmt::format(", {}, {}, {}\n", counted(model.inputs().size(), "input"),
                            counted(graph.outputs.size(), "output"),
                            bytes_text(static_cast<double>(model.file_bytes)));
}

std::string properties_text(const InspectedModel& model, bool command_line) {
  size_t width = 0;
  std::string text;
  for (const auto& [key, value] : model.graph.properties) width = std::max(width, key.size());
  for (const auto& [key, value] : model.graph.properties)
    text += fmt::format("  {:<{}}  {}\n", printable(key), width, printable(value));
  if (!command_line) return text;
  const std::string& recorded = model.graph.command_line;
  return text + fmt::format("  command line: {}\n",
                            recorded.empty() ? "not recorded" : printable(recorded));
}

void add_tensors(Table& table, const char* kind, const std::vector<ModelTensor>& tensors) {
  for (const ModelTensor& tensor : tensors) {
    const graph::Output none;
    const graph::Output& output = tensor.output != nullptr ? *tensor.output : none;
    std::string origin = output.origin;
    if (!origin.empty() && output.origin_output)
      origin += fmt::format(":{}", *output.origin_output);
    table.rows.push_back({kind, printable(tensor.name),
                          output.dtype ? std::string(name_of(*output.dtype)) : "",
                          output.shape ? to_string(*output.shape) : "", printable(output.layout),
                          printable(origin)});
  }
}

// Most frequent first.
std::string types_text(const InspectedModel& model) {
  constexpr size_t kShown = 12;
  std::vector<std::pair<std::string_view, size_t>> types;
  for (const auto& type : model.types()) types.push_back(type);
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(types.size(), kShown); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(types[i].first), types[i].second);
  if (types.size() > kShown) text += fmt::format(", {} more types", types.size() - kShown);
  text = "types: " + text + "\n";
  const size_t fused = model.fused(), inserted = model.inserted(), quantizing = model.quantizing();
  if (fused + inserted + quantizing == 0) return text;
  text += fmt::format("of the original model: {} fused from several, {} inserted by the compiler",
                      fused, inserted);
  if (quantizing > 0) text += fmt::format(", {} that quantize", quantizing);
  return text + "\n";
}

// One line for each tensor that an operator gives, with what it reads and was made from.
Table table_of_chosen(const InspectedModel& model) {
  Table table;
  table.columns = {{"operator", false, 9, true}, {"type", false, 8},           {"slot", false, 7},
                   {"dtype", false, 6},          {"shape", false, 5},          {"layout", false, 4},
                   {"reads", false, 3, true},    {"made from", false, 2, true}};
  for (const graph::Operator* op : model.chosen) {
    std::string reads, origins = !op->origins ? "" : op->is_inserted() ? "nothing" : "";
    for (const graph::Edge& edge : op->inputs)
      reads += fmt::format("{}{}:{}", reads.empty() ? "" : ", ", edge.producer, edge.output);
    if (op->origins && !op->is_inserted())
      origins = fmt::format("{}", fmt::join(*op->origins, ", "));
    const graph::Output none;
    for (size_t k = 0; k < std::max<size_t>(1, op->outputs.size()); ++k) {
      const graph::Output& output = op->outputs.empty() ? none : op->outputs[k];
      table.rows.push_back({printable(op->name), printable(op->type),
                            op->outputs.empty() ? "" : fmt::format("output:{}", k),
                            output.dtype ? std::string(name_of(*output.dtype)) : "",
                            output.shape ? to_string(*output.shape) : "", printable(output.layout),
                            printable(reads), printable(origins)});
    }
  }
  return table;
}

}  // namespace

std::string model_text(const InspectedModel& model, size_t width, bool command_line) {
  std::string text = model_summary(model);
  if (!model.chosen.empty()) return text + table_of_chosen(model).render(width);
  text += properties_text(model, command_line);
  Table table;
  table.columns = {{"", false, 9},      {"tensor", false, 9, true}, {"dtype", false, 8},
                   {"shape", false, 7}, {"layout", false, 5},       {"original", false, 6, true}};
  add_tensors(table, "input", model.inputs());
  add_tensors(table, "output", model.outputs());
  if (!table.rows.empty()) text += table.render(width);
  text += types_text(model);
  if (model.importer->is_runnable)
    text +=
        fmt::format("next: plumb dump {} --input FILE -o DIR saves the tensors of every operator\n",
                    model.path);
  return text + fmt::format("next: plumb compare TARGET GOLDEN --graph {} pairs dumps of it\n",
                            model.path);
}

}  // namespace plumb::report
