// SPDX-License-Identifier: Apache-2.0
//
// The bar on a real terminal: it shows by itself that something goes on, counts what it is told,
// and leaves an empty line behind. Anywhere else it writes nothing.
#include "cli/progress.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

namespace plumb::cli {
namespace {

constexpr int kPatienceMs = 60000;  // for a busy machine; a bar comes after a second

constexpr std::string_view kNoTerminals = "no pseudo-terminal can be opened here (/dev/pts)";

// stderr is a terminal while it lives.
class Terminal {
 public:
  Terminal() : kept_(::dup(STDERR_FILENO)) {
    int slave = -1;
    if (::openpty(&master_, &slave, nullptr, nullptr, nullptr) != 0) return;
    ::dup2(slave, STDERR_FILENO);
    ::close(slave);
  }
  ~Terminal() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    ::close(master_);
  }
  bool is_there() const { return master_ >= 0; }
  // All that was written until it holds `text`, or nothing more comes for long.
  std::string until(std::string_view text) {
    pollfd waiting{master_, POLLIN, 0};
    while (seen_.find(text) == seen_.npos && ::poll(&waiting, 1, kPatienceMs) == 1) {
      char some[512];
      const ssize_t size = ::read(master_, some, sizeof some);
      if (size <= 0) break;
      seen_.append(some, static_cast<size_t>(size));
    }
    return seen_;
  }

 private:
  int kept_, master_ = -1;
  std::string seen_;
};

TEST(ProgressBar, GoesOnByItself) {
  Terminal terminal;
  if (!terminal.is_there()) GTEST_SKIP() << kNoTerminals;
  RunContext context;
  {
    ProgressBar bar(context, {}, 0);
    EXPECT_NE(terminal.until("working, ").find("working, "), std::string::npos);
    context.advance(1500000000);
    EXPECT_NE(terminal.until(" done, ").find("1.5 GB done, "), std::string::npos);
  }
  EXPECT_FALSE(context.progress);
  std::fputs("end", stderr);
  EXPECT_TRUE(terminal.until("end").ends_with("\r\033[Kend"));
}

TEST(ProgressBar, CountsWhatItIsTold) {
  Terminal terminal;
  if (!terminal.is_there()) GTEST_SKIP() << kNoTerminals;
  RunContext context;
  ProgressBar bar(context, {}, 4, "samples");
  EXPECT_NE(terminal.until("0 of 4 samples").find("[..............................]   0 %"),
            std::string::npos);
  context.advance(2);
  EXPECT_NE(terminal.until("2 of 4 samples").find("[###############...............]  50 %"),
            std::string::npos);
}

TEST(ProgressBar, QuietOrElsewhereWritesNothing) {
  {
    Terminal terminal;
    if (!terminal.is_there()) GTEST_SKIP() << kNoTerminals;
    CommonOptions quiet;
    quiet.quiet = true;
    EXPECT_FALSE(ProgressBar::is_wanted(quiet));
    CommonOptions without;
    without.no_progress = true;
    EXPECT_FALSE(ProgressBar::is_wanted(without));
    EXPECT_TRUE(ProgressBar::is_wanted({}));
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int kept = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  EXPECT_FALSE(ProgressBar::is_wanted({}));
  ::dup2(kept, STDERR_FILENO);
  for (const int end : {kept, ends[0], ends[1]}) ::close(end);
}

}  // namespace
}  // namespace plumb::cli
