// SPDX-License-Identifier: Apache-2.0
//
// Keeps the parallel loops of a piece of work within the threads that its run may use.
#pragma once

#include <algorithm>

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include "plumb/run_context.h"

namespace plumb {

// Calls `work()`; all loops inside it share context.jobs threads, this one among them.
template <class Work>
decltype(auto) on_threads_of(const RunContext& context, Work&& work) {
  const int cores = tbb::info::default_concurrency();
  tbb::task_arena arena(context.jobs > 0 ? std::min(context.jobs, cores) : cores);
  return arena.execute(std::forward<Work>(work));
}

}  // namespace plumb
