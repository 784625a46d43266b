// SPDX-License-Identifier: Apache-2.0
#include "base/worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "libexec/plumbline/plumb-worker";
constexpr size_t kMostSaid = 4096;    // bytes that are remembered
constexpr int64_t kLookEveryMs = 50;  // at `cancelled`

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Beside bin/ or lib/, also of a lib/x86_64-linux-gnu/; in a Python package. What this code is part
// of comes first: the program may be an interpreter with another plumb beside it.
Result<fs::path> find_program() {
  std::vector<fs::path> places;
  if (const char* named = std::getenv("PLUMB_WORKER")) {
    places.emplace_back(named);
  } else {
    std::error_code ignored;
    Dl_info module;
    const bool known =
        ::dladdr(reinterpret_cast<const void*>(&default_worker_memory), &module) != 0;
    for (const fs::path& file : {fs::path(known && module.dli_fname ? module.dli_fname : ""),
                                 fs::read_symlink("/proc/self/exe", ignored)})
      for (const char* up : {"..", "../..", "."})
        if (file.has_parent_path())
          places.push_back((file.parent_path() / up / kProgram).lexically_normal());
  }
  std::string tried;
  for (const fs::path& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return Error{"the program that runs models and reads HDF5 was not found", "tried " + tried,
               "install plumb-worker with plumb, or name it by PLUMB_WORKER"};
}

struct Spawn {
  posix_spawnattr_t how;
  posix_spawn_file_actions_t files;
  Spawn() {
    ::posix_spawnattr_init(&how);
    ::posix_spawn_file_actions_init(&files);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&how);
  }
};

// With `socket` as descriptor 3, `output` for all it prints, and nothing else of ours.
int spawn(const fs::path& program, const std::string& service, uint64_t memory_bytes, int socket,
          int output, int& process) {
  Spawn spawn;
  sigset_t signals;
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&spawn.how, &signals);
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&spawn.how, &signals);
  ::posix_spawnattr_setflags(&spawn.how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&spawn.files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&spawn.files, output, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&spawn.files, socket, kWorkerSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&spawn.files, kWorkerSocket + 1);
  const std::string memory = std::to_string(memory_bytes);
  const char* const words[] = {"plumb-worker", service.c_str(), memory.c_str(), nullptr};
  return ::posix_spawn(&process, program.c_str(), &spawn.files, &spawn.how,
                       const_cast<char* const*>(words), environ);
}

Error cannot_start(const char* call, int code) {
  return {"cannot start a process to work in", std::string(call) + ": " + std::strerror(code),
          "close some programs, or raise the limits shown by `ulimit -a`"};
}

// Descriptors that the actions of `spawn` do not overwrite before they have used them.
Descriptor lifted(int value) {
  const Descriptor low(value);
  return Descriptor(::fcntl(value, F_DUPFD_CLOEXEC, 16));
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  text = text.substr(text.rfind('\n') + 1);
  text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::string(text.substr(0, 300));
}

}  // namespace

uint64_t default_worker_memory() {
  uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const char* limit :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (uint64_t value = 0; std::ifstream(limit) >> value) bytes = std::min(bytes, value);
  return bytes / 4 * 3;
}

std::string text_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV: return "an invalid memory access (SIGSEGV)";
    case SIGBUS: return "an access to memory that is not there (SIGBUS)";
    case SIGFPE: return "an invalid division (SIGFPE)";
    case SIGILL: return "an instruction that this processor does not have (SIGILL)";
    case SIGABRT: return "it gave itself up (SIGABRT)";
    case SIGKILL: return "it was killed, perhaps for lack of memory (SIGKILL)";
    case SIGTERM: return "somebody ended it (SIGTERM)";
    case SIGXCPU: return "it used up its processor time (SIGXCPU)";
    default: return fmt::format("signal {}", signal);
  }
}

