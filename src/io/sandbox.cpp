// SPDX-License-Identifier: Apache-2.0
#include "io/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plumb::io {
namespace {

// `grace`: how much further the hard limit is. Processor time needs some, or the signal is a plain
// kill.
void limit(int what, uint64_t value, uint64_t grace = 0) {
  rlimit current;
  if (::getrlimit(static_cast<__rlimit_resource_t>(what), &current) != 0) return;
  current.rlim_max = std::min<rlim_t>(value + grace, current.rlim_max);
  current.rlim_cur = std::min<rlim_t>(value, current.rlim_cur);
  ::setrlimit(static_cast<__rlimit_resource_t>(what), &current);
}

// Address space in use now; the child starts with all of its parent's.
uint64_t used_address_space() {
  unsigned long long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Leaves the child with silent standard streams and `out` as descriptor 3. Closing everything else
// keeps it away from our files, and from the pipes of its siblings, whose readers wait for the end.
int keep_only(int out) {
  out = ::fcntl(out, F_DUPFD, 4);
  const int null = ::open("/dev/null", O_RDWR);
  for (int stream : {0, 1, 2}) ::dup2(null, stream);
  ::dup2(out, 3);
  if (::close_range(4, ~0u, 0) != 0)  // before Linux 5.9
    for (int i = 4; i < 65536; ++i) ::close(i);
  return 3;
}

[[noreturn]] void be_the_child(const SandboxLimits& limits, int out,
                               const std::function<void(int)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The program's handlers repair or report for the program; here a fault must end the child.
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT,
                     SIGPIPE, SIGXCPU, SIGALRM})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  const uint64_t used = used_address_space();
  out = keep_only(out);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds, 2);
  if (kMemoryIsLimited) limit(RLIMIT_AS, used + limits.memory_bytes);
  work(out);
  ::_exit(0);
}

}  // namespace

Result<Sandbox> Sandbox::start(const SandboxLimits& limits,
                               const std::function<void(int out)>& work) {
  const auto refuse = [](const char* call) {
    return Error{"cannot start a process to read the file in",
                 std::string(call) + ": " + std::strerror(errno),
                 "close some programs, or raise the limits shown by `ulimit -a`"};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return refuse("pipe");
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // fewer switches; the usual size serves too
  const pid_t child = ::fork();
  if (child == 0) be_the_child(limits, ends[1], work);
  const Error failure = refuse("fork");
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return failure;
  }
  return Sandbox(child, ends[0], limits.silent_seconds);
}

Sandbox::Sandbox(Sandbox&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      in_(std::exchange(other.in_, -1)),
      silent_seconds_(other.silent_seconds_),
      timed_out_(other.timed_out_) {}

Sandbox::~Sandbox() { finish(); }

void Sandbox::kill_child() { ::kill(child_, SIGKILL); }

size_t Sandbox::read(std::byte* to, size_t size) {
  size_t filled = 0;
  while (filled < size && in_ >= 0 && !timed_out_) {
    pollfd wait{in_, POLLIN, 0};
    const int ready =
        ::poll(&wait, 1, static_cast<int>(std::min(silent_seconds_, 1'000'000u) * 1000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      timed_out_ = true;
      kill_child();
      break;
    }
    const ssize_t got = ::read(in_, to + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

SandboxEnd Sandbox::finish() {
  SandboxEnd end;
  if (in_ >= 0) ::close(in_);
  in_ = -1;
  if (child_ > 0) {
    // The answer ends when the child does; a signal cannot change how any more. It is for a child
    // that has closed the pipe to keep us waiting.
    kill_child();
    int status = 0;
    pid_t waited;
    do {
      waited = ::waitpid(child_, &status, 0);
    } while (waited < 0 && errno == EINTR);
    // A host program that ignores SIGCHLD leaves nothing to wait for; the answer then decides
    // alone.
    if (waited == child_ && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (waited == child_ && WIFEXITED(status)) end.status = WEXITSTATUS(status);
  }
  child_ = -1;
  end.timed_out = timed_out_ || end.signal == SIGXCPU;
  return end;
}

}  // namespace plumb::io
