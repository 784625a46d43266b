// SPDX-License-Identifier: Apache-2.0
//
// Puts any bytes through a reader of model descriptions, and looks at what came out.
#pragma once

#include "graph/readers.h"

inline void read_graph(plumb::Bytes bytes, bool (*probe)(plumb::Bytes),
                       plumb::Result<plumb::graph::Graph> (*read)(plumb::Bytes)) {
  probe(bytes);
  const auto graph = read(bytes);
  if (!graph) {
    if (graph.error().what.empty() || graph.error().where.empty()) __builtin_trap();
    return;
  }
  const auto by_name = graph->by_name();
  for (const plumb::graph::Operator& op : graph->operators) {
    if (by_name.find(op.name) == by_name.end()) __builtin_trap();
    for (const plumb::graph::Edge& edge : op.inputs)
      if (edge.output < 0) __builtin_trap();
  }
}
