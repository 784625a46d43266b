// SPDX-License-Identifier: Apache-2.0
#include "io/sandbox.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plumb::io {
namespace {

constexpr SandboxLimits kLimits{64 << 20, 1, 30};

void say(int out, const void* data, size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::write(out, at, size);
    if (done <= 0) ::_exit(9);
    at += done;
    size -= static_cast<size_t>(done);
  }
}

std::string listen(Sandbox& sandbox) {
  std::string heard;
  std::byte piece[1000];
  while (size_t got = sandbox.read(piece, sizeof piece)) heard += as_text(Bytes(piece, got));
  return heard;
}

TEST(Sandbox, AnswerComesThroughWhole) {
  std::string text(3'000'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  auto sandbox = Sandbox::start(kLimits, [&](int out) { say(out, text.data(), text.size()); });
  ASSERT_TRUE(sandbox);
  EXPECT_TRUE(listen(*sandbox) == text);
  EXPECT_TRUE(sandbox->finish().ok());
}

struct EndCase {
  const char* name;
  void (*work)(int);
  int signal;
  int status;
  bool timed_out;
};

void spin(int) {
  volatile bool forever = true;
  while (forever) continue;
}

const EndCase kEnds[] = {
    {"returns", [](int) {}, 0, 0, false},
    {"fault", [](int) { ::raise(SIGSEGV); }, SIGSEGV, 0, false},
    {"abort", [](int) { std::abort(); }, SIGABRT, 0, false},
    {"exit status", [](int) { ::_exit(3); }, 0, 3, false},
    {"endless loop", spin, SIGXCPU, 0, true},
};

TEST(Sandbox, SaysHowTheChildEnded) {
  for (const EndCase& c : kEnds) {
    auto sandbox = Sandbox::start(kLimits, c.work);
    ASSERT_TRUE(sandbox) << c.name;
    EXPECT_EQ(listen(*sandbox), "") << c.name;
    const SandboxEnd end = sandbox->finish();
    EXPECT_EQ(end.signal, c.signal) << c.name;
    EXPECT_EQ(end.status, c.status) << c.name;
    EXPECT_EQ(end.timed_out, c.timed_out) << c.name;
  }
}

TEST(Sandbox, SilenceIsNotWaitedForForEver) {
  auto sandbox = Sandbox::start({64 << 20, 1, 1}, [](int) { ::pause(); });
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "");
  EXPECT_TRUE(sandbox->finish().timed_out);
}

TEST(Sandbox, AClosedPipeDoesNotKeepTheChildAlive) {
  auto sandbox = Sandbox::start({64 << 20, 1, 1}, [](int out) {
    ::close(out);
    ::pause();
  });
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "");
  EXPECT_EQ(sandbox->finish().signal, SIGKILL);
}

TEST(Sandbox, AnUnwantedChildIsKilled) {
  for (int i = 0; i < 3; ++i) {
    auto sandbox = Sandbox::start(kLimits, [](int) { ::pause(); });
    ASSERT_TRUE(sandbox);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // none is left behind
  EXPECT_EQ(errno, ECHILD);
}

TEST(Sandbox, OpensAndWritesNothing) {
  auto sandbox = Sandbox::start(kLimits, [](int out) {
    const char told[] = {
        ::open("/proc/self/exe", O_RDONLY) < 0 ? 'n' : 'y',
        ::open("/tmp", O_TMPFILE | O_RDWR, 0600) < 0 ? 'n' : 'y',
        ::dup(out) < 0 ? 'n' : 'y',
    };
    say(out, told, sizeof told);
  });
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "nnn");
}

TEST(Sandbox, MemoryIsLimited) {
  if (!kMemoryIsLimited) GTEST_SKIP() << "not with a sanitizer";
  auto sandbox = Sandbox::start(kLimits, [](int out) {
    void* volatile small = std::malloc(16 << 20);
    void* volatile large = std::malloc(256 << 20);
    const char told[] = {small != nullptr ? 'y' : 'n', large != nullptr ? 'y' : 'n'};
    say(out, told, sizeof told);
  });
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "yn");
}

// A child must not hold the pipe of its sibling open, or the sibling's reader would wait for both.
TEST(Sandbox, ChildrenOfManyThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const std::string text(10'000, static_cast<char>('a' + t));
      for (int i = 0; i < 10; ++i) {
        auto sandbox =
            Sandbox::start(kLimits, [&](int out) { say(out, text.data(), text.size()); });
        ASSERT_TRUE(sandbox);
        EXPECT_TRUE(listen(*sandbox) == text);
        EXPECT_TRUE(sandbox->finish().ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace plumb::io
