// SPDX-License-Identifier: Apache-2.0
//
// A plug-in that has been taken over: it says what the file tells it to say, or misbehaves. The
// file is the HDF5 signature, a 64-bit size (all ones: crash; one less: talk for ever), the answer
// of that size to "list", and the answer to "load". A dataset that is called "!..." is an order.
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"

namespace {

void say(int out, const void* data, uint64_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::write(out, at, size);
    if (done <= 0) ::_exit(9);
    at += done;
    size -= static_cast<uint64_t>(done);
  }
}

// What it could do, as a letter for each.
void tell_open(int out) {
  const char told[] = {
      ::open("/proc/self/exe", O_RDONLY) < 0 ? 'n' : 'y',
      ::open("/tmp", O_TMPFILE | O_RDWR, 0600) < 0 ? 'n' : 'y',
      ::dup(out) < 0 ? 'n' : 'y',
  };
  say(out, told, sizeof told);
}

void tell_memory(int out) {
  void* volatile small = std::malloc(16 << 20);
  void* volatile large = std::malloc(256 << 20);
  const char told[] = {small != nullptr ? 'y' : 'n', large != nullptr ? 'y' : 'n'};
  say(out, told, sizeof told);
}

void obey(std::string_view order, const void* file, uint64_t size, int out) {
  volatile bool forever = true;
  if (order == "!echo") say(out, file, size);
  if (order == "!fault") ::raise(SIGSEGV);
  if (order == "!abort") std::abort();
  if (order == "!exit") ::_exit(3);
  while (order == "!spin" && forever) continue;
  if (order == "!close") ::close(out);
  if (order == "!close" || order == "!pause") ::pause();
  if (order == "!open") tell_open(out);
  if (order == "!memory") tell_memory(out);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void plumb_hdf5_serve_1(const void* file,
                                                                          uint64_t size,
                                                                          const char* dataset,
                                                                          int out) {
  if (dataset != nullptr && dataset[0] == '!') return obey(dataset, file, size, out);
  const auto* bytes = static_cast<const char*>(file);
  const auto listing = plumb::load_le<uint64_t>(bytes + 8);
  if (listing == ~uint64_t{0}) std::abort();
  while (listing == ~uint64_t{1})
    if (::write(out, bytes, size) < 0) return;
  if (dataset == nullptr)
    say(out, bytes + 16, listing);
  else
    say(out, bytes + 16 + listing, size - 16 - listing);
}
