// SPDX-License-Identifier: Apache-2.0
#include "base/run_command.h"

#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class RunCommand : public testing::Test {
 protected:
  CommandEnd run(const std::string& command, std::chrono::milliseconds timeout = 30s) {
    auto end = run_command(command, log_, timeout, cancelled_);
    EXPECT_TRUE(end);
    return end ? *end : CommandEnd{};
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  Scratch scratch_;
  std::filesystem::path log_ = scratch_.path() / "log";
  std::atomic<bool> cancelled_{false};
};

TEST_F(RunCommand, TellsTheStatus) {
  const struct {
    const char* command;
    int status;
  } cases[] = {
      {"true", 0},         {"exit 3", 3},          {"! true", 1},
      {"kill -9 $$", 137}, {"kill -SEGV $$", 139}, {"no-such-command-here", 127},
      {"read line", 1},  // there is nothing to read
  };
  for (const auto& [command, status] : cases) {
    const CommandEnd end = run(command);
    EXPECT_EQ(end.status, status) << command;
    EXPECT_FALSE(end.timed_out) << command;
  }
}

TEST_F(RunCommand, AppendsWhatIsPrinted) {
  run("echo one");
  run("echo two >&2");
  EXPECT_EQ(log(), "one\ntwo\n");
}

// Everything that the command started ends with it, not only the shell.
TEST_F(RunCommand, EndsTheWholeGroupWhenTheTimeIsOver) {
  const auto start = Clock::now();
  const CommandEnd end = run("(sleep 1; echo late) & sleep 30", 100ms);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.status, -1);
  EXPECT_LT(Clock::now() - start, 900ms);
  std::this_thread::sleep_for(1200ms);
  EXPECT_EQ(log(), "");
}

TEST_F(RunCommand, EndsWhenCancelled) {
  std::thread user([&] {
    std::this_thread::sleep_for(50ms);
    cancelled_ = true;
  });
  const auto start = Clock::now();
  const CommandEnd end = run("sleep 30");
  user.join();
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(end.status, -1);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST_F(RunCommand, LogThatCannotBeWrittenIsAnError) {
  const auto end = run_command("true", scratch_.path() / "none" / "log", 1s, cancelled_);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().what, "the command could not be started");
}

TEST(WithPath, Table) {
  const struct {
    const char* command;
    const char* path;
    const char* expected;
  } cases[] = {
      {"run", "/tmp/m.onnx", "run /tmp/m.onnx"},
      {"run {} --twice {}", "/m.onnx", "run /m.onnx --twice /m.onnx"},
      {"run --model={}.x", "/m", "run --model=/m.x"},
      {"run % -v", "/m", "run /m -v"},
      {"%", "/m", "/m"},
      {"date +%s {}", "/m", "date +%s /m"},
      {"printf %d% % ", "/m", "printf %d% /m "},
      {"date +%s", "/m", "date +%s /m"},
      {"run {}", "/a b/it's", "run '/a b/it'\\''s'"},
  };
  for (const auto& [command, path, expected] : cases)
    EXPECT_EQ(with_path(command, path), expected) << command;
}

}  // namespace
}  // namespace plumb
