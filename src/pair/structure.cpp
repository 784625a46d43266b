// SPDX-License-Identifier: Apache-2.0
#include "pair/structure.h"

#include <fmt/format.h>

#include "pair/operator_kinds.h"
#include "pair/standing.h"

namespace plumb::pair {
namespace {

std::string_view words_for(Proof proof) {
  switch (proof) {
    case Proof::kName: return "has the name and kind of";
    case Proof::kConstants: return "has the constants of";
    default: return "stands where there is";
  }
}

}  // namespace

void align_graphs(graph::Graph& target, graph::Graph& golden) {
  const Net t(target), g(golden);
  const Aligned aligned = align(t, g);
  const Standing standing = stand(t, g, aligned);
  for (int i = 0; i < t.size(); ++i) {
    graph::Operator& op = target.operators[static_cast<size_t>(i)];
    op.origins.emplace();
    if (aligned.golden(i) != kNone) op.origins->push_back(g.at(aligned.golden(i)).name);
    if (const auto inside = standing.in_target.find(i); inside != standing.in_target.end())
      for (const int part : inside->second) op.origins->push_back(g.at(part).name);
    if (op.outputs.empty()) op.outputs.emplace_back();
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const auto found = standing.golden_of.find({i, static_cast<int64_t>(k)});
      if (found == standing.golden_of.end()) continue;
      const graph::Operator& original = g.at(found->second.op);
      if (op.origins->empty()) op.origins->push_back(original.name);
      op.outputs[k].origin = original.name;
      op.outputs[k].origin_output = found->second.output;
      op.outputs[k].evidence =
          fmt::format("{} {} {}", op.name, words_for(aligned.proof[static_cast<size_t>(i)]),
                      op.origins->front());
    }
  }
  const auto tell = [](graph::Graph& graph, const Ref& tensor, const graph::Absence& absence) {
    auto& outputs = graph.operators[static_cast<size_t>(tensor.op)].outputs;
    if (outputs.empty()) outputs.emplace_back();
    outputs[static_cast<size_t>(tensor.output)].absence = absence;
  };
  for (const auto& [tensor, absence] : standing.target_absence)
    // What only stores values another way is led back to what it reads.
    if (!keeps_values(t.at(tensor.op).type)) tell(target, tensor, absence);
  for (const auto& [tensor, absence] : standing.golden_absence) tell(golden, tensor, absence);
}

}  // namespace plumb::pair
