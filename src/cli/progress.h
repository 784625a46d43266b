// SPDX-License-Identifier: Apache-2.0
//
// A bar on stderr with rate and time left; only if stderr is a terminal and nobody asked for quiet.
// It moves on by itself, too: one long step must not look like a program that hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "cli/command.h"
#include "report/text.h"

namespace plumb::cli {

using report::bytes_text;
using report::counted;

class ProgressBar {
 public:
  // Hooks itself into `context` until it goes out of scope. Counts bytes, or what `noun` says. A
  // total of 0 is not known: only the time goes on.
  ProgressBar(RunContext& context, const CommonOptions& options, int64_t total,
              std::string_view noun = {});
  static bool is_wanted(const CommonOptions& options);  // and stderr is a terminal
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  void tick();  // in its own thread
  std::string text() const;
  std::string amount(double count) const;

  RunContext& context_;
  bool shown_;
  int64_t total_;
  std::string_view noun_;
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> next_draw_ms_{300};  // a run that is over by then shows no bar
  std::mutex drawing_;
  bool is_drawn_ = false, is_over_ = false;
  std::condition_variable over_;
  Clock::time_point start_ = Clock::now();
  std::thread ticker_;
};

}  // namespace plumb::cli
