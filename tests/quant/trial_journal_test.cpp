// SPDX-License-Identifier: Apache-2.0
#include "quant/trial_journal.h"

#include <fstream>

#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::quant {
namespace {

Score score_of(int64_t samples) {
  Score score;
  score.samples = samples;
  score.distance_sum = 0.1;
  return score;
}

// The trials of a journal that was opened, by their names.
std::vector<std::string> known(const TrialJournal& journal) {
  std::vector<std::string> names;
  for (const char* name : {"a", "b", "c"})
    if (journal.was_there(name)) names.emplace_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(TrialJournal, GoesOnWithWhatIsWhole) {
  Scratch scratch;
  const auto path = scratch.path() / "journal.jsonl";
  {
    auto journal = TrialJournal::open(path, "this search", false);
    ASSERT_TRUE(journal) << journal.error().what;
    for (const char* name : {"a", "b"}) ASSERT_TRUE((*journal)->add(name, score_of(7)));
    EXPECT_EQ(known(**journal), Names());  // not from before
    EXPECT_EQ((*journal)->find("b")->samples, 7);
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  {
    auto journal = TrialJournal::open(path, "this search", false);
    ASSERT_TRUE(journal) << journal.error().what;
    EXPECT_EQ(known(**journal), Names({"a"}));
    EXPECT_EQ((*journal)->find("a")->distance_sum, 0.1);
    EXPECT_EQ((*journal)->find("b"), std::nullopt);
    ASSERT_TRUE((*journal)->add("c", score_of(8)));
  }
  auto journal = TrialJournal::open(path, "this search", false);
  ASSERT_TRUE(journal);
  EXPECT_EQ(known(**journal), Names({"a", "c"}));
}

TEST(TrialJournal, OfAnotherSearchIsRefusedUnlessItHasNothing) {
  Scratch scratch;
  const auto path = scratch.path() / "journal.jsonl";
  ASSERT_TRUE(TrialJournal::open(path, "one", false));
  {
    auto journal = TrialJournal::open(path, "two", false);
    ASSERT_TRUE(journal) << journal.error().what;
    ASSERT_TRUE((*journal)->add("a", score_of(1)));
  }
  const auto refused = TrialJournal::open(path, "three", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "the journal is of another search");
  const auto fresh = TrialJournal::open(path, "three", true);
  ASSERT_TRUE(fresh) << fresh.error().what;
  EXPECT_EQ(known(**fresh), Names());
}

}  // namespace
}  // namespace plumb::quant
