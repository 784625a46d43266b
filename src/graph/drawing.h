// SPDX-License-Identifier: Apache-2.0
//
// Where to draw the operators of a network and the lines between them: in layers, producers above
// consumers, folded into columns like a newspaper because a network is a hundred times as high as
// it is wide. Rows with a single operator cut the network into pieces that are drawn each by
// itself, equal ones alike; columns end between pieces where possible, so that equal blocks lie
// side by side. The same network gives the same drawing everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plumb::graph {

struct DrawingEdge {
  int32_t from = 0, to = 0;
};

struct DrawingSpec {
  int32_t nodes = 0;  // in order of execution, as far as that is known
  std::vector<DrawingEdge> edges;
  // For each node, or empty: where to draw what has no edges, beside that node; -1: anywhere.
  std::vector<int32_t> beside;
  float node_width = 120, node_height = 28;
};

// One fold. No two nodes overlap, and no line runs over a node that it does not belong to.
struct Drawing {
  float width = 0, height = 0;
  std::vector<float> x, y;     // top left of each node
  std::vector<float> points;   // x, y, ... of the lines of all edges, from producer to consumer
  std::vector<int32_t> start;  // of each edge, in points (pairs); one more at the end
};

struct Drawings {
  // Edges that are only hinted at beside their consumer: of producers that everybody reads, and
  // from a node to itself.
  std::vector<uint8_t> is_stub;
  std::vector<Drawing> folds;
};

// A fold for each of `shapes`, width divided by height.
Drawings draw(const DrawingSpec& spec, std::span<const double> shapes);

}  // namespace plumb::graph
