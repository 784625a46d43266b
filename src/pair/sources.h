// SPDX-License-Identifier: Apache-2.0
//
// Who is asked for the partner of a target tensor, in the order in which they decide: the first
// that has something to say is believed.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "pair/pairing.h"
#include "pair/partners.h"

namespace plumb::pair {

// What is known, besides the names themselves. Borrows all of it.
struct Knowledge {
  const Partners& partners;  // by the user's map, by graphs, by names
  const Pairings* told;      // tensor by tensor: by TorchAir's graphs or another tool's mapping
  bool told_all = false;     // a tensor that is not there has no partner
  const Pairings& calls;     // backward calls, by their order
};

struct Source {
  std::string_view name;
  std::string_view summary;
  std::optional<Pairing> (*ask)(const Knowledge& known, const dump::Entry& target);
};
std::span<const Source> sources();

Pairing pairing_of(const Knowledge& known, const dump::Entry& target);

}  // namespace plumb::pair
