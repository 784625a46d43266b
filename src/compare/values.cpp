// SPDX-License-Identifier: Apache-2.0
#include "compare/values.h"

#include "compare/numbers.h"

namespace plumb::compare {

Result<PairValues> values_of(const SessionState& state, RowId row, int64_t most) {
  const pair::PlannedRow& planned = state.rows[static_cast<size_t>(row)];
  if (planned.target == nullptr || planned.golden == nullptr || planned.target->parts.empty() ||
      planned.golden->parts.empty())
    return Error{"there are no two tensors to look at", "", "look at a row that was compared"};
  const Sides& sides = *state.sides;
  const auto order_of = [](const io::ReadOrder* given) {
    return given != nullptr ? *given : io::ReadOrder();
  };
  auto golden = dump::EntryReader::open(sides.golden_of(planned), *planned.golden,
                                        sides.golden_hints, order_of(planned.rare().golden_order));
  if (!golden) return golden.error();
  io::ReadOrder order = order_of(planned.rare().target_order);
  if (planned.is_quantized && planned.rare().dequantize &&
      kind_of(golden->reader().dtype()) == DKind::kFloat)
    order.dequantize = planned.rare().dequantize;
  auto target = dump::EntryReader::open(sides.target, *planned.target, sides.target_hints, order);
  if (!target) return target.error();
  PairValues values;
  values.target_shape = target->reader().shape();
  values.golden_shape = golden->reader().shape();
  values.target_dtype = target->reader().dtype();
  values.golden_dtype = golden->reader().dtype();
  values.is_whole = std::max(target->reader().count(), golden->reader().count()) <= most;
  auto numbers = numbers_of(*target, most);
  if (!numbers) return numbers.error();
  values.target = std::move(*numbers);
  numbers = numbers_of(*golden, most);
  if (!numbers) return numbers.error();
  values.golden = std::move(*numbers);
  return values;
}

Result<std::vector<double>> target_values(const SessionState& state, const dump::Entry& entry,
                                          int64_t most) {
  auto tensor = dump::EntryReader::open(state.sides->target, entry, state.sides->target_hints);
  if (!tensor) return tensor.error();
  return numbers_of(*tensor, most);
}

}  // namespace plumb::compare
