// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of two dumps may belong together at all: those of the same rank, step and graph.
// These count only if a side has several of them: a dump of one step pairs with another of one
// step, whatever number each tool gave it.
#pragma once

#include <string>

#include <fmt/format.h>

#include "dump/dump.h"

namespace plumb::pair {

struct Scopes {
  bool rank = false, step = false, graph = false;

  std::string of(const dump::Entry& entry) const {
    std::string scope;
    const auto add = [&](bool counts, const std::optional<int64_t>& number) {
      if (counts) scope += number ? fmt::format("{}|", *number) : "-|";
    };
    add(rank, entry.rank());
    add(step, entry.step());
    if (graph) scope += entry.graph();
    return scope;
  }
};

// Of two lists of anything; `entry_of` gives an element's entry.
template <class Side, class EntryOf>
Scopes scopes_of(const Side& target, const Side& golden, EntryOf&& entry_of) {
  Scopes several;
  for (const Side* side : {&target, &golden}) {
    for (const auto& element : *side) {
      const dump::Entry &entry = entry_of(element), &first = entry_of(side->front());
      if (is_same_place(entry, first)) continue;
      several.rank |= entry.rank() != first.rank();
      several.step |= entry.step() != first.step();
      several.graph |= entry.graph() != first.graph();
    }
  }
  return several;
}
inline Scopes scopes_of(const dump::DumpSet& target, const dump::DumpSet& golden) {
  return scopes_of(target.entries, golden.entries,
                   [](const dump::Entry& entry) -> const dump::Entry& { return entry; });
}

}  // namespace plumb::pair
