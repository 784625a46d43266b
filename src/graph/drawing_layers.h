// SPDX-License-Identifier: Apache-2.0
//
// The first step of a drawing: which layer each node is in, which edges are stubs, and where the
// others bend. Nodes and bends are elements; an element is connected with neighbours in the layers
// right above and below only.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/drawing.h"

namespace plumb::graph {

struct Layered {
  int32_t nodes = 0;                               // elements from here on are bends
  std::vector<int32_t> layer;                      // of each element
  std::vector<int32_t> source;                     // itself, or the node whose edges bend here
  std::vector<std::vector<int32_t>> above, below;  // neighbours
  std::vector<std::vector<int32_t>> rows;          // elements of each layer, by source
  std::vector<uint8_t> is_stub;                    // of each edge
  std::vector<uint8_t> is_turned;                  // of each edge: it runs upwards
  std::vector<std::vector<int32_t>> bends;         // of each edge, downwards

  int32_t size() const { return static_cast<int32_t>(layer.size()); }
  bool is_bend(int32_t element) const { return element >= nodes; }
};

Layered layers_of(const DrawingSpec& spec);

}  // namespace plumb::graph
