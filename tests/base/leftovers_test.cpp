// SPDX-License-Identifier: Apache-2.0
//
// What processes leave behind when they are killed, and who removes it. Children are forked and end
// without cleaning up, which is what SIGKILL looks like to their files.
#include "base/leftovers.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "base/temporary_directory.h"
#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& item : fs::directory_iterator(directory))
    names.insert(item.path().filename().string());
  return names;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `work` in a process that ends in the middle of it.
template <typename Work>
void in_a_process_that_is_killed(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::_Exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(Leftovers, AWriterThatIsKilledLeavesNothing) {
  const Scratch scratch;
  in_a_process_that_is_killed([&] {
    auto sink = FileSink::create(scratch.path() / "out");
    sink->write("half");
    if (!sink->sync()) std::_Exit(1);
    new FileSink(std::move(*sink));  // never destroyed
  });
  EXPECT_THAT(names_in(scratch.path()), IsEmpty());
}

// The same on file systems whose files have names from the start.
TEST(Leftovers, NamedTemporariesOfTheDeadAreSweptByTheNextWriter) {
  const Scratch scratch;
  std::ofstream(scratch.path() / ".plumb-1-0") << "process 1 lives, but did not make this";
  std::ofstream(scratch.path() / ".plumb-notes") << "the user's";
  std::ofstream(scratch.path() / ".plumb-1-0-1") << "the user's";
  fs::create_directory(scratch.path() / ".plumb-2-2");
  auto alive = FileSink::create(scratch.path() / "other" / ".." / "alive", {}, true);
  ASSERT_FALSE(alive);  // no such directory
  fs::create_directory(scratch.path() / "other");
  alive = FileSink::create(scratch.path() / "other" / ".." / "alive", {}, true);
  ASSERT_TRUE(alive);
  alive->write("alive");
  const std::string living = fs::path(alive->temporary()).filename();
  in_a_process_that_is_killed([&] {
    auto sink = FileSink::create(scratch.path() / "dead", {}, true);
    sink->write("half");
    new FileSink(std::move(*sink));
  });
  EXPECT_EQ(names_in(scratch.path()).size(), 6u);
  ASSERT_TRUE(write_file(scratch.path() / "new", "whole"));
  EXPECT_THAT(names_in(scratch.path()), UnorderedElementsAre("other", "new", living, ".plumb-notes",
                                                             ".plumb-1-0-1", ".plumb-2-2"));
  ASSERT_TRUE(alive->commit());
  EXPECT_EQ(content_of(scratch.path() / "alive"), "alive");
}

TEST(Leftovers, FilesAreReplacedWholeWithAndWithoutNames) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "out";
  for (const bool is_named : {false, true})
    for (const std::string text : {"first", "second", "third"}) {
      const std::string before = content_of(path);
      auto sink = FileSink::create(path, {}, is_named);
      ASSERT_TRUE(sink);
      sink->write(text);
      EXPECT_EQ(content_of(path), before);
      ASSERT_TRUE(sink->commit());
      EXPECT_EQ(content_of(path), text);
      EXPECT_THAT(names_in(scratch.path()), ElementsAre("out"));
    }
}

TEST(Leftovers, TwoWritersOfOneFileDoNotMix) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "out";
  auto a = FileSink::create(path), b = FileSink::create(path);
  ASSERT_TRUE(a && b);
  a->write("a");
  b->write("b");
  ASSERT_TRUE(a->commit());
  ASSERT_TRUE(b->commit());
  EXPECT_EQ(content_of(path), "b");
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("out"));
}

class TemporaryDirectories : public testing::Test {
 protected:
  TemporaryDirectories() : before_(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "") {
    ::setenv("TMPDIR", scratch_.path().c_str(), 1);
  }
  ~TemporaryDirectories() override {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }
  const Scratch scratch_;
  const std::string before_;
};

TEST_F(TemporaryDirectories, OfTheDeadAreRemovedAndOthersAreNot) {
  for (const char* other : {"plumb-test-abcdef", "plumb-msprobe-tmp", "other-tmp-abcdef"})
    fs::create_directories(scratch_.path() / other / "deep");
  in_a_process_that_is_killed([&] {
    auto made = TemporaryDirectory::make("plumb-isolate");
    fs::create_directory(made->path() / "deep");
    std::ofstream(made->path() / "deep/file") << "1";
    new TemporaryDirectory(std::move(*made));
  });
  EXPECT_EQ(names_in(scratch_.path()).size(), 4u);
  {
    const auto first = TemporaryDirectory::make();
    ASSERT_TRUE(first);
    EXPECT_EQ(names_in(scratch_.path()).size(), 4u);  // the dead one is gone
    std::ofstream(first->path() / "file") << "1";
    const auto second = TemporaryDirectory::make();
    ASSERT_TRUE(second);
    EXPECT_TRUE(fs::exists(first->path() / "file"));
    EXPECT_EQ(names_in(scratch_.path()).size(), 5u);
  }
  EXPECT_EQ(names_in(scratch_.path()).size(), 3u);
}

TEST(DirectoryLock, TwoWritersRefuseEachOther) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "new/directory";
  {
    const auto first = DirectoryLock::make(path);
    ASSERT_TRUE(first);
    const auto second = DirectoryLock::make(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().what, "another plumb writes into this directory");
    EXPECT_EQ(second.error().where,
              (path / ".plumb.lock").string() + ": held by process " + std::to_string(::getpid()));
    EXPECT_THAT(second.error().remedy, HasSubstr("wait until it has finished"));
    EXPECT_FALSE(DirectoryLock::make_empty(path));
    std::ofstream(path / "result") << "1";
  }
  EXPECT_THAT(names_in(path), ElementsAre("result"));
  EXPECT_TRUE(DirectoryLock::make(path));  // results of two conversions may be together
  const auto used = DirectoryLock::make_empty(path, "-o");
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().what, "the directory is not empty");
  EXPECT_EQ(used.error().where, "-o " + path.string());
  EXPECT_THAT(names_in(path), ElementsAre("result"));
}

TEST(DirectoryLock, OneThatWasKilledIsNoObstacle) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "directory";
  in_a_process_that_is_killed([&] {
    auto lock = DirectoryLock::make_empty(path);
    auto sink = FileSink::create(path / "half", {}, true);
    sink->write("half");
    new DirectoryLock(std::move(*lock));
    new FileSink(std::move(*sink));
  });
  EXPECT_EQ(names_in(path).size(), 2u);  // lock file and temporary file
  EXPECT_TRUE(DirectoryLock::make_empty(path));
  EXPECT_THAT(names_in(path), IsEmpty());
}

TEST(DirectoryLock, ADirectoryMadeForNothingGoesAway) {
  const Scratch scratch;
  EXPECT_TRUE(DirectoryLock::make(scratch.path() / "new"));
  EXPECT_FALSE(fs::exists(scratch.path() / "new"));
  fs::create_directory(scratch.path() / "old");
  EXPECT_TRUE(DirectoryLock::make(scratch.path() / "old"));
  EXPECT_TRUE(fs::exists(scratch.path() / "old"));
  std::ofstream(scratch.path() / "file") << "1";
  EXPECT_EQ(DirectoryLock::make(scratch.path() / "file/deep").error().what,
            "cannot create the directory");
}

}  // namespace
}  // namespace plumb
