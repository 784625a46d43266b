// SPDX-License-Identifier: Apache-2.0
#include "pair/call_order.h"

#include <algorithm>
#include <unordered_set>

#include "dump/names.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;

bool is_same_call(const Entry& a, const Entry& b) {
  return a.timestamp == b.timestamp && a.operator_name == b.operator_name && is_same_place(a, b);
}

std::string numbered(const CallName& call, int64_t number) {
  const auto text = [&](std::string_view part) {
    return dump::is_digits(part) ? std::to_string(number) : std::string(part);
  };
  return fmt::format("{}.{}.{}", call.base, text(call.head), text(call.tail));
}

}  // namespace

std::optional<CallName> parse_call_name(std::string_view op) {
  const size_t last = op.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const size_t before = op.rfind('.', last - 1);
  if (before == std::string_view::npos || before == 0) return std::nullopt;
  CallName name{op.substr(0, before), op.substr(before + 1, last - before - 1),
                op.substr(last + 1)};
  const auto has = [&](std::string_view word) { return name.head == word || name.tail == word; };
  if (has("parameters_grad")) return std::nullopt;
  if (!has("forward") && !has("backward")) return std::nullopt;
  name.is_backward = !has("forward");
  return name;
}

std::string Call::key_of(std::string_view scope, std::string_view name) {
  return scope.empty() ? std::string(name) : fmt::format("{}|{}{}", scope.size(), scope, name);
}

std::vector<Call> calls_of(const DumpSet& set, const Scopes& scopes) {
  std::vector<Call> calls;
  std::unordered_map<std::string_view, int64_t> backward;  // calls so far, by base
  const std::span<const Entry> all(set.entries);
  for (size_t first = 0, last = 0; first < all.size(); first = last) {
    for (last = first + 1; last < all.size() && is_same_call(all[first], all[last]);) ++last;
    if (first > 0 && !is_same_place(all[first - 1], all[first])) backward.clear();
    Call& call = calls.emplace_back();
    call.entries = all.subspan(first, last - first);
    call.scope = scopes.of(all[first]);
    const auto name = parse_call_name(call.op());
    call.is_backward = name && name->is_backward;
    if (call.is_backward) call.turn = backward[name->base]++;
    call.name = call.is_backward ? numbered(*name, call.turn) : call.op();
  }
  return calls;
}

Pairings pair_by_call_order(const DumpSet& target, const DumpSet& golden) {
  Pairings pairings;
  if (!target.traits.has_numbered_calls || !golden.traits.has_numbered_calls) return pairings;
  const auto may_be_backward = [](const Entry& entry) {
    return entry.operator_name.str().find("backward") != std::string::npos;
  };
  if (std::none_of(target.entries.begin(), target.entries.end(), may_be_backward)) return pairings;
  const Scopes scopes = scopes_of(target, golden);
  const auto goldens = calls_of(golden, scopes);
  std::unordered_map<std::string, const Call*> by_order;
  std::unordered_set<std::string> by_name;
  for (const Call& call : goldens) {
    if (!call.is_backward) continue;
    by_order.emplace(call.key(), &call);
    by_name.insert(Call::key_of(call.scope, call.op()));
  }
  for (const Call& call : calls_of(target, scopes)) {
    if (!call.is_backward) continue;
    const auto found = by_order.find(call.key());
    const bool is_there = found != by_order.end();
    if (is_there ? found->second->op() == call.op()
                 : !by_name.contains(Call::key_of(call.scope, call.op())))
      continue;
    for (const Entry& entry : call.entries) {
      if (is_there)
        pairings[&entry] =
            Pairing::with(found->second->op(), entry.slot, "call-order",
                          fmt::format("backward call {} of it on both sides", call.turn + 1));
      else
        pairings[&entry] = Pairing::none("no_golden", "golden has fewer backward calls of it");
    }
  }
  return pairings;
}

}  // namespace plumb::pair
