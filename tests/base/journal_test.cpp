// SPDX-License-Identifier: Apache-2.0
#include "base/journal.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> lines_in(const std::filesystem::path& path) {
  auto journal = Journal::open(path);
  EXPECT_TRUE(journal.ok());
  return journal ? journal->lines() : std::vector<std::string>{};
}

class JournalTest : public testing::Test {
 protected:
  Scratch scratch_;
  std::filesystem::path path_ = scratch_.path() / "journal";
};

TEST_F(JournalTest, GoesOnWhereItStopped) {
  {
    auto journal = Journal::open(path_);
    ASSERT_TRUE(journal.ok());
    EXPECT_THAT(journal->lines(), IsEmpty());
    ASSERT_TRUE(journal->add("first").ok());
    ASSERT_TRUE(journal->add("").ok());
  }
  {
    auto journal = Journal::open(path_);
    ASSERT_TRUE(journal.ok());
    EXPECT_THAT(journal->lines(), ElementsAre("first", ""));
    ASSERT_TRUE(journal->add("third, with \"quotes\"").ok());
    ASSERT_TRUE(journal->sync().ok());
  }
  EXPECT_THAT(lines_in(path_), ElementsAre("first", "", "third, with \"quotes\""));
}

// Wherever it is cut off, what is whole before that is there, and it can be written on.
TEST_F(JournalTest, EveryTruncationKeepsTheLinesBeforeIt) {
  const std::vector<std::string> all{"one", "two", "three"};
  {
    auto journal = Journal::open(path_);
    for (const std::string& line : all) ASSERT_TRUE(journal->add(line).ok());
  }
  const std::string whole = text_of(path_);
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    write(path_, whole.substr(0, size));
    const auto ends = static_cast<size_t>(
        std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    {
      auto journal = Journal::open(path_);
      ASSERT_TRUE(journal.ok());
      ASSERT_EQ(journal->lines().size(), ends);
      for (size_t i = ends; i < all.size(); ++i) ASSERT_TRUE(journal->add(all[i]).ok());
    }
    EXPECT_EQ(text_of(path_), whole);
  }
}

TEST_F(JournalTest, AChangedByteEndsWhatIsBelieved) {
  {
    auto journal = Journal::open(path_);
    for (const char* line : {"one", "two", "three"}) ASSERT_TRUE(journal->add(line).ok());
  }
  const std::string whole = text_of(path_);
  const size_t second = whole.find('\n') + 1, third = whole.find('\n', second) + 1;
  for (size_t at = second; at < third; ++at) {
    SCOPED_TRACE(at);
    std::string changed = whole;
    changed[at] ^= 1;
    write(path_, changed);
    EXPECT_THAT(lines_in(path_), ElementsAre("one"));
  }
  // A line that is whole but does not belong here: the checksum covers those before it.
  write(path_, whole.substr(0, second) + whole.substr(third));
  auto journal = Journal::open(path_);
  ASSERT_TRUE(journal.ok());
  EXPECT_THAT(journal->lines(), ElementsAre("one"));
  EXPECT_EQ(journal->dropped_bytes(), whole.size() - third);
}

// One that the user names is changed only by what a kill leaves.
TEST_F(JournalTest, AVisitedOneDropsHalfALineAndNothingElse) {
  std::vector<std::pair<std::string, uint64_t>> seen;
  const auto visit = [&](std::string_view line, uint64_t offset) -> Result<void> {
    seen.emplace_back(line, offset);
    return {};
  };
  {
    auto journal = Journal::open(path_, visit);
    ASSERT_TRUE(journal.ok());
    EXPECT_EQ(journal->next_offset(), 9u);
    for (const char* line : {"one", "two", "three"}) ASSERT_TRUE(journal->add(line).ok());
    EXPECT_THAT(Journal::open(path_, visit).error().what, HasSubstr("another process"));
  }
  const std::string whole = text_of(path_);
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    write(path_, whole.substr(0, size));
    seen.clear();
    ASSERT_TRUE(Journal::open(path_, visit).ok());
    for (const auto& [line, offset] : seen) EXPECT_EQ(whole.substr(offset, line.size()), line);
    EXPECT_EQ(text_of(path_), whole.substr(0, whole.substr(0, size).rfind('\n') + 1));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    if (whole[at] == '\n') continue;
    SCOPED_TRACE(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    write(path_, changed);
    EXPECT_FALSE(Journal::open(path_, visit).ok());
    EXPECT_EQ(text_of(path_), changed);
  }
  write(path_, whole);
  const auto refused = Journal::open(path_, [](std::string_view, uint64_t) -> Result<void> {
    return Error{"foreign", "", ""};
  });
  EXPECT_EQ(refused.error().what, "foreign");
  EXPECT_EQ(text_of(path_), whole);
}

TEST_F(JournalTest, AFullDiskIsAnErrorThatSaysHowToGoOn) {
  auto journal = Journal::open("/dev/full");
  if (!journal) return;  // it may not be there
  const auto added = journal->add("line");
  ASSERT_FALSE(added.ok());
  EXPECT_THAT(added.error().remedy, HasSubstr("goes on where it stopped"));
}

TEST_F(JournalTest, ADirectoryIsNone) { EXPECT_FALSE(Journal::open(scratch_.path()).ok()); }

}  // namespace
}  // namespace plumb
