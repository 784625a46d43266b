// SPDX-License-Identifier: Apache-2.0
//
// The loop over numbered pieces of work that may run at the same time.
#pragma once

#include <cstddef>

#include <tbb/parallel_for.h>

namespace plumb {

// Calls work(i) for every i < count, on all cores. Each call writes to its own place, so that the
// result does not depend on threads.
template <class Work>
void for_each_index(size_t count, Work&& work) {
  tbb::parallel_for(size_t{0}, count, work);
}

}  // namespace plumb
