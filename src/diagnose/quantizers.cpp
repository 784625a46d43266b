// SPDX-License-Identifier: Apache-2.0
#include "diagnose/quantizers.h"

#include <algorithm>

#include "diagnose/example.h"

namespace plumb::diagnose {
namespace {

// The row of the tensor that is quantized: behind at most a few operators that do nothing else.
std::optional<size_t> row_quantized(const Net& net, const Node& node) {
  const Node* at = &node;
  constexpr int kMostHops = 4;
  for (int hops = 0; hops < kMostHops; ++hops) {
    const auto made = std::find_if(at->producers.begin(), at->producers.end(), [&](int64_t each) {
      return !net.nodes[static_cast<size_t>(each)].is_constant;
    });
    if (made == at->producers.end()) return {};
    at = &net.nodes[static_cast<size_t>(*made)];
    if (!at->outputs.empty()) return at->outputs.back();
    if (!only_quantizes(at->type)) return {};
  }
  return {};
}

// Integers of a quantized tensor are not golden's numbers yet.
bool gives_numbers(const Node& node) {
  return node.type.find("Dequant") != std::string_view::npos ||
         node.type.find("FakeQuant") != std::string_view::npos;
}

}  // namespace

void look_at_quantizers(Net& net, Tensors& tensors, const RunContext& context) {
  if (!tensors.are_at_hand()) return;
  constexpr int64_t kBudget = int64_t{1} << 24;
  int64_t left = kBudget;  // elements
  std::vector<int64_t> readers;
  for (const int64_t place : net.order) {
    Node& node = net.nodes[static_cast<size_t>(place)];
    if (context.cancelled || left <= 0) break;
    if (!node.inserted || !only_quantizes(node.type) || !gives_numbers(node)) continue;
    const auto row = row_quantized(net, node);
    const auto both = row ? tensors.pair(*node.inserted, *row) : nullptr;
    const auto read = both ? tensors.pair(*row) : nullptr;
    if (read == nullptr || both->target.size() != read->target.size()) continue;
    const double own = distance(both->target, read->target, read->target);
    if (!std::isfinite(own)) continue;
    left -= 3 * std::ssize(both->target);
    node.stands_for = row;
    node.own = own;
    node.in.relative = distance(read->target, read->golden, read->golden);
    node.out.relative = distance(both->target, both->golden, both->golden);
    readers.insert(readers.end(), node.consumers.begin(), node.consumers.end());
  }
  for (const int64_t place : readers) {
    Node& reader = net.nodes[static_cast<size_t>(place)];
    if (!reader.inputs.empty()) continue;
    for (const int64_t producer : reader.producers) {
      const Error& given = net.nodes[static_cast<size_t>(producer)].out;
      if (given.is_known() && !(reader.in.relative >= given.relative))
        reader.in.relative = given.relative;
    }
  }
}

}  // namespace plumb::diagnose
