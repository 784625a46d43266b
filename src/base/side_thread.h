// SPDX-License-Identifier: Apache-2.0
//
// A thread that does one thing at a time for its owner and sleeps in between: for work that mostly
// waits, as for another process, where threads of the pool would look for more to do all the time.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace plumb {

class SideThread {
 public:
  SideThread() : thread_([this] { serve(); }) {}
  ~SideThread() {
    hand_over({}, true);
    thread_.join();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void start(std::function<void()> work) { hand_over(std::move(work), false); }

  // Until what was started is done. What it threw is thrown here.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !work_; });
    if (const auto thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  void hand_over(std::function<void()> work, bool is_last) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !work_; });
    work_ = std::move(work);
    is_over_ = is_last;
    changed_.notify_all();
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return work_ || is_over_; });
      if (!work_) return;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work_();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      thrown_ = thrown;
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // being done
  std::exception_ptr thrown_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace plumb
