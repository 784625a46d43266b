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
    : context_(context),
      shown_(is_wanted(options)),
      total_(std::max<int64_t>(total, 1)),
      noun_(noun) {
  if (!shown_) return;
  context_.progress = [this](int64_t bytes) {
    const int64_t done = done_ += bytes;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    int64_t due = next_draw_ms_;
    if (now.count() >= due && next_draw_ms_.compare_exchange_strong(due, now.count() + 100))
      draw(done);
  };
}

ProgressBar::~ProgressBar() {
  if (!shown_) return;
  context_.progress = nullptr;
  if (next_draw_ms_ > 300) std::fputs("\r\033[K", stderr);
}

std::string ProgressBar::amount(double count) const {
  return noun_.empty() ? bytes_text(count) : fmt::format("{:.0f}", count);
}

void ProgressBar::draw(int64_t done) {
  constexpr int kWidth = 30;
  std::lock_guard lock(drawing_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  const auto filled = static_cast<size_t>(share * kWidth);
  const std::string text = fmt::format(
      "\r\033[K[{}{}] {:3.0f} %  {} of {}{}{}  {}/s  {:.0f} s left", std::string(filled, '#'),
      std::string(kWidth - filled, '.'), share * 100, amount(static_cast<double>(done)),
      amount(static_cast<double>(total_)), noun_.empty() ? "" : " ", noun_, amount(rate),
      rate > 0 ? static_cast<double>(std::max<int64_t>(0, total_ - done)) / rate : 0);
  std::fputs(text.c_str(), stderr);  // a terminal that is gone must not end the run
  std::fflush(stderr);
}

}  // namespace plumb::cli
