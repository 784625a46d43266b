// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

std::string pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

// Sizes around the switch from reading to mapping, and around a page.
TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const Scratch scratch;
  for (size_t size : {0u, 1u, 4095u, 4097u, 131071u, 131072u, 131073u, 1000003u}) {
    const fs::path path = scratch.path() / std::to_string(size);
    const std::string expected = pattern(size);
    std::ofstream(path, std::ios::binary) << expected;
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file) << size;
    EXPECT_EQ(as_text(file->bytes()), expected);
    file->release(file->bytes());  // released pages read the same again
    EXPECT_EQ(as_text(file->bytes()), expected);
    EXPECT_TRUE(file->intact());
  }
}

// Reading a page that is gone would be a SIGBUS; it must be an error the reader can see instead.
TEST(MappedFile, SurvivesTruncationWhileMapped) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "shrinking";
  std::ofstream(path, std::ios::binary) << pattern(1 << 20);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  fs::resize_file(path, 5000);
  const Bytes bytes = file->bytes();
  const auto last = bytes.subspan(bytes.size() - 100000);
  EXPECT_EQ(std::count(last.begin(), last.end(), std::byte{0}), 100000);
  EXPECT_FALSE(file->intact());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const Scratch scratch;
  EXPECT_EQ(MappedFile::open(scratch.path()).error().what, "expected a file, found a directory");
  EXPECT_NE(MappedFile::open(scratch.path() / "missing").error().where.find("No such file"),
            std::string::npos);
  const fs::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).error().what, "not a regular file");  // and does not hang
}

}  // namespace
}  // namespace plumb
