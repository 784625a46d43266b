// SPDX-License-Identifier: Apache-2.0
//
// Whole results as text, for tests in which two of them must be the same.
#pragma once

#include <string>
#include <string_view>

#include "result/json_write.h"

namespace plumb::compare {

// But for the time it took.
inline std::string json_of(result::Run run) {
  run.elapsed_s = 0;
  std::string text;
  result::write_json(run, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace plumb::compare
