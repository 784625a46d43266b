// SPDX-License-Identifier: Apache-2.0
//
// A plug-in that has been taken over: it says what the file tells it to say, or misbehaves. The
// file is the HDF5 signature, a 64-bit size (all ones: crash; one less: talk for ever), the answer
// of that size to "list", and the answer to "load".
#include <cstdlib>

#include <unistd.h>

#include "base/bytes.h"

extern "C" void plumb_hdf5_serve_1(const void* file, uint64_t size, const char* dataset, int out) {
  const auto* bytes = static_cast<const char*>(file);
  const auto listing = plumb::load_le<uint64_t>(bytes + 8);
  if (listing == ~uint64_t{0}) std::abort();
  while (listing == ~uint64_t{1})
    if (::write(out, bytes, size) < 0) return;
  const char* answer = dataset == nullptr ? bytes + 16 : bytes + 16 + listing;
  uint64_t left = dataset == nullptr ? listing : size - 16 - listing;
  while (left > 0) {
    const ssize_t done = ::write(out, answer, left);
    if (done < 0) return;
    answer += done;
    left -= static_cast<uint64_t>(done);
  }
}
