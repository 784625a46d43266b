// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_path.h"

#include <algorithm>
#include <vector>

#include "base/nearest.h"

namespace plumb {

std::string did_you_mean_path(const std::filesystem::path& missing) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path unknown = missing;
  for (fs::path above = unknown.parent_path(); !above.empty() && !fs::exists(above, ignored);
       above = unknown.parent_path())
    unknown = above;
  if (const fs::path target = fs::read_symlink(unknown, ignored); !target.empty())
    return "it is a link to '" + target.string() + "': ";
  const fs::path directory = unknown.parent_path();
  constexpr size_t kMost = 10000;  // a larger directory is not worth a message
  std::vector<std::string> names;
  for (fs::directory_iterator at(directory.empty() ? "." : directory, ignored), end;
       at != end && names.size() < kMost; at.increment(ignored))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  const std::string nearest = nearest_name(unknown.filename().string(), names);
  // That both end in .npy makes them no more alike.
  const fs::path found(nearest);
  const std::vector<std::string> stem{found.stem().string()};
  const bool is_near = found.extension() != unknown.extension() ||
                       !nearest_name(unknown.stem().string(), stem).empty();
  return nearest.empty() || !is_near ? ""
                                     : "did you mean '" + (directory / nearest).string() + "'? ";
}

}  // namespace plumb
