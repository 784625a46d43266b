// SPDX-License-Identifier: Apache-2.0
#include "pair/net.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/checked.h"
#include "graph/stored_layouts.h"
#include "pair/operator_kinds.h"

namespace plumb::pair {
namespace {

using graph::Edge;
using graph::Operator;

bool is_constant_type(const Operator& op) {
  return op.type == "Const" || op.type == "Constant" || op.type == "Variable";
}

// Channels of a block, where nobody recorded how many of them are padding; else 1.
int64_t block_of(const Operator& op, int64_t k = 0) {
  if (k < 0 || k >= std::ssize(op.outputs)) return 1;
  const graph::Output& output = op.outputs[static_cast<size_t>(k)];
  const bool is_blocked = output.layout == graph::kBlockedChannels && !output.origin_shape &&
                          output.shape && output.shape->size() == 5;
  return is_blocked ? std::max<int64_t>(1, output.shape->back()) : 1;
}

// Of blocks with all their channels, padding included.
std::optional<Shape> shape_of(const Operator& op, int64_t k = 0) {
  if (k < 0 || k >= std::ssize(op.outputs)) return std::nullopt;
  const graph::Output& output = op.outputs[static_cast<size_t>(k)];
  if (const int64_t block = block_of(op, k); block > 1) {
    const Shape& stored = *output.shape;
    const auto channels = checked_mul(stored[1], block);
    if (!channels || std::any_of(stored.begin(), stored.end(), [](int64_t n) { return n < 0; }))
      return std::nullopt;
    return Shape{stored[0], *channels, stored[2], stored[3]};
  }
  std::optional<Shape> sizes = output.origin_shape ? output.origin_shape : output.shape;
  if (!sizes || std::any_of(sizes->begin(), sizes->end(), [](int64_t size) { return size < 0; }))
    return std::nullopt;
  return sizes;
}

// Padded channels are as many as the other side has, if these fill as many blocks.
void take_padding_off(Shape& own, int64_t block, const Shape& other) {
  if (block > 1 && own.size() == 4 && other.size() == 4 && other[1] > 0 &&
      ceil_div(other[1], block) == own[1] / block)
    own[1] = other[1];
}

// Both, as far as they are known, without padding that only one of them has.
std::pair<std::optional<Shape>, std::optional<Shape>> shapes_beside(const Net& a, const Ref& own,
                                                                    const Net& b,
                                                                    const Ref& other) {
  auto mine = shape_of(a.at(own.op), own.output), theirs = shape_of(b.at(other.op), other.output);
  if (mine && theirs) {
    take_padding_off(*mine, block_of(a.at(own.op), own.output), *theirs);
    take_padding_off(*theirs, block_of(b.at(other.op), other.output), *mine);
  }
  return {std::move(mine), std::move(theirs)};
}

}  // namespace

std::vector<int> Edges::readers_of(const Ref& tensor) const {
  std::vector<int> found;
  for (const auto& [reader, output] : readers[static_cast<size_t>(tensor.op)])
    if (output == tensor.output && (found.empty() || found.back() != reader))
      found.push_back(reader);
  return found;
}

bool Edges::is_output(const Ref& tensor) const {
  return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
}

Net::Net(const graph::Graph& model) : graph(model) {
  is_exact = graph.is_of_a_run() || graph.format == "onnx" || graph.format == "prototxt";
  const size_t count = graph.operators.size();
  for (const Operator& op : graph.operators) {
    // What an Eltwise does is not known: it adds, multiplies or takes the largest.
    kinds.push_back(op.type == "Eltwise" ? "eltwise" : kind_of_type(op.type));
    is_transparent_.push_back(keeps_values(op.type) || hands_on(kinds.back()));
    shapes_.push_back(shape_of(op));
    blocks_.push_back(block_of(op));
    if (shapes_.back()) std::erase(*shapes_.back(), 1);
    sizes_.push_back(shapes_.back());
    if (sizes_.back()) std::sort(sizes_.back()->begin(), sizes_.back()->end());
    constants_.push_back(op.constants);
  }
  is_main_.resize(count);
  is_constant_.resize(count);
  reads_unknown_.resize(count);
  read_edges();
  sort();
  find_constants();
  contract();
  walk_from_outputs();
}

Shapes shapes_of(const Net& a, const Ref& own, const Net& b, const Ref& other) {
  auto [mine, theirs] = shapes_beside(a, own, b, other);
  if (!mine || !theirs) return Shapes::kUnknown;
  const bool are_exact = a.is_exact && b.is_exact;
  if (*mine == *theirs) return Shapes::kSame;
  // Axes of length 1 come and go; among as many axes, they have moved.
  const bool may_have_moved = are_exact && mine->size() == theirs->size();
  std::erase(*mine, 1);
  std::erase(*theirs, 1);
  if (*mine == *theirs && !may_have_moved) return Shapes::kSame;
  std::sort(mine->begin(), mine->end());
  std::sort(theirs->begin(), theirs->end());
  if (*mine == *theirs) return Shapes::kOtherOrder;
  return are_exact ? Shapes::kOther : Shapes::kUnknown;
}

bool is_same_shape(const Net& a, const Ref& own, const Net& b, const Ref& other) {
  const auto [mine, theirs] = shapes_beside(a, own, b, other);
  return mine && mine == theirs;
}

std::string_view variant_of(const Net& net, int op) {
  if (net.kind(op) != "pool") return {};
  const std::string_view type = net.at(op).type;
  if (type.find("Max") != std::string_view::npos) return "max";
  const bool averages =
      type.find("Av") != std::string_view::npos || type.find("Mean") != std::string_view::npos;
  return averages ? "average" : "";
}

int variants_speak(const Net& a, int own, const Net& b, int other) {
  const std::string_view mine = variant_of(a, own), theirs = variant_of(b, other);
  return mine.empty() || theirs.empty() ? 0 : mine == theirs ? 1 : -1;
}

bool Net::is_counted(int op) const { return kind(op) != "netoutput" && !is_constant_type(at(op)); }

void Net::read_edges() {
  std::unordered_map<std::string_view, int> number;
  for (int i = 0; i < size(); ++i) number.try_emplace(at(i).name, i);
  plain.inputs.resize(graph.operators.size());
  plain.readers.resize(graph.operators.size());
  for (int i = 0; i < size(); ++i) {
    const auto place = static_cast<size_t>(i);
    for (const Edge& edge : at(i).inputs) {
      const auto found = number.find(edge.producer);
      if (found == number.end()) {
        reads_unknown_[place] = true;
        continue;
      }
      const int producer = found->second;
      if (is_constant_type(at(producer))) {
        const auto& own = at(producer).constants;
        constants_[place].insert(constants_[place].end(), own.begin(), own.end());
        continue;
      }
      plain.inputs[place].push_back({producer, edge.output});
      plain.readers[static_cast<size_t>(producer)].emplace_back(i, edge.output);
    }
  }
  for (const Edge& edge : graph.outputs)
    if (const auto found = number.find(edge.producer); found != number.end())
      plain.outputs.push_back({found->second, edge.output});
}

void Net::sort() {
  std::vector<size_t> waiting(graph.operators.size());
  std::deque<int> ready;
  for (int i = 0; i < size(); ++i)
    if ((waiting[static_cast<size_t>(i)] = plain.in(i).size()) == 0) ready.push_back(i);
  for (; !ready.empty(); ready.pop_front()) {
    order.push_back(ready.front());
    for (const auto& [reader, output] : plain.readers[static_cast<size_t>(ready.front())])
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push_back(reader);
  }
}

// What inputs of the model do not change, if only their shapes stay.
void Net::find_constants() {
  for (const int op : order) {
    const auto place = static_cast<size_t>(op);
    if (is_constant_type(at(op)) || kind(op) == "shape" || kind(op) == "size") {
      is_constant_[place] = true;
      continue;
    }
    const bool reads_something = !at(op).inputs.empty() || !constants_[place].empty();
    const auto& inputs = plain.in(op);
    is_constant_[place] = kind(op) != "data" && reads_something && !reads_unknown_[place] &&
                          std::all_of(inputs.begin(), inputs.end(),
                                      [&](const Ref& ref) { return is_constant(ref.op); });
  }
}

// Through what hands values on, to what computed them.
Ref Net::source_of(Ref tensor) const {
  for (int steps = 0; steps < size() && is_transparent(tensor.op); ++steps) {
    const auto& inputs = plain.in(tensor.op);
    if (inputs.empty()) return tensor;
    tensor = inputs.front();
  }
  return tensor;
}

void Net::contract() {
  main.inputs.resize(graph.operators.size());
  main.readers.resize(graph.operators.size());
  for (int i = 0; i < size(); ++i) {
    const auto place = static_cast<size_t>(i);
    is_main_[place] = !is_constant(i) && !is_transparent(i) && is_counted(i);
    if (!is_main_[place]) continue;
    for (const Ref& input : plain.in(i)) {
      const Ref source = source_of(input);
      if (is_constant(source.op)) continue;
      main.inputs[place].push_back(source);
      main.readers[static_cast<size_t>(source.op)].emplace_back(i, source.output);
    }
  }
  for (const Ref& output : plain.outputs) main.outputs.push_back(source_of(output));
}

void Net::walk_from_outputs() {
  std::vector<bool> seen(graph.operators.size());
  std::vector<std::pair<int, size_t>> path;  // operator, how many of its inputs are done
  const auto walk = [&](int from) {
    if (seen[static_cast<size_t>(from)] || !is_main(from)) return;
    seen[static_cast<size_t>(from)] = true;
    path.emplace_back(from, 0);
    while (!path.empty()) {
      auto& [op, next] = path.back();
      if (next == main.in(op).size()) {
        from_outputs.push_back(op);
        path.pop_back();
        continue;
      }
      const int input = main.in(op)[next++].op;
      if (seen[static_cast<size_t>(input)] || !is_main(input)) continue;
      seen[static_cast<size_t>(input)] = true;
      path.emplace_back(input, 0);
    }
  };
  for (const Ref& output : main.outputs) walk(output.op);
  for (int i = 0; i < size(); ++i)
    if (main.readers[static_cast<size_t>(i)].empty()) walk(i);
  for (int i = 0; i < size(); ++i) walk(i);
}

}  // namespace plumb::pair
