// SPDX-License-Identifier: Apache-2.0
//
// How Python calls the library: errors become exceptions, work is done without the interpreter's
// lock, Ctrl-C ends it, and a process that was forked is told that it cannot go on.
#pragma once

#include <exception>
#include <functional>
#include <optional>

#include <pybind11/pybind11.h>

#include "plumb/result.h"
#include "plumb/run_context.h"

namespace plumb::python {

namespace py = pybind11;

// An Error on its way to Python, where it is a PlumbError. `result` is what was known so far.
struct Raised {
  Error error;
  py::object result = py::none();
};
void register_errors();

// A number of threads as users give it; 0: one for each core.
int jobs_from(int jobs);

template <class T>
T value_of(Result<T>&& result) {
  if (!result) throw Raised{std::move(result.error())};
  return std::move(*result);
}
inline void value_of(Result<void>&& result) {
  if (!result) throw Raised{std::move(result.error())};
}

// Waits for `job`, which runs on a thread of its own, without the interpreter's lock. Signals are
// handled meanwhile: if a handler raises, as that of Ctrl-C does, the job is cancelled, and when it
// has ended the exception goes on. `progress` is called with what is done now and then; may be
// None.
void wait_for(const std::function<void()>& job, RunContext& context,
              const py::object& progress = py::none());

// The same for a job that gives something.
template <class Job>
auto outside(RunContext& context, Job&& job, const py::object& progress = py::none()) {
  std::optional<decltype(job())> made;
  wait_for([&] { made.emplace(job()); }, context, progress);
  return std::move(*made);
}

}  // namespace plumb::python
