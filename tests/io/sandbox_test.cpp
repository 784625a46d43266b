// SPDX-License-Identifier: Apache-2.0
#include "io/sandbox.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/mapped_file.h"

namespace plumb::io {
namespace {

namespace fs = std::filesystem;

constexpr SandboxLimits kLimits{64 << 20, 1, 30};
const fs::path kHostile = fs::path(PLUMB_BINARY).parent_path() / "../lib/hostile";

// The plug-in is tests/io/hdf5_hostile_plugin.cpp, which does what the name of the dataset says.
class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kHostile)) GTEST_SKIP() << "built with -DPLUMB_HDF5=OFF";
    ::setenv("PLUMB_PLUGIN_DIR", kHostile.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("PLUMB_PLUGIN_DIR"); }
};

Result<Sandbox> start(const char* order, std::string_view file = "some bytes",
                      SandboxLimits limits = kLimits) {
  return Sandbox::start(limits, as_bytes(file), order);
}

std::string listen(Sandbox& sandbox) {
  std::string heard;
  std::byte piece[1000];
  while (size_t got = sandbox.read(piece, sizeof piece)) heard += as_text(Bytes(piece, got));
  return heard;
}

TEST_F(SandboxTest, AnswerComesThroughWhole) {
  std::string text(3'000'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  auto sandbox = start("!echo", text);
  ASSERT_TRUE(sandbox) << sandbox.error().what << sandbox.error().where;
  EXPECT_TRUE(listen(*sandbox) == text);
  EXPECT_TRUE(sandbox->finish().ok());
}

TEST_F(SandboxTest, PartsOfMappedFilesAreSharedWithoutACopy) {
  const fs::path path = fs::path(testing::TempDir()) / "sandbox_mapped";
  std::string text(300'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  std::ofstream(path) << text;
  auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file);
  EXPECT_TRUE(MappedFile::reopen(file->bytes()));
  EXPECT_FALSE(MappedFile::reopen(as_bytes(text)));
  auto sandbox = start("!echo", as_text(file->bytes()).substr(4321));
  ASSERT_TRUE(sandbox);
  EXPECT_TRUE(listen(*sandbox) == text.substr(4321));
  // Another file of that name is not the one that was opened.
  fs::remove(path);
  std::ofstream(path) << std::string(300'000, 'y');
  EXPECT_FALSE(MappedFile::reopen(file->bytes()));
  auto copied = start("!echo", as_text(file->bytes()));
  ASSERT_TRUE(copied);
  EXPECT_TRUE(listen(*copied) == text);
  fs::remove(path);
}

struct EndCase {
  const char* order;
  int signal;
  int status;
  bool timed_out;
};

const EndCase kEnds[] = {
    {"!return", 0, 0, false}, {"!fault", SIGSEGV, 0, false}, {"!abort", SIGABRT, 0, false},
    {"!exit", 0, 3, false},   {"!spin", SIGXCPU, 0, true},   {"!return", 0, 0, false},
};

TEST_F(SandboxTest, SaysHowTheChildEnded) {
  for (const EndCase& c : kEnds) {
    auto sandbox = start(c.order);
    ASSERT_TRUE(sandbox) << c.order;
    EXPECT_EQ(listen(*sandbox), "") << c.order;
    const SandboxEnd end = sandbox->finish();
    EXPECT_EQ(end.signal, c.signal) << c.order;
    EXPECT_EQ(end.status, c.status) << c.order;
    EXPECT_EQ(end.timed_out, c.timed_out) << c.order;
  }
}

TEST_F(SandboxTest, SilenceIsNotWaitedForForEver) {
  auto sandbox = start("!pause", "x", {64 << 20, 1, 1});
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "");
  EXPECT_TRUE(sandbox->finish().timed_out);
}

TEST_F(SandboxTest, AClosedPipeDoesNotKeepTheChildAlive) {
  auto sandbox = start("!close", "x", {64 << 20, 1, 10});
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "");
  EXPECT_EQ(sandbox->finish().signal, SIGKILL);
}

TEST_F(SandboxTest, AnUnwantedChildIsKilled) {
  for (int i = 0; i < 3; ++i) {
    auto sandbox = start("!pause");
    ASSERT_TRUE(sandbox);
  }
  ::setenv("PLUMB_PLUGIN_DIR", "/nowhere", 1);  // workers that wait for requests end, too
  EXPECT_FALSE(start("!pause"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // none is left behind
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(SandboxTest, OpensAndWritesNothing) {
  auto sandbox = start("!open");
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "nnn");
}

TEST_F(SandboxTest, MemoryIsLimited) {
  if (!kMemoryIsLimited) GTEST_SKIP() << "not with a sanitizer";
  auto sandbox = start("!memory");
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(listen(*sandbox), "yn");
}

// A child must not hold the pipe of its sibling open, or the sibling's reader would wait for both.
TEST_F(SandboxTest, ChildrenOfManyThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const std::string text(10'000, static_cast<char>('a' + t));
      for (int i = 0; i < 10; ++i) {
        auto sandbox = start("!echo", text);
        ASSERT_TRUE(sandbox);
        EXPECT_TRUE(listen(*sandbox) == text);
        EXPECT_TRUE(sandbox->finish().ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace plumb::io
