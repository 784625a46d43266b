// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/compared_rows.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "dialect/msprobe/dtype_match.h"

namespace plumb::msprobe {
namespace {

using dump::Entry;
using dump::SlotKind;
using pair::PlannedRow;

bool may_be_compared(const Entry& target, const Entry& golden) {
  return is_argument(target) || is_argument(golden) ||
         dtypes_match(target.dtype_text(), golden.dtype_text());
}

}  // namespace

bool is_argument(const Entry& entry) { return !entry.recorded_shape() && entry.parts.empty(); }

const Shape* shape_of(const Entry& entry) {
  return entry.recorded_shape() ? &*entry.recorded_shape() : nullptr;
}

std::string_view io_of(SlotKind kind) {
  return kind == SlotKind::kInput       ? "input"
         : kind == SlotKind::kOutput    ? "output"
         : kind == SlotKind::kParameter ? "parameter"
                                        : "gradient";
}

void for_each_call(std::span<const PlannedRow> plan, std::span<const size_t> rows,
                   const std::function<void(std::span<const size_t>)>& use) {
  const auto is_same = [](const Entry& a, const Entry& b) {
    return a.timestamp == b.timestamp && a.step() == b.step() && a.operator_name == b.operator_name;
  };
  for (size_t last = 0; !rows.empty(); rows = rows.subspan(last)) {
    for (last = 1; last < rows.size() && is_same(*plan[rows[0]].target, *plan[rows[last]].target);)
      ++last;
    use(rows.first(last));
  }
}

StatisticRow statistic_row(const PlannedRow& planned, bool any_type) {
  StatisticRow row;
  row.is_output = planned.target->slot.kind == SlotKind::kOutput;
  row.is_argument = is_argument(*planned.target);
  const bool has_golden = planned.golden != nullptr && planned.reason.empty();
  row.is_matched = has_golden && (any_type || may_be_compared(*planned.target, *planned.golden));
  row.is_refused = has_golden && !row.is_matched;
  if (row.is_refused)
    row.why_unmatched = fmt::format("dtype differs: {} and {} are not compared",
                                    planned.target->dtype_text(), planned.golden->dtype_text());
  else if (!row.is_matched)
    row.why_unmatched = planned.message;
  if (planned.target->statistics) row.target = &*planned.target->statistics;
  if (!row.is_argument) row.target_dtype = planned.target->dtype_text();
  row.target_shape = shape_of(*planned.target);
  if (!row.is_matched) return row;
  if (planned.golden->statistics) row.golden = &*planned.golden->statistics;
  if (!row.is_argument) row.golden_dtype = planned.golden->dtype_text();
  row.golden_shape = shape_of(*planned.golden);
  row.is_empty = row.target_shape != nullptr && element_count(*row.target_shape) == 0;
  return row;
}

const dump::Stacks& StackFiles::beside(const Entry& entry) {
  auto at = stacks_.find(entry.record);
  if (at == stacks_.end()) {
    const auto path = (set_.root / entry.record.str()).parent_path() / "stack.json";
    auto file = MappedFile::open(path);
    auto stacks = file ? dump::parse_stack_json(file->bytes()) : Result<dump::Stacks>(file.error());
    at = stacks_.emplace(entry.record, stacks ? std::move(*stacks) : dump::Stacks()).first;
  }
  return at->second;
}

std::string_view StackFiles::of(const Entry& entry) {
  const dump::Stacks& stacks = beside(entry);
  const auto found = stacks.find(entry.operator_name);
  return found == stacks.end() ? std::string_view() : *found->second;
}

bool StackFiles::has(const Entry& entry) { return !beside(entry).empty(); }

}  // namespace plumb::msprobe
