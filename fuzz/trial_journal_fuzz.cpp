// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of the journal of a search: what is understood is written and read again.
#include <cstdlib>

#include "quant/trial_journal.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto known = quant::trial_from({reinterpret_cast<const char*>(data), size});
  if (known && !quant::trial_from(line_of(*known))) std::abort();
  return 0;
}
