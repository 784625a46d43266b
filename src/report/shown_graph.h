// SPDX-License-Identifier: Apache-2.0
//
// The network of a run as pictures show it: each operator with the worst of what is known of it,
// each edge with the error it carries, and operators of golden that nobody paired as stumps beside
// it. Beside the whole one, smaller ones in which operators of a common prefix are one node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/drawing.h"
#include "plumb/row.h"
#include "report/page_rows.h"

namespace plumb::report {

struct ShownNode {
  enum Kind : uint8_t { kOperator, kGroup, kStump };
  static constexpr uint8_t kNothingKnown = 4;  // beside the places of result::Verdict

  std::string name, type, origins;
  int32_t row = -1;  // its worst one
  uint8_t verdict = kNothingKnown;
  uint8_t role = 0;  // see Roles
  bool is_output = false;
  Kind kind = kOperator;
  int32_t count = 1;    // operators
  int32_t first = 0;    // ... of the whole network
  int32_t beside = -1;  // of a stump: the node of the row before it
};

struct ShownEdge {
  int32_t from = 0, to = 0;
  double error = 0;  // relative; NaN if not known, infinite if the values are not finite
};

struct ShownGraph {
  std::string label;
  std::optional<int> depth;  // names of a prefix; none: the whole network
  std::vector<ShownNode> nodes;
  std::vector<ShownEdge> edges;
  std::vector<int32_t> place_of;  // in it, of each node of the whole network
  graph::DrawingSpec spec() const;
};

struct ShownGraphs {
  std::vector<ShownGraph> graphs;  // the whole one first; empty if no graph is known
  std::vector<int32_t> node_of;    // of each row, in the whole one; -1
  std::string note;                // what was left out, a sentence
};

ShownGraphs shown_graphs(const result::Run& run, const Roles& roles);

// The worst of rows that belong together: whether `row` takes the place of `before`.
bool is_worse(const result::Run& run, const result::Row& row, const result::Row& before);

// Of the target, an output of its operator.
bool is_output_slot(const result::Row& row);

// rel_euclid; infinite where it fails without a number, NaN if nothing is known.
double relative_error(const result::Run& run, const result::Row& row);

}  // namespace plumb::report
