// SPDX-License-Identifier: Apache-2.0
//
// plumb-worker: the process that engines and the HDF5 library work in. The program starts it (see
// base/worker.h) as `plumb-worker SERVICE MEMORY_BYTES`, with a socket to talk by.
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/worker.h"
#include "engine/worker/serve.h"
#include "io/sandbox.h"
#include "io/sandbox_messages.h"

namespace plumb {
namespace {

void limit_memory(std::string_view bytes) {
  rlimit limit;
  uint64_t value = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  if (!kMemoryIsLimited || value == 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
}

// Nothing is left behind, and if memory runs out it is this process that ends.
void be_expendable() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  ::signal(SIGINT, SIG_IGN);  // the program decides what Ctrl-C means
}

// Engines ask for their tensors anew in each run, and the system would hand them out page by page.
void keep_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 256 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

// An engine that computes for long must not outlive the program.
void end_with_parent() {
  std::thread([parent = ::getppid()] {
    pollfd socket{kWorkerSocket, POLLRDHUP, 0};
    while (::getppid() == parent && ::poll(&socket, 1, 1000) <= 0) continue;
    ::_exit(0);
  }).detach();
}

bool tell(const Result<std::string>& ready) {
  FieldWriter hello;
  hello.text(PLUMB_VERSION);
  if (ready)
    hello.text(*ready);
  else
    write_error(hello, ready.error());
  return send_message(kWorkerSocket, ready ? kReady : kNotReady, hello.bytes(), {},
                      wait_for_ever) &&
         ready;
}

int serve(const std::string& service) {
  if (service == io::kSandboxService) {
    auto opened = io::open_sandbox();
    if (!tell(opened ? Result<std::string>(service) : opened.error())) return 1;
    io::serve_sandbox(kWorkerSocket);
    return 0;
  }
  keep_memory();
  auto engine = engine::open_engine(service);
  if (!tell(engine ? Result<std::string>((*engine)->version()) : engine.error())) return 1;
  end_with_parent();
  engine::serve_engine(**engine, kWorkerSocket);
  return 0;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  struct stat status;
  if (argc != 3 || ::fstat(plumb::kWorkerSocket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    constexpr std::string_view kUsage = "plumb-worker is started by plumb, not by hand\n";
    return ::write(STDERR_FILENO, kUsage.data(), kUsage.size()) < 0 ? 3 : 2;
  }
  // How it ends is told by the signal, also where a sanitizer has handlers of its own.
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(fatal, SIG_DFL);
  plumb::be_expendable();
  plumb::limit_memory(argv[2]);
  const int status_of = plumb::serve(argv[1]);
  ::_exit(status_of);  // engines' destructors have nothing to add
}
