// SPDX-License-Identifier: Apache-2.0
//
// A process of ours for what must not take the program down with it:
// libexec/plumbline/plumb-worker, found relative to the program or library this code is part of
// (PLUMB_WORKER names another one). It is spawned, never forked: a program with threads may use
// this library.
#pragma once

#include <atomic>
#include <optional>

#include "base/message.h"

namespace plumb {

// What a worker may use up.
struct WorkerLimits {
  uint64_t memory_bytes = 0;                     // 0: three quarters of what the machine has
  unsigned timeout_seconds = 600;                // for one answer
  const std::atomic<bool>* cancelled = nullptr;  // set by Ctrl-C: the worker ends at once
};

// Sanitizers reserve terabytes of addresses, so that there is no telling what is too much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsLimited = false;
#elif defined(__has_feature)
inline constexpr bool kMemoryIsLimited =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kMemoryIsLimited = true;
#endif

uint64_t default_worker_memory();  // bytes

struct WorkerEnd {
  int signal = 0;  // that ended it, 0 if none did
  int status = 0;  // it exited with
  bool timed_out = false, cancelled = false;
  bool is_garbled = false;  // it gave an answer that makes no sense
  std::string last_words;   // the last line it wrote
};
std::string text_of_signal(int signal);  // "an invalid memory access (SIGSEGV)"

class Worker {
 public:
  // Starts one that does `service` ("onnxruntime", "hdf5"), and waits until it is ready.
  static Result<Worker> start(const std::string& service, const WorkerLimits& limits);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();  // it is killed

  // False in a process that was forked from the one which started it: there it is of no use.
  bool is_ours() const;
  void set_limits(const WorkerLimits& limits) { limits_ = limits; }
  const std::string& greeting() const { return greeting_; }  // what it said when it was ready

  // Sends a request. False: the worker is gone or useless, `end` says why.
  bool send(uint32_t kind, Bytes body, std::span<const int> files);
  // Waits for a message. Likewise.
  bool receive(Message& answer);
  // Waits until `descriptor` is ready for `events` of poll(2), as long as the limits allow.
  bool wait(int descriptor, short events);
  void restart_clock();  // time counts from now on

  // How it ended; it is killed if it has not.
  WorkerEnd end();

 private:
  Worker() = default;
  bool is_cancelled();
  void listen();  // to what it writes to its standard streams
  void kill_and_wait();

  int process_ = -1;
  int owner_ = -1;  // the process that started it: a fork of that must leave it alone
  Descriptor socket_, output_;
  WorkerLimits limits_;
  int64_t started_ms_ = 0;
  std::string greeting_, said_;
  WorkerEnd end_;
};

// The descriptor by which a worker talks to who started it.
inline constexpr int kWorkerSocket = 3;
inline constexpr uint32_t kReady = 1, kNotReady = 2;  // a worker's first message

}  // namespace plumb
