// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of the journal of an evaluation: what is understood is written and read
// again.
#include <cstdlib>

#include "replay/eval_outcome.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto facts = replay::facts_from(line, 1))
    if (!replay::facts_from(line_of(*facts), 1)) std::abort();
  if (const auto outcome = replay::outcome_from(line, 10, 1))
    if (!replay::outcome_from(line_of(*outcome), 10, 1)) std::abort();
  return 0;
}
