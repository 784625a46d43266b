// SPDX-License-Identifier: Apache-2.0
//
// Lets the HDF5 plug-in, which is not trusted with hostile files, read one in a process of its own:
// a worker that has opened the plug-in forks a child for each request. The child has the file and a
// pipe to answer to; it can open nothing, write to no file, and is stopped when it uses too much
// memory or time. What it answers is hostile input too.
#pragma once

#include "base/worker.h"

namespace plumb::io {

struct SandboxLimits {
  uint64_t memory_bytes = 0;  // address space on top of what the worker has already
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
  // Lists `file`, or sends the elements of one dataset. Workers are kept for the next request.
  static Result<Sandbox> start(const SandboxLimits& limits, Bytes file,
                               const std::optional<std::string>& dataset);

  // Waits for up to `size` bytes of the answer. Fewer mean that it ended, or that time is up.
  size_t read(std::byte* to, size_t size);
  // How the child ended, once `read` has come to the end of its answer. It is killed if it has not.
  SandboxEnd finish();

 private:
  Sandbox(Worker worker, Descriptor in) : worker_(std::move(worker)), in_(std::move(in)) {}

  Worker worker_;
  Descriptor in_;
  bool timed_out_ = false;
};

// The worker's side: answers requests until nobody is there to make them.
Result<void> open_sandbox();  // opens the plug-in
void serve_sandbox(int socket);

}  // namespace plumb::io
