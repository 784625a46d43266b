// SPDX-License-Identifier: Apache-2.0
#include "dump/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::dump {
namespace {

Entry entry_of(std::string name, Slot slot, std::optional<int64_t> step,
               std::optional<int64_t> rank) {
  Entry entry;
  entry.operator_name = std::move(name);
  entry.slot = std::move(slot);
  entry.put_at({step, rank});
  return entry;
}

TEST(Selection, WantsWhatEveryListAllows) {
  const Entry entry = entry_of("block1/conv1", {SlotKind::kOutput, 0, ""}, 2, std::nullopt);
  const struct {
    const char* name;
    plumb::Selection selection;
    bool wanted;
  } cases[] = {
      {"nothing asked", {}, true},
      {"name", {{"block1/conv1"}, {}, {}, {}}, true},
      {"pattern", {{"*conv*"}, {}, {}, {}}, true},
      {"another name", {{"fc"}, {}, {}, {}}, false},
      {"one of two names", {{"fc", "block1*"}, {}, {}, {}}, true},
      {"kind of slot", {{}, {"output"}, {}, {}}, true},
      {"slot", {{}, {"output:0"}, {}, {}}, true},
      {"another slot", {{}, {"input:0"}, {}, {}}, false},
      {"step", {{}, {}, {2}, {}}, true},
      {"another step", {{}, {}, {3}, {}}, false},
      {"rank that is not recorded", {{}, {}, {}, {7}}, true},
      {"right name, wrong step", {{"*conv*"}, {}, {1}, {}}, false},
  };
  for (const auto& c : cases) EXPECT_EQ(Selection(c.selection).wants(entry), c.wanted) << c.name;
}

TEST(Selection, RefusesAMisspeltKindOfSlot) {
  EXPECT_TRUE(
      (Selection(plumb::Selection{{}, {"output:0", "in*", "gradient"}, {}, {}}).check_slots()));
  const auto refused = Selection(plumb::Selection{{}, {"outptu:0"}, {}, {}}).check_slots();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "unknown kind of slot 'outptu'");
  EXPECT_EQ(refused.error().where, "--slot outptu:0");
}

TEST(Selection, RefusesAStepThatNoDumpHas) {
  DumpSet one, two;
  one.entries = {entry_of("a", {}, 0, {}), entry_of("a", {}, 1, {})};
  two.entries = {entry_of("a", {}, 2, {})};
  const DumpSet* const both[] = {&one, &two};
  EXPECT_TRUE((Selection(plumb::Selection{{}, {}, {0, 2}, {}}).check(both)));
  const auto step = Selection(plumb::Selection{{}, {}, {5}, {}}).check(both);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().what, "there is no step 5");
  EXPECT_EQ(step.error().remedy, "choose one of the steps 0, 1 and 2");
  const auto rank = Selection(plumb::Selection{{}, {}, {}, {0}}).check(both);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().what, "there is no rank 0: the dumps record no ranks");
}

TEST(Selection, ListsNumbersTheWayPeopleDo) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({7}), "7");
  EXPECT_EQ(list_of({0, 1}), "0 and 1");
  EXPECT_EQ(list_of({0, 1, 2}), "0, 1 and 2");
  std::set<int64_t> many;
  for (int64_t n = 0; n < 13; ++n) many.insert(n);
  EXPECT_EQ(list_of(many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more");
}

TEST(HintWords, BecomeHintsOrAComplaint) {
  const auto hints = hints_from_words({"float16", "1,3", "e5m2"});
  ASSERT_TRUE(hints);
  EXPECT_EQ(hints->dtype, dtype_from_name("float16"));
  EXPECT_EQ(hints->shape, shape_from_text("1,3"));
  EXPECT_EQ(hints->fp8, dtype_from_name("e5m2"));

  const auto none = hints_from_words({});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->dtype || none->shape || none->fp8);

  const struct {
    HintWords words;
    const char* what;
  } cases[] = {
      {{"flaot16", "", ""}, "unknown type 'flaot16'"},
      {{"", "1,x", ""}, "malformed shape '1,x'"},
      {{"", "", "float16"}, "not an 8-bit float: 'float16'"},
  };
  for (const auto& c : cases) {
    const auto refused = hints_from_words(c.words);
    ASSERT_FALSE(refused) << c.what;
    EXPECT_EQ(refused.error().what, c.what);
  }
}

TEST(Convention, IsOneOfTheTableOrNone) {
  EXPECT_TRUE(check_convention(""));
  EXPECT_TRUE(check_convention("plain"));
  EXPECT_FALSE(check_convention("plane"));
}

}  // namespace
}  // namespace plumb::dump
