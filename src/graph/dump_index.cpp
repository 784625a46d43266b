// SPDX-License-Identifier: Apache-2.0
//
// The graph in the dump.json that `plumb dump` writes beside its tensors (schema "plumb.dump/1",
// described in docs/dump.md): the operators as they were run, their edges, and what a fused one was
// made from.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/dump_schema.h"
#include "base/json_dom.h"
#include "graph/memory_limit.h"
#include "graph/readers.h"
#include "graph/stored_layouts.h"

namespace plumb::graph {
namespace {

namespace dom = simdjson::dom;
namespace field = dump_schema::field;
using json_dom::each, json_dom::number, json_dom::text;

Edge edge_of(dom::element item) {
  return {text(item, field::kProducer),
          std::max<int64_t>(0, number(item, field::kOutput).value_or(0))};
}

Output output_of(dom::element item) {
  Output output;
  output.name = text(item, field::kTensor);
  output.dtype = dtype_from_name(text(item, field::kDtype));
  dom::array sizes;
  if (item[field::kShape].get(sizes) == simdjson::SUCCESS) {
    output.shape.emplace();
    for (dom::element size : sizes) {
      int64_t value = -1;
      if (size.get(value) == simdjson::SUCCESS) output.shape->push_back(value);
    }
  }
  output.layout = text(item, field::kLayout);
  if (output.layout == kChannelsLast && output.shape && output.shape->size() == 4) {
    output.shape = channels_first(*output.shape);
    output.layout.clear();
  }
  output.origin = text(item, field::kOrigin);
  if (const auto origin = number(item, field::kOriginOutput); origin && *origin >= 0)
    output.origin_output = origin;
  return output;
}

Operator operator_of(dom::element item) {
  Operator op;
  op.name = text(item, field::kName);
  op.type = text(item, field::kType);
  op.subgraph = text(item, field::kSubgraph);
  each(item, field::kInputs, [&](dom::element input) { op.inputs.push_back(edge_of(input)); });
  each(item, field::kOutputs,
       [&](dom::element output) { op.outputs.push_back(output_of(output)); });
  // Only the two that a model can say: what is stored is told by the outputs.
  const auto precision = dtype_from_name(text(item, field::kPrecision));
  if (precision == DType::kFloat16 || precision == DType::kBFloat16) op.narrow = precision;
  each(item, field::kConstants, [&](dom::element constant) {
    const std::string print = text(constant, field::kPrint);
    op.constants.push_back({std::strtoull(print.c_str(), nullptr, 16),
                            number(constant, field::kElements).value_or(0)});
  });
  dom::array origins;
  if (item[field::kOrigins].get(origins) == simdjson::SUCCESS) {
    op.origins.emplace();
    for (dom::element origin : origins) {
      std::string_view name;
      if (origin.get(name) == simdjson::SUCCESS) op.origins->emplace_back(name);
    }
  }
  return op;
}

}  // namespace

bool is_dump_index(Bytes head) { return dump_schema::is_index(as_text(head)); }

Result<Graph> graph_from_dump_index(Bytes file) {
  const char* remedy = "make the dump again with `plumb dump`";
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(as_text(file).data(), file.size()).get(root))
    return Error{"the index of the dump is damaged", simdjson::error_message(error), remedy};
  if (text(root, field::kSchema) != dump_schema::kSchema)
    return Error{
        "the index of the dump is of another version",
        fmt::format("schema is '{}', not '{}'", text(root, field::kSchema), dump_schema::kSchema),
        remedy};
  Graph graph;
  dom::element model;
  if (root[field::kModel].get(model) == simdjson::SUCCESS) {
    graph.name = text(model, field::kPath);
    if (std::string format = text(model, field::kFormat); format == dump_schema::kOfModules)
      graph.properties.emplace_back(dump_schema::kRecorded, std::move(format));
  }
  if (std::string engine = text(root, field::kEngine); !engine.empty())
    graph.properties.emplace_back("engine", std::move(engine));
  MemoryLimit limit(file.size());
  bool fits = true;
  each(root, field::kOperators, [&](dom::element item) {
    if (!fits) return;
    const Operator& op = graph.operators.emplace_back(operator_of(item));
    fits = limit.take(sizeof(Operator) + op.inputs.size() * sizeof(Edge) +
                      op.outputs.size() * sizeof(Output) + op.constants.size() * sizeof(Constant));
  });
  each(root, field::kOutputs, [&](dom::element item) { graph.outputs.push_back(edge_of(item)); });
  if (!fits)
    return Error{"the index of the dump is damaged",
                 fmt::format("operator {}: they need more than {} times the file's size",
                             graph.operators.size(), MemoryLimit::kGrowth),
                 remedy};
  if (graph.operators.empty())
    return Error{"the index of the dump names no operators", "\"operators\" is empty", remedy};
  return graph;
}

}  // namespace plumb::graph
