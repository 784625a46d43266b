// SPDX-License-Identifier: Apache-2.0
#include "engine/dump_set.h"

#include "dump/listing.h"
#include "dump/memory.h"
#include "graph/stored_layouts.h"

namespace plumb::engine {
namespace {

// Of the axes in the order of the model, where channels are stored last.
Shape strides_of_channels_last(const Shape& stored) {
  const Shape strides = row_major_strides(stored);
  return {strides[0], strides[3], strides[1], strides[2]};
}

}  // namespace

Result<dump::DumpSet> dump_set_of(const Dump& dump) {
  std::vector<dump::MemoryTensor> tensors;
  std::vector<dump::Skipped> skipped;
  auto next = dump.tensors.begin();
  for (size_t i = 0; i < dump.graph->operators.size(); ++i) {
    const graph::Operator& op = dump.graph->operators[i];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const DumpedTensor& tensor = *next++;
      const dump::Slot slot{dump::SlotKind::kOutput, tensor.output, {}};
      const bool is_last = tensor.layout == graph::kChannelsLast;
      if (!tensor.file.empty())
        tensors.push_back({.op = op.name,
                           .slot = slot,
                           .dtype = tensor.dtype,
                           .shape = is_last ? graph::channels_first(tensor.shape) : tensor.shape,
                           .strides = is_last ? strides_of_channels_last(tensor.shape) : Shape(),
                           .bytes = tensor.bytes,
                           .owner = tensor.owner,
                           .timestamp = dump.timestamps[i],
                           .type = op.type,
                           .graph = op.subgraph,
                           .file = tensor.file,
                           .layout = is_last ? kPlainLayout
                                             : layout_from_name(tensor.layout).value_or(Layout())});
      else if (!tensor.problem.empty())
        skipped.push_back(dump::skip_not_given(op.name, slot, dump.timestamps[i], tensor.problem));
    }
  }
  dump::DumpSet set;
  if (!tensors.empty()) {
    auto made = dump::dump_of_tensors(std::move(tensors));
    if (!made) return made;
    set = std::move(*made);
  }
  set.skipped = std::move(skipped);
  return set;
}

graph::Graph graph_of(const Dump& dump) {
  graph::Graph graph;
  graph.name = dump.graph->name;
  graph.format = "plumb-dump";
  graph.outputs = dump.graph->outputs;
  auto next = dump.tensors.begin();
  for (const graph::Operator& op : dump.graph->operators) {
    graph::Operator& run = graph.operators.emplace_back();
    run.name = op.name;
    run.type = op.type;
    run.subgraph = op.subgraph;
    run.inputs = op.inputs;
    run.origins = op.origins;
    run.narrow = op.narrow;
    run.constants = op.constants;
    for (const graph::Output& output : op.outputs) {
      const DumpedTensor& tensor = *next++;
      graph::Output& given = run.outputs.emplace_back();
      given.name = tensor.tensor;
      if (!tensor.file.empty()) {
        given.dtype = tensor.dtype;
        const bool is_last = tensor.layout == graph::kChannelsLast;
        given.shape = is_last ? graph::channels_first(tensor.shape) : tensor.shape;
        if (!is_last) given.layout = tensor.layout;
      } else {
        given.dtype = output.dtype;
      }
      if (output.origin.empty()) continue;
      given.origin = output.origin;
      given.origin_output = output.origin_output.value_or(0);
    }
  }
  return graph;
}

}  // namespace plumb::engine