Result<Worker> Worker::start(const std::string& service, const WorkerLimits& limits) {
  auto program = find_program();
  if (!program) return program.error();
  int ends[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return cannot_start("socketpair", errno);
  Worker worker;
  worker.socket_ = Descriptor(ends[0]);
  Descriptor theirs = lifted(ends[1]);
  if (::pipe2(pipe, O_CLOEXEC) != 0) return cannot_start("pipe", errno);
  worker.output_ = Descriptor(pipe[0]);
  Descriptor output = lifted(pipe[1]);
  if (!theirs || !output) return cannot_start("fcntl", errno);
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  const uint64_t memory = limits.memory_bytes == 0 ? default_worker_memory() : limits.memory_bytes;
  if (const int error =
          spawn(*program, service, memory, theirs.get(), output.get(), worker.process_);
      error != 0) {
    worker.process_ = -1;
    return Error{"the program that runs models and reads HDF5 does not start",
                 program->string() + ": " + std::strerror(error), "install plumb again"};
  }
  worker.owner_ = ::getpid();
  worker.limits_ = limits;
  worker.restart_clock();
  theirs.reset();
  output.reset();
  Message hello;
  if (!worker.receive(hello)) {
    const WorkerEnd end = worker.end();
    if (end.cancelled) return Error{"interrupted", service, "run the command again"};
    return Error{"the program that runs models and reads HDF5 does not start",
                 fmt::format("{}: {}{}", program->string(),
                             end.timed_out     ? "it does not answer"
                             : end.is_garbled  ? "it is no worker of plumb"
                             : end.signal != 0 ? text_of_signal(end.signal)
                                               : fmt::format("exit status {}", end.status),
                             end.last_words.empty() ? "" : "; " + end.last_words),
                 "install plumb again, or name a worker by PLUMB_WORKER"};
  }
  ByteReader fields(hello.body.bytes);
  if (const std::string version = read_text(fields); version != PLUMB_VERSION)
    return Error{
        "plumb-worker is of another version",
        fmt::format("{} is {}, the program is {}", program->string(), version, PLUMB_VERSION),
        "install plumb again"};
  if (hello.kind != kReady) return read_error(fields);
  worker.greeting_ = read_text(fields);
  return worker;
}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      owner_(other.owner_),
      socket_(std::move(other.socket_)),
      output_(std::move(other.output_)),
      limits_(other.limits_),
      started_ms_(other.started_ms_),
      greeting_(std::move(other.greeting_)),
      said_(std::move(other.said_)),
      end_(std::move(other.end_)) {}

Worker::~Worker() { kill_and_wait(); }

bool Worker::is_ours() const { return process_ >= 0 && owner_ == ::getpid(); }

bool Worker::is_cancelled() {
  end_.cancelled = limits_.cancelled != nullptr && *limits_.cancelled;
  return end_.cancelled;
}

void Worker::restart_clock() { started_ms_ = now_ms(); }

bool Worker::send(uint32_t kind, Bytes body, std::span<const int> files) {
  if (!is_ours() || is_cancelled()) return false;
  restart_clock();
  return send_message(socket_.get(), kind, body, files,
                      [this](int socket, short events) { return wait(socket, events); });
}

bool Worker::receive(Message& answer) {
  if (!is_ours()) return false;
  const bool received = receive_message(
      socket_.get(), answer, [this](int socket, short events) { return wait(socket, events); });
  // Who closes its end has ended; who does not has said something else than a message.
  if (!received && !end_.timed_out && !end_.cancelled) {
    pollfd socket{socket_.get(), POLLRDHUP, 0};
    end_.is_garbled = ::poll(&socket, 1, 0) == 0;
  }
  return received;
}

bool Worker::wait(int descriptor, short events) {
  while (true) {
    if (is_cancelled()) return false;
    const int64_t left = started_ms_ + int64_t{1000} * limits_.timeout_seconds - now_ms();
    if (left <= 0) {
      end_.timed_out = true;
      return false;
    }
    pollfd both[] = {{descriptor, events, 0}, {output_.get(), POLLIN, 0}};
    const auto patience = static_cast<int>(std::min(left, kLookEveryMs));
    if (::poll(both, output_ ? 2 : 1, patience) < 0 && errno != EINTR) return false;
    if (output_ && both[1].revents != 0) listen();
    if (both[0].revents != 0) return true;
  }
}

void Worker::listen() {
  char piece[4096];
  const ssize_t got = ::read(output_.get(), piece, sizeof piece);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return output_.reset();
  said_.append(piece, static_cast<size_t>(got));
  if (said_.size() > kMostSaid) said_.erase(0, said_.size() - kMostSaid);
}

WorkerEnd Worker::end() {
  kill_and_wait();
  for (pollfd more{output_.get(), POLLIN, 0}; output_ && ::poll(&more, 1, 0) > 0;) listen();
  end_.last_words = last_line(said_);
  return end_;
}

void Worker::kill_and_wait() {
  if (!is_ours()) return;
  // One that has closed its end is about to end by itself, and how it does that is worth knowing.
  pollfd socket{socket_.get(), POLLRDHUP, 0};
  const bool is_ending = ::poll(&socket, 1, 0) > 0;
  int status = 0;
  pid_t waited = 0;
  for (int i = 0; is_ending && waited == 0 && i < 200; ++i) {
    waited = ::waitpid(process_, &status, WNOHANG);
    if (waited == 0) ::poll(nullptr, 0, 5);
  }
  if (waited == 0) {
    ::kill(process_, SIGKILL);
    do {
      waited = ::waitpid(process_, &status, 0);
    } while (waited < 0 && errno == EINTR);
  }
  // A host program that ignores SIGCHLD leaves nothing to wait for.
  if (waited == process_ && WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  if (waited == process_ && WIFEXITED(status)) end_.status = WEXITSTATUS(status);
  process_ = -1;
  socket_.reset();
}

}  // namespace plumb
