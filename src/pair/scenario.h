// SPDX-License-Identifier: Apache-2.0
//
// What kind of comparison two dumps and their graphs make, told from their content, and which
// combinations make no sense.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dump.h"
#include "pair/matcher.h"
#include "pair/name_map.h"

namespace plumb::pair {

// The model descriptions the user gave.
struct Graphs {
  std::optional<graph::Graph> target, golden;
  std::optional<graph::Graph> quant;  // of the quantization tool
};

struct Scenario {
  std::string_view name;     // as in options and results
  std::string_view summary;  // one line for the report
  std::string_view profile;  // that judges unless the user names one
};

std::span<const Scenario> scenarios();

// `mode` names a scenario, or is empty to tell it from the content. The error says what to prepare
// instead.
Result<const Scenario*> find_scenario(const dump::DumpSet& target, const dump::DumpSet& golden,
                                      const Graphs& graphs, std::string_view mode);

// What leads tensors of the target to golden ones; nullopt without a graph. Borrows from `graphs`,
// and fills in what the target was made from if only the golden graph can tell.
std::optional<Matcher> make_matcher(Graphs& graphs);

// Outputs of two models that were run to be dumped belong together by their names; those whose name
// the other model does not give, and that structure leads to no output of it, by their place. Only
// what differs from what the matcher says.
NameMap output_pairs(const Matcher& matcher, const graph::Graph& target,
                     const graph::Graph& golden);

}  // namespace plumb::pair
