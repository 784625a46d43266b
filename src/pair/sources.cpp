// SPDX-License-Identifier: Apache-2.0
#include "pair/sources.h"

#include <array>

namespace plumb::pair {
namespace {

using dump::Entry;

std::optional<Pairing> by_map(const Knowledge& known, const Entry& target) {
  return known.partners.by_map(target);
}

std::optional<Pairing> by_what_was_told(const Knowledge& known, const Entry& target) {
  if (known.told == nullptr) return std::nullopt;
  if (const auto found = known.told->find(&target); found != known.told->end())
    return found->second;
  if (known.told_all) return Pairing::none("no_golden");
  return std::nullopt;
}

std::optional<Pairing> by_calls(const Knowledge& known, const Entry& target) {
  const auto found = known.calls.find(&target);
  return found == known.calls.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Pairing> by_graph(const Knowledge& known, const Entry& target) {
  return known.partners.by_graph(target);
}

std::optional<Pairing> by_name(const Knowledge& known, const Entry& target) {
  return known.partners.by_name(target);
}

}  // namespace

std::span<const Source> sources() {
  static constexpr std::array kSources{
      Source{"map", "what the user says: --map, or outputs of two models by their names", by_map},
      Source{"told", "what TorchAir's graphs or another tool's mapping say", by_what_was_told},
      Source{"calls", "backward calls in the order they ran", by_calls},
      Source{"graph", "what the converter recorded: origins, edges, quantization", by_graph},
      Source{"name", "the same name, the same but for signs, or made of golden names", by_name},
  };
  return kSources;
}

Pairing pairing_of(const Knowledge& known, const Entry& target) {
  for (const Source& source : sources())
    if (auto pairing = source.ask(known, target)) return std::move(*pairing);
  return Pairing::none("no_golden");
}

}  // namespace plumb::pair
