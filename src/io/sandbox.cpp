// SPDX-License-Identifier: Apache-2.0
#include "io/sandbox.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "io/sandbox_messages.h"

namespace plumb::io {
namespace {

// Workers that wait for a request. A child never had a hostile file's bytes in its parent's memory,
// so a worker is as good as new after each.
class Idle {
 public:
  std::optional<Worker> take() {
    const std::lock_guard lock(mutex_);
    if (made_for_ != surroundings()) workers_.clear();
    std::optional<Worker> worker;
    while (!worker && !workers_.empty()) {
      if (workers_.back().is_ours()) worker.emplace(std::move(workers_.back()));
      workers_.pop_back();
    }
    return worker;
  }
  void give(Worker worker) {
    const std::lock_guard lock(mutex_);
    made_for_ = surroundings();
    workers_.push_back(std::move(worker));
  }

 private:
  // What decides which plug-in a worker has opened.
  static std::string surroundings() {
    std::string text;
    for (const char* name : {"PLUMB_WORKER", "PLUMB_PLUGIN_DIR"}) {
      const char* value = std::getenv(name);
      text += std::string(value == nullptr ? "" : value) + "\n";
    }
    return text;
  }

  std::mutex mutex_;
  std::string made_for_;
  std::vector<Worker> workers_;
};

// One list for the program: starting a worker takes longer than most answers.
Idle& idle() {
  static Idle workers;
  return workers;
}

WorkerLimits worker_limits(const SandboxLimits& limits) {
  WorkerLimits worker;
  worker.timeout_seconds = limits.silent_seconds;
  return worker;
}

}  // namespace

Result<Sandbox> Sandbox::start(const SandboxLimits& limits, Bytes file,
                               const std::optional<std::string>& dataset) {
  auto shared = share(file);
  if (!shared) return shared.error();
  FieldWriter request;
  request.number(limits.memory_bytes);
  request.number(uint32_t{limits.cpu_seconds});
  request.number(uint8_t{dataset.has_value()});
  request.text(dataset.value_or(""));
  request.number(shared->offset);
  request.number(shared->size);
  for (std::optional<Worker> worker = idle().take();; worker.reset()) {
    const bool is_new = !worker;
    if (!worker) {
      auto started = Worker::start(std::string(kSandboxService), worker_limits(limits));
      if (!started) return started.error();
      worker.emplace(std::move(*started));
    }
    worker->set_limits(worker_limits(limits));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return Error{"cannot start a process to read the file in",
                   std::string("pipe: ") + std::strerror(errno),
                   "close some programs, or raise the limits shown by `ulimit -a`"};
    Descriptor in(ends[0]);
    const Descriptor out(ends[1]);
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // fewer switches; the usual size serves too
    const int files[] = {shared->file.get(), out.get()};
    // One that waited for long may have been killed by somebody.
    if (worker->send(kSandboxRequest, request.bytes(), files) || is_new)
      return Sandbox(std::move(*worker), std::move(in));
  }
}

size_t Sandbox::read(std::byte* to, size_t size) {
  size_t filled = 0;
  while (filled < size && in_ && !timed_out_) {
    worker_.restart_clock();
    if (!worker_.wait(in_.get(), POLLIN)) {
      timed_out_ = true;
      break;
    }
    const ssize_t got = ::read(in_.get(), to + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

SandboxEnd Sandbox::finish() {
  SandboxEnd end;
  end.timed_out = timed_out_;
  in_.reset();
  Message answer;
  if (!worker_.send(kSandboxFinish, {}, {}) || !worker_.receive(answer)) {
    const WorkerEnd gone = worker_.end();
    end.signal = gone.signal;
    end.status = gone.status;
    end.timed_out |= gone.timed_out;
    return end;
  }
  ByteReader fields(answer.body.bytes);
  end.signal = fields.i32();
  end.status = fields.i32();
  end.timed_out |= end.signal == SIGXCPU;
  idle().give(std::move(worker_));
  return end;
}

}  // namespace plumb::io
