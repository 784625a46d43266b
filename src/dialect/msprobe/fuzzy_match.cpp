// SPDX-License-Identifier: Apache-2.0
//
// `-fm`: rows belong together if their names do without the number of the call (of modules: without
// the class), and they come in the same order. Both lists are read side by side; what was read and
// has no partner waits. A row takes the first one waiting on the other side, and with that all that
// waited before either of the two has none. Each name has a queue of those waiting, so the work
// grows with the number of rows only.
#include <deque>
#include <map>

#include <fmt/format.h>

#include "dialect/msprobe/mapping.h"
#include "dialect/msprobe/row_name.h"
#include "pair/call_order.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Entry;
using pair::Pairings;

namespace {

struct Row {
  const Entry* entry;
  std::string name;
};
using Rows = std::vector<Row>;

std::string loose_name(const std::string& op, const dump::Slot& slot) {
  const auto call = pair::parse_call_name(op);
  if (!call) return row_name(op, slot);
  const std::string_view direction = call->is_backward ? "backward" : "forward";
  if (call->tail == direction) return row_name(fmt::format("{}.{}", call->base, direction), slot);
  const std::string_view path = call->base.substr(0, call->base.rfind('.'));
  return row_name(fmt::format("{}.{}.{}", path, direction, call->tail), slot);
}

std::map<std::string, Rows> rows_by_scope(const DumpSet& set, const pair::Scopes& scopes,
                                          const Rename& rename) {
  std::map<std::string, Rows> rows;
  for (const Entry& entry : set.entries) {
    const auto name = rename ? rename(entry.operator_name, entry.slot)
                             : pair::TensorName{entry.operator_name, entry.slot};
    if (name) rows[scopes.of(entry)].push_back({&entry, loose_name(name->op, name->slot)});
  }
  for (auto& [scope, list] : rows)
    std::sort(list.begin(), list.end(),
              [](const Row& a, const Row& b) { return row_is_before(*a.entry, *b.entry); });
  return rows;
}

// The rows of one side that were read and wait.
class Waiting {
 public:
  void add(size_t row, const std::string& name) { queues_[name].push_back(row); }
  // The first one of this name.
  std::optional<size_t> find(const std::string& name) {
    const auto found = queues_.find(name);
    if (found == queues_.end()) return std::nullopt;
    std::deque<size_t>& queue = found->second;
    while (!queue.empty() && queue.front() < first_) queue.pop_front();
    return queue.empty() ? std::nullopt : std::optional(queue.front());
  }
  void forget_up_to(size_t row) { first_ = row + 1; }
  size_t first() const { return first_; }

 private:
  std::unordered_map<std::string, std::deque<size_t>> queues_;
  size_t first_ = 0;
};

void pair_rows(const Rows& target, const Rows& golden, Pairings& pairings) {
  Waiting targets, goldens;
  const auto pair = [&](size_t t, size_t g) {
    const Entry& partner = *golden[g].entry;
    pairings[target[t].entry] = pair::Pairing::with(partner.operator_name, partner.slot, "fuzzy");
    targets.forget_up_to(t);
    goldens.forget_up_to(g);
  };
  for (size_t i = 0; i < std::max(target.size(), golden.size()); ++i) {
    const bool has_target = i < target.size(), has_golden = i < golden.size();
    if (has_target) targets.add(i, target[i].name);
    if (has_golden) goldens.add(i, golden[i].name);
    if (!has_target && targets.first() == target.size()) return;
    if (!has_golden && goldens.first() == golden.size()) return;
    const size_t newest = std::min(i, target.size() - 1);
    if (const auto g = goldens.find(target[newest].name); g && newest >= targets.first())
      pair(newest, *g);
    else if (const auto t = has_golden ? targets.find(golden[i].name) : std::nullopt)
      pair(*t, i);
  }
}

}  // namespace

Pairings pair_fuzzily(const DumpSet& target, const DumpSet& golden, const Rename& rename) {
  const pair::Scopes scopes = pair::scopes_of(target, golden);
  Pairings pairings;
  for (const Entry& entry : target.entries)
    pairings[&entry] =
        pair::Pairing::none("no_golden", "nothing in golden has its name and comes in this order");
  const auto goldens = rows_by_scope(golden, scopes, {});
  for (const auto& [scope, rows] : rows_by_scope(target, scopes, rename))
    if (const auto found = goldens.find(scope); found != goldens.end())
      pair_rows(rows, found->second, pairings);
  return pairings;
}

}  // namespace plumb::msprobe
