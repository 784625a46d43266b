// SPDX-License-Identifier: Apache-2.0
#include "base/file_sink.h"

#include <fstream>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plumb
