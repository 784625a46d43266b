// SPDX-License-Identifier: Apache-2.0
#include "base/free_path.h"

#include <ctime>

namespace plumb {
namespace {

std::string stamp_of(std::tm* (*broken_down)(const std::time_t*, std::tm*)) {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  broken_down(&now, &time);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &time)};
}

}  // namespace

std::filesystem::path free_path(const std::filesystem::path& directory, const std::string& stem,
                                std::string_view extension) {
  const std::string end(extension);
  std::filesystem::path path = directory / (stem + end);
  std::error_code ignored;
  // A link that leads nowhere is there, too.
  for (int n = 1; std::filesystem::exists(std::filesystem::symlink_status(path, ignored)); ++n)
    path = directory / (stem + "_" + std::to_string(n) + end);
  return path;
}

std::string local_time_stamp() { return stamp_of(::localtime_r); }

std::string utc_time_stamp() { return stamp_of(::gmtime_r); }

}  // namespace plumb
