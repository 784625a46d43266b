// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace plumb::python {
namespace {

using namespace std::chrono_literals;

// The library's threads are not there any more in a process that was forked after they started:
// whoever waits for one of them waits for ever.
void check_process() {
  static std::atomic<pid_t> first{0};
  pid_t known = 0;
  const pid_t own = ::getpid();
  if (first.compare_exchange_strong(known, own) || known == own) return;
  throw Raised{{"Plumbline was used before this process was forked",
                fmt::format("process {}, forked from {}", own, known),
                "start processes with multiprocessing.get_context('spawn'), or use Plumbline in "
                "the child only"}};
}

}  // namespace

void register_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      const py::object type = py::module_::import("plumbline._errors").attr("PlumbError");
      py::object error =
          type(raised.error.what, raised.error.where, raised.error.remedy, raised.result);
      PyErr_SetObject(type.ptr(), error.ptr());
    }
  });
}

int jobs_from(int jobs) {
  if (jobs >= 0) return jobs;
  throw Raised{{"there cannot be so few threads", fmt::format("jobs={}", jobs),
                "leave it out, or give 0, for one on each core"}};
}

void wait_for(const std::function<void()>& job, RunContext& context, const py::object& progress) {
  check_process();
  std::mutex guard;
  std::condition_variable ended;
  bool is_over = false;
  std::exception_ptr thrown, raised;
  std::atomic<int64_t> done{0};
  if (!progress.is_none()) context.progress = [&](int64_t bytes) { done += bytes; };
  {
    py::gil_scoped_release released;
    std::thread worker([&] {
      try {
        job();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(guard);
      is_over = true;
      ended.notify_one();
    });
    std::unique_lock lock(guard);
    while (!ended.wait_for(lock, 50ms, [&] { return is_over; })) {
      if (raised) continue;
      lock.unlock();
      {
        py::gil_scoped_acquire acquired;
        try {
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
          if (!progress.is_none()) progress(done.load());
        } catch (...) {
          raised = std::current_exception();
          context.cancelled = true;
        }
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  context.progress = nullptr;
  if (raised) std::rethrow_exception(raised);
  if (thrown) std::rethrow_exception(thrown);
  if (!progress.is_none()) progress(done.load());
}

}  // namespace plumb::python
