// SPDX-License-Identifier: Apache-2.0
#include "base/safe_file_name.h"

namespace plumb {

std::string safe_file_name(std::string_view name, std::string_view also_safe) {
  std::string safe(name);
  for (char& c : safe)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          c == '-' || also_safe.find(c) != std::string_view::npos))
      c = '_';
  return safe;
}

}  // namespace plumb
