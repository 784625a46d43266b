// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an archive of calibration data. No file in it is larger than the archive can hold.
#include <cstdlib>

#include "input/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const auto entries = input::list_archive(std::as_bytes(std::span(data, size)));
  if (!entries) {
    if (entries.error().what.empty() || entries.error().where.empty()) std::abort();
    return 0;
  }
  for (const input::ArchiveEntry& entry : *entries)
    if (entry.size_bytes > (size + 64) * 1100) std::abort();
  return 0;
}
