// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of the sandbox. The worker has no threads, so it may fork.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/plugin.h"
#include "io/hdf5_records.h"
#include "io/sandbox.h"
#include "io/sandbox_messages.h"

namespace plumb::io {
namespace {

constexpr int kOut = 3;

struct Request {
  uint64_t memory_bytes = 0;
  uint32_t cpu_seconds = 0;
  std::optional<std::string> dataset;
  uint64_t offset = 0, size = 0;
};

Request read_request(Bytes body) {
  ByteReader fields(body);
  Request request;
  request.memory_bytes = fields.u64();
  request.cpu_seconds = fields.u32();
  const bool has_dataset = fields.u8() != 0;
  std::string dataset = read_text(fields);
  if (has_dataset) request.dataset = std::move(dataset);
  request.offset = fields.u64();
  request.size = fields.u64();
  return request;
}

// `grace`: how much further the hard limit is. Processor time needs some, or the signal is a plain
// kill.
void limit(int what, uint64_t value, uint64_t grace = 0) {
  rlimit current;
  if (::getrlimit(static_cast<__rlimit_resource_t>(what), &current) != 0) return;
  current.rlim_max = std::min<rlim_t>(value + grace, current.rlim_max);
  current.rlim_cur = std::min<rlim_t>(value, current.rlim_cur);
  ::setrlimit(static_cast<__rlimit_resource_t>(what), &current);
}

uint64_t used_address_space() {
  unsigned long long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Leaves the child with silent standard streams and `out` as descriptor 3.
void keep_only(int out) {
  const int null = ::open("/dev/null", O_RDWR);
  for (int stream : {0, 1, 2}) ::dup2(null, stream);
  ::dup2(out, kOut);
  if (::close_range(kOut + 1, ~0u, 0) != 0)  // before Linux 5.9
    for (int i = kOut + 1; i < 65536; ++i) ::close(i);
}

[[noreturn]] void be_the_child(hdf5::Serve serve, const Request& request, int file, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto bytes = map_shared(file, request.offset, request.size);
  if (!bytes) ::raise(SIGBUS);  // as if it had shrunk a moment later
  const uint64_t used = used_address_space();
  keep_only(out);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_CPU, request.cpu_seconds, 2);
  if (kMemoryIsLimited) limit(RLIMIT_AS, used + request.memory_bytes);
  serve(bytes->bytes.data(), bytes->bytes.size(),
        request.dataset ? request.dataset->c_str() : nullptr, kOut);
  ::_exit(0);
}

// Everything is bound when it is opened: the sandbox opens nothing.
Result<void*> plugin() {
  return open_plugin(
      {hdf5::kPluginFile, hdf5::kServeSymbol, "read HDF5", "libhdf5-dev", "-DPLUMB_HDF5=ON"});
}

}  // namespace

Result<void> open_sandbox() {
  auto opened = plugin();
  return opened ? Result<void>() : opened.error();
}

void serve_sandbox(int socket) {
  const auto function = plugin();
  if (!function) return;
  const auto serve = reinterpret_cast<hdf5::Serve>(*function);
  for (Message request; receive_message(socket, request, wait_for_ever);) {
    if (request.kind != kSandboxRequest || request.files.size() != 2) return;
    const Request read = read_request(request.body.bytes);
    const pid_t child = ::fork();
    if (child == 0) be_the_child(serve, read, request.files[0].get(), request.files[1].get());
    request.files.clear();
    Message finish;
    const bool is_asked = receive_message(socket, finish, wait_for_ever);
    // The answer ends when the child does; a signal cannot change how any more. It is for a child
    // that has closed the pipe to keep us waiting.
    int status = 0;
    if (child > 0) ::kill(child, SIGKILL);
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    FieldWriter end;
    end.number(int32_t{WIFSIGNALED(status) ? WTERMSIG(status) : 0});
    end.number(int32_t{child < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 0});
    if (!is_asked || !send_message(socket, kSandboxFinish, end.bytes(), {}, wait_for_ever)) return;
  }
}

}  // namespace plumb::io
