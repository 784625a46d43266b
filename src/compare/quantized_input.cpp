// SPDX-License-Identifier: Apache-2.0
#include "compare/quantized_input.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pair/operator_kinds.h"

namespace plumb::compare {
namespace {

// The tensors that an operator of the graph gives, in each step and rank.
using Given =
    std::tuple<const graph::Operator*, dump::Slot, std::optional<int64_t>, std::optional<int64_t>>;

Given given_by(const graph::Operator* op, const dump::Slot& slot, const dump::Entry& beside) {
  return {op, slot, beside.step(), beside.rank()};
}

}  // namespace

std::function<const pair::PlannedRow*(const pair::PlannedRow&)> quantized_inputs(
    const SessionState& state) {
  if (!state.matcher) return {};
  const pair::Matcher& matcher = *state.matcher;
  const auto is_of_interest = [](const graph::Operator& op) { return pair::quantizes(op.type); };
  const auto& operators = matcher.target().operators;
  if (std::none_of(operators.begin(), operators.end(), is_of_interest)) return {};
  std::map<Given, const pair::PlannedRow*> rows;
  for (const pair::PlannedRow& row : state.rows) {
    if (row.target == nullptr || row.golden == nullptr) continue;
    if (const graph::Operator* op = matcher.find(row.target->operator_name))
      rows.try_emplace(given_by(op, row.target->slot, *row.target), &row);
  }
  return [&matcher, rows = std::move(rows)](const pair::PlannedRow& row) {
    const pair::PlannedRow* none = nullptr;
    const graph::Operator* op = matcher.find(row.target->operator_name);
    if (op == nullptr || !pair::quantizes(op->type) || op->inputs.empty()) return none;
    const graph::Edge& input = op->inputs.front();
    const graph::Operator* giver = matcher.find(input.producer);
    const dump::Slot slot{dump::SlotKind::kOutput, input.output, {}};
    const auto found = rows.find(given_by(giver, slot, *row.target));
    return giver == nullptr || found == rows.end() ? none : found->second;
  };
}

}  // namespace plumb::compare
