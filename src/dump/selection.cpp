// SPDX-License-Identifier: Apache-2.0
#include "dump/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/nearest.h"
#include "dump/operator_patterns.h"

namespace plumb::dump {
namespace {

Result<DType> parse_dtype(const std::string& text, std::string_view option) {
  if (auto dtype = dtype_from_name(text)) return *dtype;
  std::vector<std::string> names;
  for (const DTypeInfo& info : dtypes())
    if (info.dtype != DType::kOpaque) names.emplace_back(info.name);
  return Error{"unknown type '" + text + "'", std::string(option) + " " + text,
               did_you_mean(text, names) + "`plumb formats` lists the types"};
}

// A kind that is misspelt would match nothing; one with a wildcard may be anything.
Result<void> check_slot(const std::string& slot) {
  const std::string kind = slot.substr(0, slot.find_first_of(".:"));
  const std::vector<std::string> kinds{"input", "output", "parameter", "gradient", "other"};
  if (kind.find_first_of("*?[") != std::string::npos ||
      std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
    return {};
  return Error{"unknown kind of slot '" + kind + "'", "--slot " + slot,
               did_you_mean(kind, kinds) +
                   "slots are input, output, parameter, gradient or other, alone or as output:0"};
}

}  // namespace

bool Selection::wants(const Entry& entry) const {
  const auto any = [](const auto& list, auto&& test) {
    return list.empty() || std::any_of(list.begin(), list.end(), test);
  };
  return any(ops, [&](const std::string& p) { return operator_matches(p, entry.operator_name); }) &&
         any(slots, [&](const std::string& p) { return slot_matches(p, to_string(entry.slot)); }) &&
         any(steps, [&](int64_t n) { return !entry.step() || entry.step() == n; }) &&
         any(ranks, [&](int64_t n) { return !entry.rank() || entry.rank() == n; });
}

Result<void> Selection::check_slots() const {
  for (const std::string& slot : slots)
    if (auto known = check_slot(slot); !known) return known;
  return {};
}

Result<void> Selection::check(std::span<const DumpSet* const> sets) const {
  if (!ops.empty()) {
    std::set<std::string> operators;
    bool may_have_more = false;  // in files that cannot be read
    for (const DumpSet* set : sets) {
      for (const Entry& entry : set->entries) operators.insert(entry.operator_name);
      may_have_more |=
          std::any_of(set->skipped.begin(), set->skipped.end(),
                      [](const Skipped& skipped) { return skipped.error.has_value(); });
    }
    if (!may_have_more)
      if (auto found = check_patterns(ops, operators); !found) return found;
  }
  StepsAndRanks known;
  for (const DumpSet* set : sets) {
    StepsAndRanks found = steps_and_ranks(*set);
    known.steps.merge(found.steps);
    known.ranks.merge(found.ranks);
  }
  const auto look_up = [](std::string_view what, const std::vector<int64_t>& wanted,
                          const std::set<int64_t>& there) -> Result<void> {
    for (const int64_t n : wanted) {
      if (there.contains(n)) continue;
      if (there.empty())
        return Error{fmt::format("there is no {} {}: the dumps record no {}s", what, n, what),
                     fmt::format("--{} {}", what, n), fmt::format("leave out --{}", what)};
      return Error{
          fmt::format("there is no {} {}", what, n), fmt::format("--{} {}", what, n),
          fmt::format("{} {} {}", there.size() == 1 ? "the only" : "choose one of the",
                      there.size() == 1 ? fmt::format("{} is", what) : fmt::format("{}s", what),
                      list_of(there))};
    }
    return {};
  };
  if (auto found = look_up("step", steps, known.steps); !found) return found;
  return look_up("rank", ranks, known.ranks);
}

StepsAndRanks steps_and_ranks(const DumpSet& set) {
  StepsAndRanks found;
  for (const Entry& entry : set.entries) {
    if (entry.step()) found.steps.insert(*entry.step());
    if (entry.rank()) found.ranks.insert(*entry.rank());
    found.all_have_steps &= entry.step().has_value() || entry.is_beside;
    found.all_have_ranks &= entry.rank().has_value() || entry.is_beside;
  }
  return found;
}

std::string list_of(const std::set<int64_t>& numbers) {
  constexpr size_t kMost = 10;
  std::string text;
  size_t shown = 0;
  for (const int64_t n : numbers) {
    if (shown == kMost) return fmt::format("{} and {} more", text, numbers.size() - kMost);
    const bool is_last = ++shown == numbers.size();
    text += fmt::format("{}{}", shown == 1 ? "" : is_last ? " and " : ", ", n);
  }
  return text;
}

Result<io::ReadHints> hints_from_words(const HintWords& words) {
  io::ReadHints hints;
  if (!words.dtype.empty()) {
    auto dtype = parse_dtype(words.dtype, "--dtype");
    if (!dtype) return dtype.error();
    hints.dtype = *dtype;
  }
  if (!words.shape.empty()) {
    hints.shape = shape_from_text(words.shape);
    if (!hints.shape)
      return Error{"malformed shape '" + words.shape + "'", "--shape " + words.shape,
                   "write it as 1,3,224,224, or 'scalar'"};
  }
  if (!words.fp8.empty()) {
    auto dtype = parse_dtype(words.fp8, "--fp8");
    if (!dtype) return dtype.error();
    if (bits_of(*dtype) != 8 || kind_of(*dtype) != DKind::kFloat)
      return Error{"not an 8-bit float: '" + words.fp8 + "'", "--fp8 " + words.fp8,
                   "use e4m3fn, e5m2 or hif8"};
    hints.fp8 = *dtype;
  }
  return hints;
}

Result<void> check_convention(const std::string& name) {
  std::vector<std::string> names;
  for (const Convention& known : conventions()) names.emplace_back(known.name);
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return {};
  return Error{"unknown convention '" + name + "'", "--convention " + name,
               did_you_mean(name, names) + "`plumb formats` lists them"};
}

}  // namespace plumb::dump
