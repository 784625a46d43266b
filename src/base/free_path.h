// SPDX-License-Identifier: Apache-2.0
//
// Names for results that carry a time stamp: two of the same second must not replace each other.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumb {

// DIRECTORY/STEM.EXTENSION (".csv"), or STEM_1, STEM_2 and so on if that is there already.
std::filesystem::path free_path(const std::filesystem::path& directory, const std::string& stem,
                                std::string_view extension);

std::string local_time_stamp();  // "20260131235959"
std::string utc_time_stamp();

}  // namespace plumb
