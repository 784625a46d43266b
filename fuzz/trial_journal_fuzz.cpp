// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of the journal of a search, and behind a right checksum: what is understood
// is written and read again.
#include <cstdlib>

#include <fmt/format.h>

#include "base/crc32.h"
#include "quant/trial_journal.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& line : {text, fmt::format("{:08x} {}", crc32(0, as_bytes(text)), text)}) {
    const auto known = quant::trial_from(line);
    if (!known) continue;
    std::string again = line_of(*known);
    if (again.empty() || again.back() != '\n') std::abort();
    again.pop_back();
    if (!quant::trial_from(again)) std::abort();
  }
  return 0;
}
