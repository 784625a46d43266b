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
    const auto rows = rows_given(net, *at, static_cast<size_t>(made - at->producers.begin()));
    if (!rows.empty()) return rows.back();
    at = &net.nodes[static_cast<size_t>(*made)];
    if (!may_be_in_quantizer(at->type)) return {};
  }
  return {};
}

// What rounding and the ends of the range cost. Values beyond golden's own range were brought by a
// fault before it: that they end there is none of its own.
double own_error(const compare::PairValues& given, std::vector<double> read) {
  const auto [low, high] = std::minmax_element(given.golden.begin(), given.golden.end());
  const auto [least, most] = std::minmax_element(given.target.begin(), given.target.end());
  if (given.golden.empty()) return kUnknown;
  const double bottom = std::min(*low, *least), top = std::max(*high, *most);
  for (double& value : read) value = std::clamp(value, bottom, top);
  return distance(given.target, read, read);
}

// Integers of a quantized tensor are not golden's numbers yet.
bool gives_numbers(const Node& node) {
  return node.type.find("Dequant") != std::string_view::npos ||
         node.type.find("FakeQuant") != std::string_view::npos;
}

// Eight bits over all of golden's range cost as much, whoever quantizes.
double grain_of_all(const compare::PairValues& values) {
  double squares = 0, low = 0, high = 0;
  for (const double value : values.golden) {
    squares += value * value / static_cast<double>(values.golden.size());
    low = std::min(low, value);
    high = std::max(high, value);
  }
  constexpr double kSteps = 255;
  return squares > 0 ? (high - low) / kSteps / std::sqrt(12 * squares) : 0;
}

}  // namespace

void look_at_quantizers(Net& net, Tensors& tensors, const RunContext& context) {
  if (!tensors.are_at_hand()) return;
  constexpr int64_t kBudget = int64_t{1} << 26;
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
    const double own = own_error(*both, read->target);
    if (!std::isfinite(own)) continue;
    left -= 3 * std::ssize(both->target);
    node.stands_for = row;
    node.own = own;
    node.grain = grain_of_all(*both);
    node.in.relative = distance(read->target, read->golden, read->golden);
    node.out.relative = distance(both->target, both->golden, both->golden);
    readers.insert(readers.end(), node.consumers.begin(), node.consumers.end());
    // Replayed from what was quantized, not from what came of it, a reader shows that error, too.
    for (const int64_t place_of_reader : node.consumers) {
      Node& reader = net.nodes[static_cast<size_t>(place_of_reader)];
      if (!std::isnan(reader.own)) reader.own_doubt = std::hypot(reader.own_doubt, own);
    }
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
