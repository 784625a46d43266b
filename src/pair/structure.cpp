// SPDX-License-Identifier: Apache-2.0
#include "pair/structure.h"

#include <fmt/format.h>

#include "pair/matcher.h"
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

// A tensor by the original one that it is recorded to be, if its graph records such, else by
// itself; an empty name: it is none of the original.
std::pair<std::string_view, int64_t> original_of(const graph::Operator& op, int64_t k,
                                                 bool is_converted) {
  if (!is_converted) return {op.name, k};
  const graph::Output& output = op.outputs[static_cast<size_t>(k)];
  return {output.origin, output.origin_output.value_or(k)};
}

// What both graphs record of one original model: that of one of them, or a third one.
SameTensors same_tensors(const Net& target, const Net& golden) {
  SameTensors same;
  const bool target_is = is_converted(target.graph), golden_is = is_converted(golden.graph);
  if (!target_is && !golden_is) return same;
  std::map<std::pair<std::string_view, int64_t>, std::vector<Ref>> goldens;
  const auto each = [](const Net& net, bool is_converted, auto use) {
    for (int op = 0; op < net.size(); ++op)
      for (int64_t k = 0; k < std::ssize(net.at(op).outputs); ++k)
        if (const auto original = original_of(net.at(op), k, is_converted);
            !original.first.empty() && net.is_counted(op))
          use(original, Ref{op, k});
  };
  each(golden, golden_is,
       [&](const auto& original, const Ref& tensor) { goldens[original].push_back(tensor); });
  std::map<Ref, int> wanted;
  each(target, target_is, [&](const auto& original, const Ref& tensor) {
    const auto found = goldens.find(original);
    if (found == goldens.end() || found->second.size() != 1) return;
    same[tensor] = found->second.front();
    ++wanted[found->second.front()];
  });
  std::erase_if(same, [&](const auto& pair) { return wanted[pair.second] > 1; });
  return same;
}

// From now on the other graph is the original.
void forget_origins(graph::Graph& graph) {
  for (graph::Operator& op : graph.operators) {
    op.origins.reset();
    for (graph::Output& output : op.outputs) {
      output.origin.clear();
      output.origin_output.reset();
    }
  }
}

}  // namespace

void align_graphs(graph::Graph& target, graph::Graph& golden) {
  const Net t(target), g(golden);
  const SameTensors told = same_tensors(t, g);
  const Aligned aligned = align(t, g, told);
  const Standing standing = stand(t, g, aligned, told);
  forget_origins(target);
  forget_origins(golden);
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
      if (told.contains({i, static_cast<int64_t>(k)})) continue;  // as it was recorded
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
