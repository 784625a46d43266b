// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/nearest.h"

namespace plumb::cli {
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

StepsAndRanks steps_and_ranks(const dump::DumpSet& set) {
  StepsAndRanks found;
  for (const dump::Entry& entry : set.entries) {
    if (entry.step) found.steps.insert(*entry.step);
    if (entry.rank) found.ranks.insert(*entry.rank);
    found.all_have_steps &= entry.step.has_value();
    found.all_have_ranks &= entry.rank.has_value();
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

Result<void> Selection::check(const std::vector<const dump::DumpSet*>& sets) const {
  StepsAndRanks known;
  for (const dump::DumpSet* set : sets) {
    known.steps.merge(steps_and_ranks(*set).steps);
    known.ranks.merge(steps_and_ranks(*set).ranks);
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
  if (auto steps = look_up("step", steps_, known.steps); !steps) return steps;
  return look_up("rank", ranks_, known.ranks);
}

void Selection::declare(Options& options) {
  options.group("selecting");
  options.texts("--op,--ops", "PATTERN", ops_, "only operators whose name matches, e.g. 'conv*'");
  options.texts("--slot,--slots", "SLOT", slots_,
                "only this slot: output:0, input:1, input, output");
  options.integers("--step,--steps", "N", steps_, "only this step or token");
  options.integers("--rank,--ranks", "N", ranks_, "only this rank");
  options.group("reading");
  options.text("--dtype", "TYPE", dtype_, "element type of headerless files, e.g. float16");
  options.text("--shape", "SHAPE", shape_, "shape of headerless files, e.g. 1,3,224,224");
  options.text("--fp8", "TYPE", fp8_, "what npy's one-byte void type is: e4m3fn, e5m2 or hif8");
  options.text("--convention", "NAME", convention_,
               "how the directory names its files, if detection\nerrs (see `plumb formats`)");
}

Result<io::ReadHints> Selection::hints() const {
  io::ReadHints hints;
  if (!dtype_.empty()) {
    auto dtype = parse_dtype(dtype_, "--dtype");
    if (!dtype) return dtype.error();
    hints.dtype = *dtype;
  }
  if (!shape_.empty()) {
    hints.shape = shape_from_text(shape_);
    if (!hints.shape)
      return Error{"malformed shape '" + shape_ + "'", "--shape " + shape_,
                   "write it as 1,3,224,224, or 'scalar'"};
  }
  if (!fp8_.empty()) {
    auto dtype = parse_dtype(fp8_, "--fp8");
    if (!dtype) return dtype.error();
    if (bits_of(*dtype) != 8 || kind_of(*dtype) != DKind::kFloat)
      return Error{"not an 8-bit float: '" + fp8_ + "'", "--fp8 " + fp8_,
                   "use e4m3fn, e5m2 or hif8"};
    hints.fp8 = *dtype;
  }
  for (const std::string& slot : slots_)
    if (auto known = check_slot(slot); !known) return known.error();
  if (!convention_.empty()) {
    std::vector<std::string> names;
    for (const dump::Convention& known : dump::conventions()) names.emplace_back(known.name);
    if (std::find(names.begin(), names.end(), convention_) == names.end())
      return Error{"unknown convention '" + convention_ + "'", "--convention " + convention_,
                   did_you_mean(convention_, names) + "`plumb formats` lists them"};
  }
  return hints;
}

bool Selection::wants(const dump::Entry& entry) const {
  const auto any = [](const auto& list, auto&& test) {
    return list.empty() || std::any_of(list.begin(), list.end(), test);
  };
  return any(ops_,
             [&](const std::string& p) { return operator_matches(p, entry.operator_name); }) &&
         any(slots_,
             [&](const std::string& p) { return slot_matches(p, to_string(entry.slot)); }) &&
         any(steps_, [&](int64_t n) { return !entry.step || entry.step == n; }) &&
         any(ranks_, [&](int64_t n) { return !entry.rank || entry.rank == n; });
}

}  // namespace plumb::cli
