// SPDX-License-Identifier: Apache-2.0
#include "compare/versions.h"

#include <algorithm>

#include "dump/dump.h"

namespace plumb::compare {
namespace {

// What the converter writes into a model. Others (opset, producer) describe the model itself.
constexpr std::string_view kConverted[] = {"atc_version", "opp_version", "compiler_version",
                                           "soc_version", "arch_type"};

std::string property_of(const std::optional<graph::Graph>& graph, std::string_view key) {
  if (!graph) return {};
  for (const auto& [name, value] : graph->properties)
    if (name == key) return value;
  return {};
}

// "ONNX Runtime" of "ONNX Runtime 1.16.3".
std::string_view name_in(std::string_view engine) {
  return engine.substr(0, std::min(engine.find_first_of("0123456789"), engine.size()));
}

// As the header of a device's dump says.
std::string dump_version(const dump::DumpSet& set) {
  if (!set.traits.is_device) return {};
  for (const dump::Entry& entry : set.entries) {
    if (entry.memory != nullptr || entry.parts.empty()) continue;
    io::ReadHints hints;
    hints.map = set.map;
    const auto file = dump::open_part(set, entry.parts.front(), hints);
    if (!file) return {};
    for (const auto& [name, value] : file->listing.properties)
      if (name == "version") return value;
    return {};
  }
  return {};
}

}  // namespace

std::vector<result::EnvironmentChange> recorded_changes(const SessionState& state) {
  std::vector<result::EnvironmentChange> changes;
  const auto hold = [&](std::string what, std::string target, std::string golden) {
    if (!target.empty() && !golden.empty() && target != golden)
      changes.push_back({std::move(what), std::move(target), std::move(golden)});
  };
  for (const std::string_view key : kConverted)
    hold("model." + std::string(key), property_of(state.graphs.target, key),
         property_of(state.graphs.golden, key));
  // Two engines are no two versions of one.
  std::string target = property_of(state.graphs.target, "engine"),
              golden = property_of(state.graphs.golden, "engine");
  if (name_in(target) == name_in(golden)) hold("dump.engine", std::move(target), std::move(golden));
  if (state.target.traits.is_device && state.golden.traits.is_device)
    hold("dump.version", dump_version(state.target), dump_version(state.golden));
  return changes;
}

}  // namespace plumb::compare
