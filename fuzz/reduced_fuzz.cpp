// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a reduced dump file, with the sketches in it. Its reader takes a path, so the bytes
// go through a file in memory.
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "dump/reduced.h"
#include "metrics/sketch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("reduced", 0);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) __builtin_trap();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto reduced = plumb::dump::read_reduced(path);
  if (!reduced && (reduced.error().what.empty() || reduced.error().where.empty())) __builtin_trap();
  if (reduced)
    for (const auto& tensor : reduced->tensors) {
      if (tensor.full) plumb::recorded_from(*tensor.full);
      if (!tensor.has_sketch) continue;
      if (const auto bytes = plumb::dump::read_sketch(path, tensor.slot))
        if (const auto sketch = plumb::metrics::sketch_from_bytes(*bytes))
          plumb::metrics::estimate(*sketch, *sketch);
    }
  ::close(file);
  return 0;
}
