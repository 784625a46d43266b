// SPDX-License-Identifier: Apache-2.0
#include "base/file_sink.h"

#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

size_t files_in(const fs::path& directory) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(FileSink, AppearsOnlyWhenCommitted) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "out.txt";
  {
    auto sink = FileSink::create(path);
    ASSERT_TRUE(sink);
    sink->write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_EQ(files_in(scratch.path()), 0u);  // dropped: nothing is left behind
  auto sink = FileSink::create(path);
  ASSERT_TRUE(sink);
  sink->write("whole");
  ASSERT_TRUE(sink->commit());
  EXPECT_EQ(read_all(path), "whole");
  EXPECT_EQ(files_in(scratch.path()), 1u);
}

TEST(FileSink, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "out.txt";
  std::ofstream(path) << "old";
  {
    auto sink = FileSink::create(path);
    ASSERT_TRUE(sink);
    sink->write("new, but never finished");
  }
  EXPECT_EQ(read_all(path), "old");
}

TEST(FileSink, WritesLargeAndSmallPiecesInOrder) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "out.bin";
  auto sink = FileSink::create(path);
  ASSERT_TRUE(sink);
  std::string expected;
  for (size_t size : {1u, 100000u, 3u, 300000u, 255u, 262144u, 1u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    sink->write(piece);
    expected += piece;
    EXPECT_EQ(sink->position(), expected.size());
  }
  sink->write_at(1, as_bytes("XYZ"));
  expected.replace(1, 3, "XYZ");
  ASSERT_TRUE(sink->commit());
  EXPECT_EQ(read_all(path), expected);
}

TEST(FileSink, SaysWhatIsWrong) {
  auto missing = FileSink::create("/no/such/directory/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what, "cannot write the file");
  EXPECT_NE(missing.error().where.find("/no/such/directory/file"), std::string::npos);
  EXPECT_FALSE(missing.error().remedy.empty());
}

TEST(FileSink, SyncedBytesCanBeReadBeforeTheFileAppears) {
  const Scratch scratch;
  const auto path = scratch.path() / "out";
  {
    auto sink = FileSink::create(path, ".out.plumb-tmp");
    ASSERT_TRUE(sink.ok());
    EXPECT_FALSE(FileSink::create(path, ".out.plumb-tmp").ok());  // somebody writes it already
    sink->write("abc");
    ASSERT_TRUE(sink->sync().ok());
    EXPECT_EQ(sink->temporary(), (scratch.path() / ".out.plumb-tmp").string());
    EXPECT_EQ(std::filesystem::file_size(sink->temporary()), 3u);
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(sink->commit(false).ok());
  }
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / ".out.plumb-tmp"));
}

Result<void> write_whole(const fs::path& path, std::string_view text) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

TEST(FileSink, WritesIntoAPipeInsteadOfReplacingIt) {
  const Scratch scratch;
  const fs::path pipe = scratch.path() / "pipe", link = scratch.path() / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", link);
  for (const fs::path& path : {pipe, link}) {
    std::string read;
    std::thread reader([&] { read = read_all(pipe); });
    const auto written = write_whole(path, "through the pipe");
    reader.join();
    EXPECT_TRUE(written) << written.error().where;
    EXPECT_EQ(read, "through the pipe");
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(files_in(scratch.path()), 2u);  // no temporary file either

  std::thread reader([&] { read_all(pipe); });
  auto sink = FileSink::create(pipe);
  ASSERT_TRUE(sink);
  sink->write("size at the end");
  sink->write_at(0, as_bytes("S"));
  const auto refused = sink->commit();
  reader.join();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("regular file"), std::string::npos);
}

TEST(FileSink, WritesIntoADevice) {
  const Scratch scratch;
  const fs::path link = scratch.path() / "link";
  fs::create_symlink("/dev/null", link);
  EXPECT_TRUE(FileSink::check(link));
  EXPECT_TRUE(write_whole(link, "gone"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::is_character_file(link));
}

// As /dev/stdout does while stdout goes into a file: after what is there, not over it.
TEST(FileSink, GoesOnWhereAnOpenDescriptorIs) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "log", link = scratch.path() / "link";
  const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(log, 0);
  ASSERT_EQ(::write(log, "before, ", 8), 8);
  fs::create_symlink("/proc/self/fd/" + std::to_string(log), link);
  EXPECT_TRUE(FileSink::check(link));
  EXPECT_TRUE(write_whole(link, "result"));
  ASSERT_EQ(::write(log, ", after", 7), 7);
  ::close(log);
  EXPECT_EQ(read_all(path), "before, result, after");
  EXPECT_FALSE(write_whole(link, "closed"));
}

TEST(FileSink, ReplacesTheFileThatALinkLeadsTo) {
  const Scratch scratch;
  const fs::path directory = scratch.path() / "directory";
  fs::create_directory(directory);
  fs::create_directory_symlink("directory", scratch.path() / "way");
  fs::create_symlink("file", directory / "second");
  fs::create_symlink("way/second", scratch.path() / "first");
  for (const char* text : {"made, as the link dangled", "replaced"}) {
    EXPECT_TRUE(FileSink::check(scratch.path() / "first"));
    ASSERT_TRUE(write_whole(scratch.path() / "first", text));
    EXPECT_TRUE(fs::is_symlink(scratch.path() / "first"));
    EXPECT_TRUE(fs::is_symlink(directory / "second"));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(directory / "file")));
    EXPECT_EQ(read_all(directory / "file"), text);
  }
  EXPECT_EQ(files_in(directory), 2u);

  fs::create_symlink("round", scratch.path() / "round");
  EXPECT_FALSE(FileSink::create(scratch.path() / "round"));
  fs::create_symlink("nowhere/file", scratch.path() / "lost");
  EXPECT_FALSE(FileSink::create(scratch.path() / "lost"));
}

TEST(FileSink, TellsBeforehandWhatCannotBeWritten) {
  const Scratch scratch;
  std::ofstream(scratch.path() / "file") << "old";
  fs::create_symlink("nowhere/file", scratch.path() / "lost");
  for (const fs::path& path : {scratch.path(), scratch.path() / "", scratch.path() / "no" / "file",
                               scratch.path() / "file" / "below", scratch.path() / "lost"}) {
    const auto created = FileSink::create(path);
    const auto checked = FileSink::check(path);
    ASSERT_FALSE(created) << path;
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().where, created.error().where);
    EXPECT_EQ(checked.error().remedy, created.error().remedy);
  }
  EXPECT_EQ(FileSink::check(scratch.path()).error().where,
            scratch.path().string() + ": Is a directory");
  for (const char* name : {"file", "new"}) EXPECT_TRUE(FileSink::check(scratch.path() / name));
  EXPECT_TRUE(FileSink::check("in_this_directory"));
  EXPECT_EQ(read_all(scratch.path() / "file"), "old");
  EXPECT_EQ(files_in(scratch.path()), 2u);

  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec);
  // Root may write there, unless that power was taken from it.
  const bool may_write = std::ofstream(scratch.path() / "probe").is_open();
  EXPECT_EQ(FileSink::check(scratch.path() / "new").ok(), may_write);
  fs::permissions(scratch.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace plumb
