// SPDX-License-Identifier: Apache-2.0
//
// Pairs of operators that only the user knows: `--map FILE`, a CSV of "target,golden" lines or a
// TOML table of them.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>

#include "dump/dump.h"

namespace plumb::compare {

// Golden operators by target operator. Errors name file and line.
using NameMap = std::unordered_map<std::string, std::string>;
Result<NameMap> load_name_map(const std::filesystem::path& path);
Result<NameMap> parse_name_map_csv(std::string_view text);
Result<NameMap> parse_name_map_toml(std::string_view text);

// An operator that the map names and the dump does not have is a mistake in the map.
Result<void> check_name_map(const NameMap& map, const dump::DumpSet& target,
                            const dump::DumpSet& golden);

}  // namespace plumb::compare
