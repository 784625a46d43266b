// SPDX-License-Identifier: Apache-2.0
//
// Progress of a job that counts its own units, samples or cases, and not the tensors that the work
// inside would count.
#pragma once

#include <utility>

#include "plumb/run_context.h"

namespace plumb::replay {

// Takes the progress of the context for as long as it lives.
class InnerProgress {
 public:
  explicit InnerProgress(RunContext& context)
      : context_(context), progress_(std::exchange(context.progress, nullptr)) {}
  ~InnerProgress() { context_.progress = std::move(progress_); }
  InnerProgress(const InnerProgress&) = delete;
  InnerProgress& operator=(const InnerProgress&) = delete;

  void advance() const {
    if (progress_) progress_(1);
  }

 private:
  RunContext& context_;
  std::function<void(int64_t)> progress_;
};

}  // namespace plumb::replay
