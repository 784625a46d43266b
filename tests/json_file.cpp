// SPDX-License-Identifier: Apache-2.0
#include "json_file.h"

#include <fstream>

namespace plumb {

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(std::ifstream(path));
}

}  // namespace plumb
