// SPDX-License-Identifier: Apache-2.0
#include "diagnose/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "diagnose/example.h"
#include "tensor/shape.h"

namespace plumb::diagnose {
namespace {

// What golden may still be off by for an explanation to hold: it was rounded, too.
double tolerance_of(DType dtype) {
  return dtype == DType::kFloat16 ? 2e-3 : dtype == DType::kBFloat16 ? 1.6e-2 : 2e-4;
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

std::optional<Follows> follows(const Net& net, const Node& node, size_t output_row,
                               Tensors& tensors, int64_t& work) {
  constexpr size_t kMostInputs = 8;
  const std::vector<size_t> rows = rows_read(net, node, net.run.rows[output_row]);
  if (rows.empty() || rows.size() > kMostInputs) return {};
  const auto output = tensors.pair(output_row);
  const auto is_usable = [](const auto& pair) {
    return pair != nullptr && pair->is_aligned() && pair->is_whole && !pair->golden.empty();
  };
  if (!is_usable(output)) return {};
  Example example;
  example.work = &work;
  example.tolerance = tolerance_of(output->golden_dtype);
  example.output = {&output->golden, &output->target, output->golden_shape};
  std::vector<std::shared_ptr<const compare::PairValues>> kept;
  for (const size_t row : rows) {
    const auto& input = kept.emplace_back(tensors.pair(row));
    if (!is_usable(input)) return {};
    example.inputs.push_back({&input->golden, &input->target, input->golden_shape});
  }
  for (const Function function : functions()) {
    const auto should = function(example);
    if (!should) continue;
    const Follows result{distance(output->target, should->target, output->golden),
                         distance(should->target, output->golden, output->golden),
                         distance(should->golden, output->golden, output->golden)};
    if (std::isnan(result.own) || std::isnan(result.inherited)) return {};
    return result;
  }
  return {};
}

}  // namespace

std::optional<Follows> follows(const Net& net, const Node& node, size_t output_row,
                               Tensors& tensors) {
  int64_t work = kMostWork;
  return follows(net, node, output_row, tensors, work);
}

void measure_by_arithmetic(Net& net, Tensors& tensors, const RunContext& context) {
  if (!tensors.are_at_hand()) return;
  constexpr int64_t kMostElements = int64_t{1} << 18, kBudget = int64_t{1} << 23;
  // Elements and products, so that a large network costs no more than a fraction of a second.
  int64_t left = kBudget, work = kMostWork;
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
    if (const auto found = follows(net, node, row, tensors, work)) {
      node.own = found->own;
      node.own_doubt = found->misfit;
      node.inherited = found->inherited;
    }
  }
}

}  // namespace plumb::diagnose
