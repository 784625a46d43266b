// SPDX-License-Identifier: Apache-2.0
#include "base/simd.h"

#include <cstdlib>
#include <string_view>

namespace plumb {

bool simd_allowed() {
  static const bool allowed = [] {
    const char* wish = std::getenv("PLUMB_SIMD");
    return wish == nullptr || std::string_view(wish) != "scalar";
  }();
  return allowed;
}

}  // namespace plumb
