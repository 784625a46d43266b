// SPDX-License-Identifier: Apache-2.0
#include "compare/planned_row.h"

#include "pair/damaged.h"

namespace plumb::compare {
namespace {

using dump::Entry;
using result::Row;
using result::Side;

Side side_of(const Entry& entry) {
  Side side;
  side.operator_name = entry.operator_name;
  side.type = entry.type;
  side.slot = to_string(entry.slot);
  side.dtype = entry.info ? dtype_text(*entry.info) : entry.dtype_text();
  side.shape = entry.info ? std::optional(entry.info->logical_shape.value_or(entry.info->shape))
                          : entry.recorded_shape();
  side.file = entry.file();
  return side;
}

// The operator of a damaged file: by its name, else the one it stands beside, else by its path.
std::string operator_in(const Row& row, const pair::Promise& promise, const std::string& file) {
  if (promise.is_told) return promise.op;
  if (row.target && !row.target->operator_name.empty()) return row.target->operator_name;
  if (row.golden && !row.golden->operator_name.empty()) return row.golden->operator_name;
  return file;
}

}  // namespace

Row planned_row(const pair::PlannedRow& planned) {
  Row row;
  row.index = planned.index;
  row.pairing_rule = planned.rule;
  row.pairing_evidence = planned.evidence;
  if (const Entry* any = planned.target != nullptr ? planned.target : planned.golden) {
    row.step = any->step();
    row.rank = any->rank();
    row.graph = any->graph();
  }
  if (planned.target != nullptr) row.target = side_of(*planned.target);
  if (planned.golden != nullptr) row.golden = side_of(*planned.golden);
  if (const dump::Skipped* damaged = planned.rare().damaged) {
    auto& side = planned.damaged_is_target ? row.target : row.golden;
    const pair::Promise promise = pair::promise_of(damaged->file);
    if (!side) side.emplace();
    side->file = damaged->file;
    if (side->operator_name.empty()) side->operator_name = operator_in(row, promise, side->file);
    if (side->slot.empty() && promise.is_told && promise.slot)
      side->slot = to_string(*promise.slot);
    const auto& other = planned.damaged_is_target ? row.golden : row.target;
    if (side->slot.empty() && !promise.is_told && other) side->slot = other->slot;
  }
  if (planned.reason.empty()) return row;
  row.verdict = result::Verdict::kNotCompared;
  row.reasons = {std::string(planned.reason)};
  row.message = planned.message;
  return row;
}

}  // namespace plumb::compare
