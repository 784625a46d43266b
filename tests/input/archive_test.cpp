// SPDX-License-Identifier: Apache-2.0
#include "input/archive.h"

#include <fstream>
#include <set>

#include "input/expected.h"
#include "scratch.h"

namespace plumb::input {
namespace {

std::string archive(const std::string& name) {
  return std::string(PLUMB_TEST_DATA) + "/archive/" + name;
}

TEST(Archive, SameFilesInEveryKind) {
  for (const char* name : {"set.tar", "pax.tar", "set.tar.gz", "set.zip"}) {
    auto entries = list_archive(archive(name));
    ASSERT_TRUE(entries) << why(entries.error());
    ASSERT_EQ(entries->size(), 13u) << name;
    EXPECT_EQ((*entries)[3].name, "set/03.bin") << name;
    EXPECT_EQ((*entries)[3].size_bytes, 600u) << name;
    EXPECT_EQ((*entries)[0].hash, (*entries)[11].hash) << name;
    std::set<std::pair<uint64_t, uint64_t>> contents;
    for (const ArchiveEntry& entry : *entries) contents.insert({entry.size_bytes, entry.hash});
    EXPECT_EQ(contents.size(), 12u) << name;
  }
}

TEST(Archive, Directory) {
  Scratch scratch;
  std::filesystem::create_directories(scratch.path() / "b");
  std::ofstream(scratch.path() / "b/2") << "two";
  std::ofstream(scratch.path() / "1") << "two";
  auto entries = list_archive(scratch.path().string());
  ASSERT_TRUE(entries) << why(entries.error());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "1");
  EXPECT_EQ((*entries)[1].name, "b/2");
  EXPECT_EQ((*entries)[0].hash, (*entries)[1].hash);
}

TEST(Archive, CutOffAndStrange) {
  Scratch scratch;
  for (const char* name : {"set.tar", "set.tar.gz", "set.zip"}) {
    auto whole = MappedFile::open(archive(name));
    const std::string copy = (scratch.path() / "cut").string();
    std::ofstream(copy, std::ios::binary)
        << as_text(whole->bytes().first(whole->bytes().size() / 2));
    auto entries = list_archive(copy);
    ASSERT_FALSE(entries) << name;
    EXPECT_NE(entries.error().where.find(copy), std::string::npos);
  }
  EXPECT_EQ(list_archive(data_file("picture.png")).error().what, "not an archive of a known kind");
  EXPECT_FALSE(list_archive(archive("none.tar")));
}

}  // namespace
}  // namespace plumb::input
