// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace plumb::cli {

bool ProgressBar::is_wanted(const CommonOptions& options) {
  return !options.quiet && !options.no_progress && ::isatty(STDERR_FILENO) == 1;
}

ProgressBar::ProgressBar(RunContext& context, const CommonOptions& options, int64_t total,
                         std::string_view noun)
    : context_(context), shown_(is_wanted(options)), total_(total), noun_(noun) {
  if (!shown_) return;
  context_.progress = [this](int64_t bytes) {
    done_ += bytes;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    int64_t due = next_draw_ms_;
    if (now.count() < due || !next_draw_ms_.compare_exchange_strong(due, now.count() + 100)) return;
    std::lock_guard lock(drawing_);
    draw();
  };
  ticker_ = std::thread([this] { tick(); });
}

ProgressBar::~ProgressBar() {
  if (!shown_) return;
  context_.progress = nullptr;
  {
    std::lock_guard lock(drawing_);
    is_over_ = true;
  }
  over_.notify_one();
  ticker_.join();
  if (is_drawn_) std::fputs("\r\033[K", stderr);
}

// From the first second on.
void ProgressBar::tick() {
  std::unique_lock lock(drawing_);
  std::chrono::milliseconds pause(1000);
  while (!over_.wait_for(lock, pause, [this] { return is_over_; })) {
    draw();
    pause = std::chrono::milliseconds(500);
  }
}

std::string ProgressBar::amount(double count) const {
  return noun_.empty() ? bytes_text(count) : fmt::format("{:.0f}", count);
}

std::string ProgressBar::text() const {
  constexpr int kWidth = 30;
  const auto done = static_cast<double>(done_), total = static_cast<double>(total_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::string unit = noun_.empty() ? "" : fmt::format(" {}", noun_);
  if (total_ <= 0)
    return done > 0 ? fmt::format("{}{} done, {:.0f} s", amount(done), unit, seconds)
                    : fmt::format("working, {:.0f} s", seconds);
  const double share = std::min(1.0, done / total);
  const auto filled = static_cast<size_t>(share * kWidth);
  const std::string bar = fmt::format("[{}{}] {:3.0f} %  {} of {}{}", std::string(filled, '#'),
                                      std::string(kWidth - filled, '.'), share * 100, amount(done),
                                      amount(total), unit);
  if (done <= 0) return fmt::format("{}  {:.0f} s", bar, seconds);
  const double rate = done / std::max(seconds, 1e-3);
  return fmt::format("{}  {}/s  {:.0f} s left", bar, amount(rate),
                     std::max(0.0, total - done) / rate);
}

// With the lock held.
void ProgressBar::draw() {
  is_drawn_ = true;
  std::fputs(("\r\033[K" + text()).c_str(),
             stderr);  // a terminal that is gone must not end the run
  std::fflush(stderr);
}

}  // namespace plumb::cli
