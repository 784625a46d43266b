// SPDX-License-Identifier: Apache-2.0
//
// Pairs that only the user knows: `--map FILE`, a CSV of "target,golden" lines or a TOML table of
// them, for whole operators or for single tensors. `--save-map` writes such a file.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/dump.h"

namespace plumb::pair {

struct TensorName {
  std::string op;
  dump::Slot slot;
  bool operator==(const TensorName&) const = default;
};
std::string tensor_text(std::string_view op, const dump::Slot& slot);  // "conv1 output:0"

struct NameMap {
  std::unordered_map<std::string, std::string> operators;  // golden by target operator
  std::unordered_map<std::string, TensorName> tensors;     // golden by tensor_text() of target
  std::set<std::string> tensor_operators = {};             // of target, that these are of
  bool empty() const { return operators.empty() && tensors.empty(); }
};
// Errors name file and line.
Result<NameMap> load_name_map(const std::filesystem::path& path);
Result<NameMap> parse_name_map_csv(std::string_view text);
Result<NameMap> parse_name_map_toml(std::string_view text);

// Pairs as a map of tensors that load_name_map reads.
using TensorPair = std::pair<TensorName, TensorName>;  // target and golden
std::string name_map_csv(const std::vector<TensorPair>& pairs);
Result<void> save_name_map(const std::vector<TensorPair>& pairs, const std::filesystem::path& path);

// An operator that the map names and the dump does not have is a mistake in the map.
Result<void> check_name_map(const NameMap& map, const dump::DumpSet& target,
                            const dump::DumpSet& golden);

}  // namespace plumb::pair
