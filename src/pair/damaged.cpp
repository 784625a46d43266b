// SPDX-License-Identifier: Apache-2.0
#include "pair/damaged.h"

#include <algorithm>
#include <set>

#include "dump/listing.h"
#include "dump/names.h"

namespace plumb::pair {
namespace {

using dump::Entry;
using dump::Skipped;
using dump::Slot;
using dump::SlotKind;

// Of a target file: the golden tensors that those it should have held belong to.
std::vector<Promise> promises(const Promise& promise, bool is_target, const PlanOptions& options) {
  if (!is_target) return {promise};
  for (const auto& [to, from] : options.map.operators)
    if (normalised(to) == normalised(promise.op)) return {{from, promise.slot}};
  const graph::Operator* op =
      options.matcher == nullptr ? nullptr : options.matcher->find(promise.op);
  if (op == nullptr) return {promise};
  std::vector<Promise> wanted;
  for (int64_t k = 0; k < std::max<int64_t>(1, std::ssize(op->outputs)); ++k) {
    const Match match = options.matcher->output(*op, k);
    if (match.golden && (!promise.slot || *promise.slot == Slot{SlotKind::kOutput, k, {}}))
      wanted.push_back({match.golden->op, Slot{SlotKind::kOutput, match.golden->output, {}}});
  }
  return wanted;
}

// How many bytes two paths have in common at their ends.
size_t common_end(std::string_view a, std::string_view b) {
  const auto [at, unused] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(at - a.rbegin());
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Tools that name files after calls give those of the same call the same name on both sides. By
// that name, the rows that wait for the other side.
using Twins = std::unordered_map<std::string_view, std::vector<size_t>>;

const Entry& own_of(const PlannedRow& row, bool is_target) {
  return is_target ? *row.golden : *row.target;
}

Twins twins_of(const std::vector<PlannedRow>& rows, bool is_target) {
  Twins twins;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].reason != (is_target ? "no_target" : "no_golden")) continue;
    const Entry& own = own_of(rows[i], is_target);
    if (!own.parts.empty()) twins[own.parts.front().file.name()].push_back(i);
  }
  return twins;
}

// All rows of the file whose directories are most alike, of those that still wait.
std::vector<size_t> twins_for(std::string_view file, bool is_target, const Twins& twins,
                              const std::vector<PlannedRow>& rows) {
  const auto found = twins.find(name_of(file));
  if (found == twins.end()) return {};
  const auto file_of = [&](size_t i) -> std::string {
    return own_of(rows[i], is_target).parts.front().file;
  };
  std::vector<size_t> best;
  size_t longest = 0;
  for (const size_t i : found->second) {
    if (rows[i].rare().damaged != nullptr) continue;
    const size_t common = common_end(file_of(i), file);
    if (!best.empty() && file_of(best.front()) != file_of(i)) {
      if (common <= longest) continue;
      best.clear();
    }
    best.push_back(i);
    longest = common;
  }
  return best;
}

}  // namespace

Promise promise_of(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::string_view extension = file.substr(std::min(file.rfind('.'), file.size()));
  const std::string_view stem = file.substr(0, file.size() - extension.size());
  if (const auto fx = dump::parse_fx_name(file)) return {std::string(fx->op), fx->slot};
  if (const auto golden = dump::parse_golden_name(stem); golden && extension == ".npy")
    return {std::string(golden->op), Slot{SlotKind::kOutput, golden->index, {}}};
  if (const auto device = dump::parse_device_name(file)) return {std::string(device->op), {}};
  return {std::string(path.substr(0, path.size() - extension.size())), Slot{}, false};
}

void place_damaged(const dump::DumpSet& set, bool is_target, const PlanOptions& options,
                   std::vector<PlannedRow>& rows) {
  const auto is_damaged = [](const Skipped& skipped) { return skipped.error.has_value(); };
  if (std::none_of(set.skipped.begin(), set.skipped.end(), is_damaged)) return;
  // What each waiting row wants of the other side.
  std::unordered_map<std::string, std::vector<std::pair<size_t, Slot>>> waiting;
  for (size_t i = 0; i < rows.size(); ++i) {
    const PlannedRow& row = rows[i];
    if (row.reason != (is_target ? "no_target" : "no_golden")) continue;
    const Entry& own = is_target ? *row.golden : *row.target;
    const auto& wanted = row.rare().wanted;
    waiting[normalised(wanted ? wanted->op : own.operator_name.str())].emplace_back(
        i, wanted ? wanted->slot : own.slot);
  }
  const Twins twins = twins_of(rows, is_target);
  const auto present = [&](size_t at) {
    const Entry& entry = is_target ? *rows[at].golden : *rows[at].target;
    return tensor_text(entry.operator_name, entry.slot);
  };
  for (const Skipped& skipped : set.skipped) {
    if (!is_damaged(skipped)) continue;
    std::vector<size_t> places;
    for (const Promise& promised : promises(promise_of(skipped.file), is_target, options)) {
      std::set<std::string> seen;
      std::erase_if(waiting[normalised(promised.op)], [&](const auto& row) {
        if ((promised.slot && *promised.slot != row.second) ||
            !seen.insert(present(row.first)).second)
          return false;
        places.push_back(row.first);
        return true;
      });
    }
    if (places.empty()) places = twins_for(skipped.file, is_target, twins, rows);
    if (skipped.is_not_given) {
      for (size_t at : places) {
        rows[at].reason = "no_counterpart";
        rows[at].message = skipped.error->what + ": " + skipped.error->where;
      }
      continue;
    }
    if (places.empty()) {
      places.push_back(rows.size());
      rows.emplace_back();
    }
    for (size_t at : places) {
      rows[at].reason = skipped.reason == dump::kNoHeader ? "no_header" : "damaged_file";
      rows[at].message = skipped.error->what + ": " + skipped.error->where;
      rows[at].add_rare().damaged = &skipped;
      rows[at].damaged_is_target = is_target;
    }
  }
}

}  // namespace plumb::pair
