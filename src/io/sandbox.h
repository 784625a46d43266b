// SPDX-License-Identifier: Apache-2.0
//
// Runs code that is not trusted with hostile input in a forked child. The child inherits our
// memory, so nothing has to be copied to it, and answers through one pipe; it can open nothing,
// write to no file, and is stopped when it uses too much memory or time. What it answers is hostile
// input too.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::io {

// Sanitizers reserve terabytes of addresses, so that there is no telling what is too much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsLimited = false;
#elif defined(__has_feature)
inline constexpr bool kMemoryIsLimited =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kMemoryIsLimited = true;
#endif

struct SandboxLimits {
  uint64_t memory_bytes = 0;  // address space on top of what the program has already
  unsigned cpu_seconds = 0;
  unsigned silent_seconds = 0;  // how long it may say nothing; longer is a deadlock
};

struct SandboxEnd {
  int signal = 0;  // that ended the child, 0 if none did
  int status = 0;  // it exited with
  bool timed_out = false;
  bool ok() const { return signal == 0 && status == 0 && !timed_out; }
};

class Sandbox {
 public:
  // Forks; the child runs `work` with the descriptor to answer to, and exits. Everything `work`
  // needs is loaded before: it cannot open files. It runs alone, so it must not wait for other
  // threads.
  static Result<Sandbox> start(const SandboxLimits& limits,
                               const std::function<void(int out)>& work);
  Sandbox(Sandbox&& other) noexcept;
  Sandbox& operator=(Sandbox&&) = delete;
  ~Sandbox();  // a child that still runs is killed

  // Waits for up to `size` bytes of the answer. Fewer mean that it ended, or that time is up.
  size_t read(std::byte* to, size_t size);
  // How the child ended, once `read` has come to the end of its answer.
  SandboxEnd finish();

 private:
  Sandbox(int child, int in, unsigned silent_seconds)
      : child_(child), in_(in), silent_seconds_(silent_seconds) {}
  void kill_child();

  int child_;  // -1 once it was waited for
  int in_;
  unsigned silent_seconds_;
  bool timed_out_ = false;
};

}  // namespace plumb::io
