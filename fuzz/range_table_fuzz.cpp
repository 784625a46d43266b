// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a table of ranges, in the form of whatever tool.
#include <cmath>
#include <cstdlib>

#include "quant/range_table.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = quant::ranges_from_table(std::as_bytes(std::span(data, size)), "table");
  if (table)
    for (const quant::TableRange& range : table->ranges)
      if (!std::isfinite(range.hi) || (range.lo && !(*range.lo <= range.hi))) std::abort();
  return 0;
}
