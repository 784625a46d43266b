// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>

namespace plumb::graph {

bool Operator::is_inserted() const {
  return origins && std::all_of(origins->begin(), origins->end(),
                                [](const std::string& origin) { return origin.empty(); });
}

std::unordered_map<std::string_view, const Operator*> Graph::by_name() const {
  std::unordered_map<std::string_view, const Operator*> found;
  found.reserve(operators.size());
  for (const Operator& op : operators) found.try_emplace(op.name, &op);
  return found;
}

}  // namespace plumb::graph
