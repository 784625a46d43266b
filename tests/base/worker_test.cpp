// SPDX-License-Identifier: Apache-2.0
#include "base/worker.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

namespace plumb {
namespace {

using testing::HasSubstr;

// A shell script in place of the worker.
class WorkerTest : public testing::Test {
 protected:
  Result<Worker> start(const std::string& script, WorkerLimits limits = {}) {
    const auto path = scratch_.path() / "worker";
    { std::ofstream(path) << "#!/bin/sh\n" << script << "\n"; }
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv("PLUMB_WORKER", path.c_str(), 1);
    return Worker::start("test", limits);
  }
  void TearDown() override {
    ::unsetenv("PLUMB_WORKER");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  }
  Scratch scratch_;
};

TEST_F(WorkerTest, ThatDoesNotStartSaysWhy) {
  struct Case {
    const char *script, *where;
  };
  for (const Case& c : {
           Case{"echo 'no such library' >&2; exit 4", "exit status 4; no such library"},
           Case{"kill -SEGV $$", "an invalid memory access (SIGSEGV)"},
           Case{"printf 'hello, I am something else' >&3; exec sleep 100",
                "it is no worker of plumb"},
           Case{"printf 'PLB1\\001\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\377' >&3; "
                "exec sleep 100",
                "it is no worker of plumb"},
           Case{"exec sleep 100", "it does not answer"},
       }) {
    WorkerLimits limits;
    limits.timeout_seconds = 2;
    const auto worker = start(c.script, limits);
    ASSERT_FALSE(worker) << c.script;
    EXPECT_THAT(worker.error().where, HasSubstr(c.where)) << c.script;
  }
}

TEST_F(WorkerTest, OfAnotherVersionIsRefused) {
  // kReady, 9 bytes: a text of 5.
  const auto worker = start(
      "printf 'PLB1\\001\\000\\000\\000\\011\\000\\000\\000\\000\\000\\000\\000"
      "\\005\\000\\000\\0000.0.0' >&3; exec sleep 100");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().what, "plumb-worker is of another version");
}

TEST_F(WorkerTest, IsNotWaitedForAfterCtrlC) {
  const std::atomic<bool> cancelled{true};
  WorkerLimits limits;
  limits.cancelled = &cancelled;
  const auto worker = start("exec sleep 100", limits);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().what, "interrupted");
}

TEST_F(WorkerTest, MustBeThere) {
  ::setenv("PLUMB_WORKER", "/nowhere/plumb-worker", 1);
  const auto worker = Worker::start("test", {});
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().where, "tried /nowhere/plumb-worker");
}

TEST(Messages, ArriveWholeWithTheirFiles) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor a(ends[0]), b(ends[1]);
  for (const size_t size : {0, 1, 1000, 100'000}) {
    const std::string text(size, 'x');
    const int files[] = {a.get(), b.get()};
    ASSERT_TRUE(
        send_message(a.get(), 7, as_bytes(text), std::span(files, size % 3), wait_for_ever));
    Message message;
    ASSERT_TRUE(receive_message(b.get(), message, wait_for_ever));
    EXPECT_EQ(message.kind, 7u);
    EXPECT_EQ(as_text(message.body.bytes), text);
    EXPECT_EQ(message.files.size(), size % 3);
  }
}

}  // namespace
}  // namespace plumb
