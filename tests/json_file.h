// SPDX-License-Identifier: Apache-2.0
//
// Reading JSON in tests. The parser is a large template; it is compiled once, here.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

namespace plumb {

// The content of a file that the tests bring along; throws if it is not JSON.
nlohmann::json read_json(const std::filesystem::path& path);

}  // namespace plumb
