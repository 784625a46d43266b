// SPDX-License-Identifier: Apache-2.0
#include "diagnose/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "tensor/shape.h"

namespace plumb::diagnose {
namespace {

using Numbers = std::vector<double>;

// What golden may still be off by for an explanation to hold: it was rounded, too.
constexpr double kExact = 2e-4;

double distance(const Numbers& a, const Numbers& b, const Numbers& unit) {
  double dd = 0, uu = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dd += (a[i] - b[i]) * (a[i] - b[i]);
    uu += unit[i] * unit[i];
  }
  return uu > 0 ? std::sqrt(dd / uu) : dd > 0 ? kUnknown : 0;
}

struct Input {
  const Numbers* target;
  const Numbers* golden;
};

// Calls `use` with the output that a function gives for golden's inputs and for the target's.
template <class Function>
std::optional<Follows> by(const Function& function, const std::vector<Input>& inputs,
                          const compare::PairValues& output) {
  const size_t count = output.golden.size();
  Numbers golden(count), target(count);
  for (size_t i = 0; i < count; ++i) {
    golden[i] = function(inputs, true, i);
    target[i] = function(inputs, false, i);
  }
  if (!(distance(golden, output.golden, output.golden) <= kExact)) return {};
  Follows result{distance(output.target, target, output.golden),
                 distance(target, output.golden, output.golden)};
  if (std::isnan(result.own) || std::isnan(result.inherited)) return {};
  return result;
}

double at(const Input& input, bool is_golden, size_t i) {
  return (is_golden ? *input.golden : *input.target)[i];
}

using Unary = double (*)(double);
constexpr Unary kUnary[] = {
    [](double x) { return std::max(x, 0.0); },
    [](double x) { return 1 / (1 + std::exp(-x)); },
    [](double x) { return std::tanh(x); },
    [](double x) { return x / (1 + std::exp(-x)); },
    [](double x) { return std::clamp(x, 0.0, 6.0); },
    [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); },
    [](double x) { return std::exp(x); },
    [](double x) { return std::sqrt(std::max(x, 0.0)); },
};
using Binary = double (*)(double, double);
constexpr Binary kBinary[] = {
    [](double x, double y) { return x + y; },
    [](double x, double y) { return x * y; },
    [](double x, double y) { return x - y; },
    [](double x, double y) { return x / y; },
};

// A factor and an offset for each group of elements, found on golden; groups are the places along
// an axis, or all elements (`inner` and `channels` 1).
std::optional<Follows> by_line(const Input& input, const compare::PairValues& output, size_t inner,
                               size_t channels) {
  struct Line {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    double factor = 0, offset = 0;
  };
  const size_t count = output.golden.size();
  if (count < 8 * channels) return {};
  std::vector<Line> lines(channels);
  const auto line_of = [&](size_t i) -> Line& { return lines[(i / inner) % channels]; };
  for (size_t i = 0; i < count; ++i) {
    Line& line = line_of(i);
    line.n += 1, line.x += (*input.golden)[i], line.y += output.golden[i];
  }
  for (size_t i = 0; i < count; ++i) {
    Line& line = line_of(i);
    const double x = (*input.golden)[i] - line.x / line.n;
    line.xx += x * x, line.xy += x * (output.golden[i] - line.y / line.n);
  }
  for (Line& line : lines) {
    line.factor = line.xx > 0 ? line.xy / line.xx : 0;
    line.offset = (line.y - line.factor * line.x) / line.n;
  }
  return by(
      [&](const std::vector<Input>& inputs, bool is_golden, size_t i) {
        const Line& line = line_of(i);
        return line.factor * at(inputs[0], is_golden, i) + line.offset;
      },
      {input}, output);
}

std::optional<Follows> of_one(const Input& input, const compare::PairValues& output) {
  for (const Unary function : kUnary)
    if (auto found = by([&](const std::vector<Input>& inputs, bool is_golden,
                            size_t i) { return function(at(inputs[0], is_golden, i)); },
                        {input}, output))
      return found;
  if (auto found = by_line(input, output, output.golden.size(), 1)) return found;
  size_t inner = output.golden.size();
  for (const int64_t length : output.golden_shape) {
    if (length <= 0) return {};
    inner /= static_cast<size_t>(length);
    if (length == 1) continue;
    if (auto found = by_line(input, output, inner, static_cast<size_t>(length))) return found;
  }
  return {};
}

std::optional<Follows> of_two(const std::vector<Input>& inputs, const compare::PairValues& output) {
  for (const Binary function : kBinary)
    if (auto found = by(
            [&](const std::vector<Input>& both, bool is_golden, size_t i) {
              return function(at(both[0], is_golden, i), at(both[1], is_golden, i));
            },
            inputs, output))
      return found;
  return {};
}

// The rows that show what an operator reads, in order: dumped there, else where they were made.
std::vector<size_t> rows_read(const Net& net, const Node& node, const result::Row& output) {
  const auto is_same_run = [&](size_t row) {
    return net.run.rows[row].step == output.step && net.run.rows[row].rank == output.rank;
  };
  std::vector<size_t> rows;
  for (const size_t row : node.inputs)
    if (is_same_run(row)) rows.push_back(row);
  if (!rows.empty()) return rows;
  for (const int64_t producer : node.producers)
    for (const size_t row : net.nodes[static_cast<size_t>(producer)].outputs)
      if (is_same_run(row)) rows.push_back(row);
  return rows;
}

}  // namespace

std::optional<Follows> follows(const Net& net, const Node& node, size_t output_row,
                               Tensors& tensors) {
  const std::vector<size_t> rows = rows_read(net, node, net.run.rows[output_row]);
  if (rows.empty() || rows.size() > 2) return {};
  const auto output = tensors.pair(output_row);
  if (output == nullptr || !output->is_aligned() || !output->is_whole) return {};
  std::vector<Input> inputs;
  std::vector<std::shared_ptr<const compare::PairValues>> kept;
  for (const size_t row : rows) {
    const auto& input = kept.emplace_back(tensors.pair(row));
    if (input == nullptr || !input->is_aligned() || input->golden.size() != output->golden.size())
      return {};
    inputs.push_back({&input->target, &input->golden});
  }
  return inputs.size() == 1 ? of_one(inputs[0], *output) : of_two(inputs, *output);
}

void measure_by_arithmetic(Net& net, Tensors& tensors, const RunContext& context) {
  if (!tensors.are_at_hand()) return;
  constexpr int64_t kMostElements = int64_t{1} << 18, kBudget = int64_t{1} << 23;
  int64_t left =
      kBudget;  // elements, so that a large network costs no more than a fraction of a second
  for (Node& node : net.nodes) {
    if (context.cancelled || left <= 0) return;
    if (node.is_source || node.outputs.empty() || !std::isnan(node.own)) continue;
    const size_t row =
        node.outputs.back();  // of several samples the tensors of the latest are at hand
    const auto& shape = net.run.rows[row].target->shape;
    const int64_t elements =
        shape ? element_count(*shape).value_or(kMostElements + 1) : kMostElements + 1;
    if (elements > kMostElements || std::isinf(node.out.relative)) continue;
    left -= elements;
    if (const auto found = follows(net, node, row, tensors)) node.own = found->own;
  }
}

}  // namespace plumb::diagnose
