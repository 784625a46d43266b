// SPDX-License-Identifier: Apache-2.0
#include "diagnose/grids.h"

#include <algorithm>

#include "diagnose/levels.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::diagnose {
namespace {

// Looks at some of the outputs, spread over the network.
bool are_on_grids(const Net& net, const Tensors& tensors) {
  std::vector<size_t> rows;
  for (const Node& node : net.nodes)
    if (!node.is_source && !node.outputs.empty()) rows.push_back(node.outputs.back());
  constexpr size_t kLooks = 24, kFewest = 6;
  size_t looked = 0, grids = 0;
  for (size_t i = 0; i < std::min(kLooks, rows.size()); ++i) {
    const auto values = tensors.glance(rows[i * rows.size() / std::min(kLooks, rows.size())]);
    if (values == nullptr || values->golden.size() < 32) continue;
    if (!may_be_grid(values->target)) {
      ++looked;
      continue;
    }
    const auto levels = levels_of(*values);
    looked += levels.has_value();
    grids += levels && levels->is_grid;
  }
  return looked >= kFewest && 3 * grids >= looked;  // joins and tables are on no grid
}

// What a large channel hides is what the grid, made for it, rounds off the others; not what they
// were handed.
double hidden_by(const ChannelSpread& spread, double step) {
  if (spread.ratio < kSpread || !(spread.others_size > 0)) return 0;
  constexpr double kAtMost = 1.5;  // times evenly spread roundings
  return std::min(spread.others_error, kAtMost * step / (std::sqrt(12.0) * spread.others_size));
}

// A grid rounds by a twelfth of its squared step on average.
double grain_of(const Levels& levels, const compare::PairValues& values) {
  double squares = 0;
  for (const double value : values.golden) squares += value * value;
  squares /= static_cast<double>(values.golden.size());
  return squares > 0 ? levels.step / std::sqrt(12 * squares) : 0;
}

double to_float16(double value) {
  return float_from_half(half_from_float(static_cast<float>(value)));
}

}  // namespace

double float16_grain(const compare::PairValues& values) {
  const double least = std::ldexp(1.0, -14);  // with all its digits
  double lost = 0, squares = 0;
  for (const double value : values.target)
    if (std::isfinite(value) && to_float16(value) != value) return 0;
  for (const double value : values.golden) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    if (std::abs(value) < least) lost += std::pow(value - to_float16(value), 2);
  }
  return squares > 0 ? std::sqrt(lost / squares) : 0;
}

bool look_at_grids(Net& net, Tensors& tensors, const RunContext& context) {
  if (!tensors.are_at_hand() || !are_on_grids(net, tensors)) return false;
  constexpr int64_t kBudget = int64_t{1} << 22;
  int64_t left = kBudget;                       // elements
  std::vector<std::pair<Node*, double>> steps;  // how many steps of its grid a tensor spans
  for (Node& node : net.nodes) {
    if (context.cancelled || left <= 0) break;
    if (node.is_source || node.outputs.empty()) continue;
    const auto values = tensors.glance(node.outputs.back());
    if (values == nullptr) continue;
    left -= std::ssize(values->golden);
    if (!may_be_grid(values->target)) continue;
    const auto levels = levels_of(*values);
    if (!levels || !levels->is_grid) continue;
    node.grain = grain_of(*levels, *values);
    steps.emplace_back(&node, (levels->high - levels->low) / levels->step);
    if (const auto spread = channel_spread(*values)) node.hidden = hidden_by(*spread, levels->step);
  }
  if (steps.empty()) return true;
  std::vector<double> spans;
  for (const auto& [node, span] : steps) spans.push_back(span);
  std::nth_element(spans.begin(), spans.begin() + std::ssize(spans) / 2, spans.end());
  // Fewer bits than the others have are no excuse.
  for (const auto& [node, span] : steps)
    if (2 * span < spans[spans.size() / 2]) node->grain = 0;
  return true;
}

}  // namespace plumb::diagnose
