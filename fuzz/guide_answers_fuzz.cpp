// SPDX-License-Identifier: Apache-2.0
//
// Answers files: whatever they hold, they are answers or an error; what was read is written and
// read again alike.
#include <cstdlib>

#include "guide/answers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto answers = plumb::guide::answers_from_toml({reinterpret_cast<const char*>(data), size});
  if (!answers) return 0;
  const auto again = plumb::guide::answers_from_toml(plumb::guide::to_toml(*answers));
  if (!again || again->all() != answers->all()) std::abort();
  return 0;
}
