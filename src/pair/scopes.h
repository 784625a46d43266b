// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of two dumps may belong together at all: those of the same rank, step and graph.
// These count only if a side has several of them: a dump of one step pairs with another of one
// step, whatever number each tool gave it.
#pragma once

#include <algorithm>
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
    add(rank, entry.rank);
    add(step, entry.step);
    if (graph) scope += entry.graph;
    return scope;
  }
};

// Of two lists of anything; `entry_of` gives an element's entry.
template <class Side, class EntryOf>
Scopes scopes_of(const Side& target, const Side& golden, EntryOf&& entry_of) {
  const auto several = [&](auto member) {
    const auto has_several = [&](const Side& side) {
      return std::any_of(side.begin(), side.end(), [&](const auto& element) {
        return entry_of(element).*member != entry_of(side.front()).*member;
      });
    };
    return has_several(target) || has_several(golden);
  };
  return {several(&dump::Entry::rank), several(&dump::Entry::step), several(&dump::Entry::graph)};
}
inline Scopes scopes_of(const dump::DumpSet& target, const dump::DumpSet& golden) {
  return scopes_of(target.entries, golden.entries,
                   [](const dump::Entry& entry) -> const dump::Entry& { return entry; });
}

}  // namespace plumb::pair
