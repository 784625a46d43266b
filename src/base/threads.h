// SPDX-License-Identifier: Apache-2.0
//
// Keeps the parallel loops of a piece of work within the threads that its run may use.
#pragma once

#include <tbb/task_arena.h>

#include "base/run_context.h"

namespace plumb {

// Calls `work()`; all loops inside it share context.jobs threads, this one among them.
template <class Work>
decltype(auto) on_threads_of(const RunContext& context, Work&& work) {
  tbb::task_arena arena(context.jobs > 0 ? context.jobs : tbb::task_arena::automatic);
  return arena.execute(std::forward<Work>(work));
}

}  // namespace plumb
