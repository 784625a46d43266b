// SPDX-License-Identifier: Apache-2.0
#include "pair/plan.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pair/entries_testing.h"
#include "sample_of.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Skipped;
using dump::Slot;
using dump::SlotKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Slot output(int64_t index) { return {SlotKind::kOutput, index, {}}; }
Entry in_step(std::optional<int64_t> step, std::string name, int64_t timestamp = 0) {
  Entry made = entry(std::move(name), {}, timestamp);
  made.put_at({step, {}});
  return made;
}

// "target output:0 = golden output:0 (rule)", "target output:0: reason" for one side alone, "-
// file: reason" for a damaged file alone; "~" stands for the side that a damaged file should be.
std::string line_of(const PlannedRow& row) {
  const auto side = [&](const Entry* entry, bool is_target) {
    if (entry != nullptr) return entry->operator_name.str() + " " + to_string(entry->slot);
    const bool damaged = row.rare().damaged != nullptr && row.damaged_is_target == is_target;
    return damaged ? "~" + row.rare().damaged->file : std::string("-");
  };
  std::string line = side(row.target, true) + " = " + side(row.golden, false);
  if (!row.rule.empty()) line += fmt::format(" ({})", row.rule);
  if (!row.reason.empty()) line += fmt::format(": {}", row.reason);
  return line;
}
std::vector<std::string> lines_of(const std::vector<PlannedRow>& rows) {
  std::vector<std::string> lines;
  for (const PlannedRow& row : rows) lines.push_back(line_of(row));
  return lines;
}
std::vector<int64_t> indices_of(const std::vector<PlannedRow>& rows) {
  std::vector<int64_t> indices;
  for (const PlannedRow& row : rows) indices.push_back(row.index);
  return indices;
}

TEST(Plan, NothingAtAll) { EXPECT_THAT(make_plan({}, {}), IsEmpty()); }

TEST(Plan, OneSideAlone) {
  const DumpSet some = set_of({entry("a"), entry("b", output(1))}), none;
  EXPECT_THAT(lines_of(make_plan(some, none)),
              ElementsAre("a output:0 = -: no_golden", "b output:1 = -: no_golden"));
  EXPECT_THAT(lines_of(make_plan(none, some)),
              ElementsAre("- = a output:0: no_target", "- = b output:1: no_target"));
}

TEST(Plan, ANameIsNotAPrefix) {
  const DumpSet target = set_of({entry("conv1"), entry("relu")});
  const DumpSet golden = set_of({entry("conv10"), entry("relu")});
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("- = conv10 output:0: no_target", "conv1 output:0 = -: no_golden",
                          "relu output:0 = relu output:0 (name)"));
}

TEST(Plan, ExactNamesComeFirst) {
  const DumpSet target = set_of({entry("a/b"), entry("c:0")});
  const DumpSet golden = set_of({entry("a/b"), entry("a_b"), entry("c_0")});
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("a/b output:0 = a/b output:0 (name)", "- = a_b output:0: no_target",
                          "c:0 output:0 = c_0 output:0 (normalised-name)"));
}

TEST(Plan, NamesThatBecomeOneAreAmbiguous) {
  const DumpSet target = set_of({entry("a.b"), entry("a/b")});
  const DumpSet golden = set_of({entry("a_b"), entry("x")});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("- = a_b output:0: ambiguous_pair", "- = x output:0: no_target",
                          "a.b output:0 = -: ambiguous_pair", "a/b output:0 = -: ambiguous_pair"));
  EXPECT_EQ(rows[0].message, "2 target and 1 golden operators are all written 'a_b'");
  EXPECT_EQ(rows[2].message, rows[0].message);
}

// "a/b" has its partner; what only looks like it afterwards is free for another.
TEST(Plan, ExactNamesMakeNoOtherAmbiguous) {
  const DumpSet target = set_of({entry("a/b"), entry("a.b")});
  const DumpSet golden = set_of({entry("a/b"), entry("a_b")});
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("a.b output:0 = a_b output:0 (normalised-name)",
                          "a/b output:0 = a/b output:0 (name)"));
}

TEST(Plan, SlotsHaveToBeTheSame) {
  const DumpSet target = set_of({entry("a", input(0)), entry("a", output(0))});
  const DumpSet golden = set_of({entry("a", output(0)), entry("a", output(1))});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a input:0 = -: no_golden", "a output:0 = a output:0 (name)",
                          "- = a output:1: no_target"));
  EXPECT_EQ(rows[0].message, "the operator is there, but without input:0");
  EXPECT_EQ(rows[2].message, "the operator is there, but without output:1");
}

// Slots that print alike, and names that hold what separates names from slots.
TEST(Plan, KeysCannotBeForged) {
  const Slot named{SlotKind::kOutput, dump::kNamed, "0"};
  EXPECT_EQ(to_string(named), to_string(kOutput));
  EXPECT_THAT(lines_of(make_plan(set_of({entry("a", named)}), set_of({entry("a")}))),
              ElementsAre("- = a output:0: no_target", "a output:0 = -: no_golden"));
  const DumpSet target = set_of({entry("a\noutput:1", {SlotKind::kOther, dump::kNamed, "x"})});
  const DumpSet golden = set_of({entry("a", {SlotKind::kOutput, dump::kNamed, "1\nother:x"})});
  EXPECT_EQ(make_plan(target, golden).size(), 2u);
}

TEST(Plan, ExecutionsPairInOrder) {
  const DumpSet target = set_of({entry("a", {}, 10), entry("a", {}, 20), entry("b", {}, 15)});
  const DumpSet golden = set_of({entry("a", {}, 7), entry("a", {}, 8), entry("b", {}, 9)});
  const auto rows = make_plan(target, golden);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].target->timestamp, 10);
  EXPECT_EQ(rows[0].golden->timestamp, 7);
  EXPECT_EQ(rows[0].evidence, "execution 1 of 2");
  EXPECT_EQ(rows[1].target->operator_name, "b");
  EXPECT_EQ(rows[1].evidence, "");
  EXPECT_EQ(rows[2].target->timestamp, 20);
  EXPECT_EQ(rows[2].golden->timestamp, 8);
  EXPECT_THAT(indices_of(rows), ElementsAre(0, 1, 2));
}

// Dumps of the same tensors take a short way, which has to lead where the long one does.
TEST(Plan, AlikeDumpsPairAsOthersDo) {
  const std::vector<Entry> cases[] = {
      {},
      {entry("a"), entry("b")},
      {entry("a", input(0)), entry("a", input(1)), entry("a"), entry("b", output(1))},
      {entry("a", input(0), 1), entry("a", kOutput, 1), entry("a", input(0), 2),
       entry("a", kOutput, 2)},
      {entry("a", kOutput, 1), entry("b", kOutput, 2), entry("a", kOutput, 3)},
      {entry("a"), entry("a")},
      {in_step(1, "a"), in_step(2, "a")},
      {in_step(1, "a"), in_step(1, "b"), in_step(2, "a"), in_step(2, "b")},
      {in_step(1, "a", 1), in_step(1, "a", 2), in_step(2, "a", 3)},
      {in_step({}, "a"), in_step(1, "a"), in_step(1, "a")},
      {in_step(2, "a"), in_step(1, "a"), in_step(2, "a")},  // a step that comes again
      {entry("a"), entry("a_b"), entry("a/b")},
  };
  const Pairings none;
  PlanOptions long_way;
  long_way.told = &none;
  for (const std::vector<Entry>& entries : cases) {
    const DumpSet target = set_of(entries), golden = set_of(entries);
    const auto rows = make_plan(target, golden), others = make_plan(target, golden, long_way);
    ASSERT_EQ(rows.size(), others.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(line_of(rows[i]), line_of(others[i]));
      EXPECT_EQ(rows[i].evidence, others[i].evidence);
      EXPECT_EQ(rows[i].index, others[i].index);
    }
  }
}

// The recorded time decides, not the order in which files are found.
TEST(Plan, OfUnequalNumbersTheLaterRunCounts) {
  const DumpSet target = set_of({entry("a", {}, 9), entry("a", {}, 2), entry("b", {}, 3),
                                 entry("c", {}, 4), entry("a", {}, 5)});
  const DumpSet golden =
      set_of({entry("a", {}, 7), entry("b", {}, 8), entry("c", {}, 12), entry("c", {}, 11)});
  for (const bool swapped : {false, true}) {
    const auto rows = swapped ? make_plan(golden, target) : make_plan(target, golden);
    size_t superseded = 0;
    for (const PlannedRow& row : rows) {
      const Entry* own = row.target != nullptr ? row.target : row.golden;
      if (row.target != nullptr && row.golden != nullptr) {
        const auto& [a, c] =
            swapped ? std::pair{row.golden, row.target} : std::pair{row.target, row.golden};
        EXPECT_TRUE(own->operator_name != "a" || a->timestamp == 9);
        EXPECT_TRUE(own->operator_name != "c" || c->timestamp == 12);
        continue;
      }
      ++superseded;
      EXPECT_EQ(row.reason, "superseded");
      EXPECT_THAT(row.message.str(), HasSubstr("a later run"));
    }
    EXPECT_EQ(rows.size(), 6u);
    EXPECT_EQ(superseded, 3u);
  }
}

TEST(Plan, UnequalNumbersOfExecutionsAreNotGuessed) {
  const DumpSet target = set_of({entry("a", {}, 1), entry("a", {}, 1)});
  const DumpSet golden = set_of({entry("a", {}, 1)});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("- = a output:0: duplicate_name", "a output:0 = -: duplicate_name",
                          "a output:0 = -: duplicate_name"));
  EXPECT_THAT(rows[0].message.str(), HasSubstr("2 of them in target, 1 in golden"));
}

// As many on both sides, and no time that tells them apart: the order of files is none.
TEST(Plan, EqualNumbersOfExecutionsWithoutATimeAreNotGuessed) {
  const DumpSet target = set_of({entry("a", {}, 5), entry("a", {}, 5)});
  const DumpSet golden = set_of({entry("a", {}, 1), entry("a", {}, 2)});
  for (const bool swapped : {false, true}) {
    const auto rows = swapped ? make_plan(golden, target) : make_plan(target, golden);
    EXPECT_EQ(rows.size(), 4u);
    for (const PlannedRow& row : rows) EXPECT_EQ(row.reason, "duplicate_name");
    EXPECT_THAT(rows[0].message.str(), HasSubstr("cannot be told by their times"));
  }
}

TEST(Plan, OneStepEachIsTheSameStep) {
  const DumpSet target = set_of({in_step(0, "a"), in_step(0, "b")});
  const DumpSet golden = set_of({in_step(17, "a"), in_step(17, "b")});
  const DumpSet unnumbered = set_of({in_step({}, "a"), in_step({}, "b")});
  for (const DumpSet* other : {&golden, &unnumbered})
    EXPECT_THAT(lines_of(make_plan(target, *other)),
                ElementsAre("a output:0 = a output:0 (name)", "b output:0 = b output:0 (name)"));
}

TEST(Plan, SeveralStepsPairByNumber) {
  const DumpSet target = set_of({in_step(1, "a"), in_step(2, "a"), in_step(3, "b")});
  const DumpSet golden = set_of({in_step(2, "a"), in_step(3, "a")});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a output:0 = -: no_golden", "a output:0 = a output:0 (name)",
                          "- = a output:0: no_target", "b output:0 = -: no_golden"));
  EXPECT_EQ(rows[0].message, "the operator is there with step 2, here it has step 1");
  EXPECT_EQ(rows[1].target->step(), 2);
  EXPECT_EQ(rows[1].golden->step(), 2);
  EXPECT_EQ(rows[2].message, "the operator is there with step 1, here it has step 3");
  EXPECT_EQ(rows[3].message, "");
}

// The step is there; it is the slot that is missing.
TEST(Plan, MessagesNameWhatIsMissing) {
  DumpSet target = set_of({in_step(0, "a"), in_step(1, "a"), in_step(1, "a")});
  target.entries[2].slot = input(0);
  dump::sort_entries(target.entries);
  const DumpSet golden = set_of({in_step(0, "a"), in_step(1, "a")});
  const auto rows = make_plan(target, golden);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(line_of(rows[1]), "a input:0 = -: no_golden");
  EXPECT_EQ(rows[1].message, "the operator is there, but without input:0");
}

TEST(Plan, RanksAndGraphsTellEntriesApart) {
  std::vector<Entry> entries;
  for (int64_t rank : {0, 1})
    for (const char* graph : {"g1", "g2"}) {
      entries.push_back(entry("a"));
      entries.back().put_at({entries.back().step(), rank, graph});
    }
  const DumpSet target = set_of(entries), golden = set_of(entries);
  const auto rows = make_plan(target, golden);
  ASSERT_EQ(rows.size(), 4u);
  for (const PlannedRow& row : rows) {
    EXPECT_EQ(row.rule, "name");
    EXPECT_EQ(row.target->rank(), row.golden->rank());
    EXPECT_EQ(row.target->graph(), row.golden->graph());
  }
  EXPECT_THAT(indices_of(rows), ElementsAre(0, 1, 2, 3));
}

// The whole name has to be made of golden operators that ran one after the other and are alone.
TEST(Plan, FusedOperatorsNamedAfterTheirParts) {
  const auto golden = [](std::vector<std::string> names) {
    std::vector<Entry> entries;
    for (size_t i = 0; i < names.size(); ++i)
      entries.push_back(entry(names[i], kOutput, static_cast<int64_t>(i) + 1));
    return set_of(std::move(entries));
  };
  const auto plan = [&](const char* target, std::vector<std::string> names) {
    const DumpSet t = set_of({entry(target)}), g = golden(std::move(names));
    std::string text;
    for (const std::string& line : lines_of(make_plan(t, g))) text += line + "|";
    return text;
  };
  EXPECT_EQ(plan("conv1bn1relu1", {"conv1", "bn1", "relu1"}),
            "- = conv1 output:0: inside_fusion|- = bn1 output:0: inside_fusion|"
            "conv1bn1relu1 output:0 = relu1 output:0 (fused-name)|");
  EXPECT_THAT(plan("Conv_0_Relu_1", {"Conv_0", "Relu_1"}),
              HasSubstr("= Relu_1 output:0 (fused-name)"));
  EXPECT_THAT(plan("net/conv1/net/relu1", {"net/conv1", "net/relu1"}), HasSubstr("(fused-name)"));
  for (const auto& names : std::vector<std::vector<std::string>>{
           {"conv1", "0"},                  // conv10 is not conv1 and 0
           {"conv1"},                       // a part of the name
           {"relu1", "bn1", "conv1"},       // another order
           {"conv1", "x", "bn1", "relu1"},  // something between
       }) {
    EXPECT_THAT(plan("conv10", names), Not(HasSubstr("fused-name")));
    EXPECT_THAT(plan("conv1bn1relu1", names), Not(HasSubstr("fused-name")));
    EXPECT_THAT(plan("conv1bn1relu1x", names), Not(HasSubstr("fused-name")));
  }
  // Two ways to read it.
  EXPECT_THAT(plan("aab", {"a", "ab", "aa", "b"}), Not(HasSubstr("fused-name")));
  // What ran next has a partner of its own; only its namesake is alone.
  EXPECT_THAT(lines_of(make_plan(set_of({entry("a/b", kOutput, 1), entry("xa_b", kOutput, 2)}),
                                 golden({"x", "a/b", "a.b"}))),
              ElementsAre("- = x output:0: no_target", "a/b output:0 = a/b output:0 (name)",
                          "- = a.b output:0: no_target", "xa_b output:0 = -: no_golden"));
}

TEST(Plan, TheMapComesFirst) {
  const DumpSet target = set_of({entry("conv1"), entry("conv2"), entry("fused")});
  const DumpSet golden = set_of({entry("conv1"), entry("conv2"), entry("relu/1")});
  PlanOptions options;
  options.map.operators = {{"fused", "relu/1"}, {"conv1", "conv2"}};
  const auto rows = make_plan(target, golden, options);
  EXPECT_THAT(
      lines_of(rows),
      ElementsAre("- = conv1 output:0: no_target", "conv1 output:0 = conv2 output:0 (map)",
                  "conv2 output:0 = -: no_golden", "fused output:0 = relu/1 output:0 (map)"));
  EXPECT_EQ(rows[0].message, "by the map, the target operator of this name belongs to conv2");
  options.map.operators = {{"conv2", "conv1"}, {"conv1", "conv2"}};
  EXPECT_THAT(
      lines_of(make_plan(target, golden, options)),
      ElementsAre("conv1 output:0 = conv2 output:0 (map)", "- = relu/1 output:0: no_target",
                  "conv2 output:0 = conv1 output:0 (map)", "fused output:0 = -: no_golden"));
}

TEST(Plan, TwoSingleTensorsAreAPair) {
  DumpSet target = set_of({entry("after", input(3))}), golden = set_of({entry("before")});
  EXPECT_EQ(make_plan(target, golden).size(), 2u);
  target.is_single_file = golden.is_single_file = true;
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("after input:3 = before output:0 (only-tensor)"));
  golden.entries[0] = target.entries[0];
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("after input:3 = after input:3 (name)"));
  golden.entries = {entry("a"), entry("b")};
  EXPECT_EQ(make_plan(target, golden).size(), 3u);
}

TEST(Plan, WhatIsNotWantedIsFiltered) {
  const DumpSet target = set_of({entry("a/1"), entry("b"), entry("only")}, {"damaged.npy"});
  const DumpSet golden = set_of({entry("a_1"), entry("b")}, {"only.npy"});
  PlanOptions options;
  options.wants = [](const Entry& e) { return e.operator_name.str().starts_with("a/"); };
  const auto rows = make_plan(target, golden, options);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a/1 output:0 = a_1 output:0 (normalised-name)",
                          "b output:0 = b output:0 (name): filtered",
                          "only output:0 = ~only.npy: filtered", "~damaged.npy = -: damaged_file"));
  EXPECT_EQ(rows[2].message, "");
}

// Golden goes by what wants it, wherever filtering has put that.
TEST(Plan, FilteringFollowsTheMapToNamedSlots) {
  const auto named = [](const char* name) { return Slot{SlotKind::kInput, dump::kNamed, name}; };
  const DumpSet target =
      set_of({entry("a", named("x")), entry("b", named("y")), entry("c", named("z"))});
  const DumpSet golden =
      set_of({entry("g", named("x1")), entry("h", named("y1")), entry("i", named("z1"))});
  PlanOptions options;
  options.map.tensors = {{"a input:x", {"g", named("x1")}},
                         {"b input:y", {"h", named("y1")}},
                         {"c input:z", {"i", named("z1")}}};
  options.wants = [](const Entry& e) { return e.operator_name == "c"; };
  EXPECT_THAT(
      lines_of(make_plan(target, golden, options)),
      ElementsAre("a input:x = g input:x1 (map): filtered",
                  "b input:y = h input:y1 (map): filtered", "c input:z = i input:z1 (map)"));
}

TEST(Plan, FilteringAStepLeavesOneStepEach) {
  const DumpSet target = set_of({in_step(0, "a"), in_step(1, "a")});
  const DumpSet golden = set_of({in_step(1, "a")});
  PlanOptions options;
  options.wants = [](const Entry& e) { return e.step() == 1; };
  EXPECT_THAT(lines_of(make_plan(target, golden, options)),
              ElementsAre("a output:0 = -: filtered", "a output:0 = a output:0 (name)"));
}

TEST(Plan, DamagedFilesStandForWhatTheyShouldHaveHeld) {
  struct Case {
    const char* what;
    const char* file;
    const char* op;
    Slot slot;
    bool stands;
  };
  const Case cases[] = {
      {"device dump", "0/Conv2D.net_conv1.5.7.1700000000000003", "net/conv1", output(0), true},
      {"device dump, any slot", "Conv2D.conv1.5.7.1700000000000003", "conv1", input(2), true},
      {"golden npy", "conv1.1.1700000000000003.npy", "conv1", output(1), true},
      {"golden npy of another slot", "conv1.1.1700000000000003.npy", "conv1", output(0), false},
      {"TensorFlow debugger", "conv1.0.1700000000000003.2.npy", "conv1", output(0), true},
      {"FX", "mm-aten.mm.default.INPUT.1.20240102030405000000.npy", "mm-aten.mm.default", input(1),
       true},
      {"plain path", "net/conv1.npy", "net/conv1", output(0), true},
      {"plain path with dots", "v1.0/conv1", "v1.0/conv1", output(0), true},
      {"plain path, other operator", "conv10.npy", "conv1", output(0), false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const DumpSet whole = set_of({entry(c.op, c.slot)}), broken = set_of({}, {c.file});
    for (const bool is_target : {true, false}) {
      const auto rows = is_target ? make_plan(broken, whole) : make_plan(whole, broken);
      ASSERT_EQ(rows.size(), c.stands ? 1u : 2u);
      const PlannedRow& row = rows.back();
      EXPECT_EQ(row.reason, "damaged_file");
      EXPECT_EQ(row.message, fmt::format("file is damaged: {}, byte 8", c.file));
      EXPECT_EQ(row.damaged_is_target, is_target);
      EXPECT_EQ((is_target ? row.golden : row.target) != nullptr, c.stands);
    }
  }
}

// Files of msprobe are named after calls, on both sides the same: those of the same directory
// first.
TEST(Plan, DamagedFilesOfTheSameName) {
  const auto in_file = [](int64_t step, std::string file) {
    Entry made = in_step(step, "Functional.conv2d.0.forward");
    made.parts = {{std::move(file), ""}};
    return made;
  };
  const std::string name = "dump_tensor_data/Functional.conv2d.0.forward.output.0.pt";
  const DumpSet golden =
      set_of({in_file(0, "step0/rank0/" + name), in_file(1, "step1/rank0/" + name)});
  const DumpSet target = set_of({}, {"step1/rank0/" + name, "step0/rank0/" + name});
  const auto rows = make_plan(target, golden);
  ASSERT_EQ(rows.size(), 2u);  // each tensor once
  for (const PlannedRow& row : rows) {
    EXPECT_EQ(row.reason, "damaged_file");
    ASSERT_NE(row.rare().damaged, nullptr);
    EXPECT_EQ(row.rare().damaged->file, row.golden->parts.front().file);
  }
}

TEST(Plan, DamagedFilesOfSeveralStepsAndSlots) {
  const DumpSet golden = set_of({entry("a", input(0), 1), entry("a", output(0), 1),
                                 entry("a", output(0), 2), entry("b", output(0), 3)});
  const DumpSet target =
      set_of({}, {"Add.a.1.1.1700000000000001", "Add.a.1.1.1700000000000002", "notes.npy"});
  EXPECT_THAT(lines_of(make_plan(target, golden)),
              ElementsAre("~Add.a.1.1.1700000000000001 = a input:0: damaged_file",
                          "~Add.a.1.1.1700000000000001 = a output:0: damaged_file",
                          "~Add.a.1.1.1700000000000002 = a output:0: damaged_file",
                          "- = b output:0: no_target", "~notes.npy = -: damaged_file"));
}

TEST(Plan, DamagedFilesFollowTheMap) {
  PlanOptions options;
  options.map.operators = {{"fused", "relu/1"}};
  EXPECT_THAT(lines_of(make_plan(set_of({entry("fused")}),
                                 set_of({}, {"relu_1.0.1700000000000003.npy"}), options)),
              ElementsAre("fused output:0 = ~relu_1.0.1700000000000003.npy: damaged_file"));
  EXPECT_THAT(lines_of(make_plan(set_of({}, {"fused.npy"}), set_of({entry("relu/1")}), options)),
              ElementsAre("~fused.npy = relu/1 output:0: damaged_file"));
}

TEST(Plan, FilesThatAreNoTensorsCostNoRow) {
  DumpSet target = set_of({entry("a")});
  target.skipped.push_back({"notes.txt", "text, not a tensor", {}});
  EXPECT_EQ(make_plan(target, target).size(), 1u);
}

TEST(Plan, GoldenRowsFollowTheirPredecessor) {
  const DumpSet target = set_of({entry("a", {}, 1), entry("c", {}, 2), entry("e", {}, 3)});
  const DumpSet golden = set_of({entry("_", {}, 0), entry("a", {}, 1), entry("b1", {}, 2),
                                 entry("b2", {}, 3), entry("c", {}, 4), entry("f", {}, 5)},
                                {"z.npy"});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("- = _ output:0: no_target", "a output:0 = a output:0 (name)",
                          "- = b1 output:0: no_target", "- = b2 output:0: no_target",
                          "c output:0 = c output:0 (name)", "- = f output:0: no_target",
                          "e output:0 = -: no_golden", "- = ~z.npy: damaged_file"));
  EXPECT_THAT(indices_of(rows), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// All tensors of an operator have one index, those of one side alone among them.
TEST(Plan, TheIndexCountsOperators) {
  const DumpSet target = set_of({entry("a", output(0), 1), entry("a", output(2), 1),
                                 entry("b", output(0), 2), entry("b", output(0), 3)});
  const DumpSet golden =
      set_of({entry("a", input(0), 7), entry("a", output(0), 7), entry("a", output(1), 7),
              entry("b", output(0), 8), entry("b", output(0), 9)});
  const auto rows = make_plan(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("- = a input:0: no_target", "a output:0 = a output:0 (name)",
                          "- = a output:1: no_target", "a output:2 = -: no_golden",
                          "b output:0 = b output:0 (name)", "b output:0 = b output:0 (name)"));
  EXPECT_THAT(indices_of(rows), ElementsAre(0, 0, 0, 0, 1, 2));
}

// --- laws, for any two sets

struct Any {
  std::mt19937 engine;
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); }

  std::string name() {
    std::string text;
    for (int i = below(4); i >= 0; --i) text += "ab1/.:_"[below(7)];
    return text;
  }
  Slot slot() {
    const Slot slots[] = {output(0),
                          output(1),
                          input(0),
                          {SlotKind::kInput, 1, "2"},
                          {SlotKind::kInput, dump::kNamed, "1.2"},
                          {SlotKind::kOutput, dump::kNamed, "0"}};
    return slots[below(below(2) == 0 ? 1 : 6)];
  }
  DumpSet set() {
    const int steps = below(4), ranks = below(3), graphs = below(3), times = 1 + below(3);
    std::vector<Entry> entries;
    for (int i = below(12); i > 0; --i) {
      Entry& made = entries.emplace_back(entry(name(), slot(), below(times)));
      dump::Place place;
      if (steps > 0) place.step = below(steps);
      if (ranks > 0 && below(8) > 0) place.rank = below(ranks);
      if (graphs > 0) place.graph = fmt::format("g{}", below(graphs));
      made.put_at(std::move(place));
    }
    std::vector<std::string> damaged;
    for (int i = below(4); i > 0; --i) {
      const char* const forms[] = {"Add.{}.1.2.1700000000000001", "{}.0.1700000000000001.npy",
                                   "{}.npy", "{}"};
      damaged.push_back(fmt::format(fmt::runtime(forms[below(4)]), pair::normalised(name())));
    }
    DumpSet made = set_of(std::move(entries), damaged);
    made.skipped.push_back({"notes.txt", "text, not a tensor", {}});
    made.is_single_file = below(4) == 0;
    return made;
  }
  PlanOptions options(const DumpSet& target, const DumpSet& golden) {
    PlanOptions options;
    if (below(2) == 0)
      options.wants = [letter = "ab1/"[below(4)], step = below(5)](const Entry& e) {
        return e.operator_name.str().find(letter) != std::string::npos || e.step() == step;
      };
    std::set<std::string> used;
    if (!target.entries.empty() && !golden.entries.empty())
      for (int i = below(4) - 1; i > 0; --i) {
        const auto& t = target.entries[static_cast<size_t>(below(int(target.entries.size())))];
        const auto& g = golden.entries[static_cast<size_t>(below(int(golden.entries.size())))];
        if (!options.map.operators.contains(t.operator_name) && used.insert(g.operator_name).second)
          options.map.operators[t.operator_name] = g.operator_name;
      }
    return options;
  }
};

void expect_all_once(const DumpSet& set, const std::vector<PlannedRow>& rows, bool is_target) {
  std::map<const Entry*, int> seen;
  std::map<const Skipped*, int> damaged;
  for (const PlannedRow& row : rows) {
    if (const Entry* e = is_target ? row.target : row.golden) ++seen[e];
    if (row.rare().damaged != nullptr && row.damaged_is_target == is_target)
      ++damaged[row.rare().damaged];
  }
  for (const Entry& e : set.entries) EXPECT_EQ(seen[&e], 1) << e.operator_name.str();
  EXPECT_EQ(seen.size(), set.entries.size());
  for (const Skipped& s : set.skipped) EXPECT_EQ(damaged[&s] > 0, s.error.has_value()) << s.file;
  EXPECT_EQ(damaged.size(), set.skipped.size());
}

void expect_lawful(const DumpSet& target, const DumpSet& golden, const PlanOptions& options) {
  const auto rows = make_plan(target, golden, options);
  expect_all_once(target, rows, true);
  expect_all_once(golden, rows, false);

  size_t pairs = 0, alone = 0;
  std::map<std::string, std::string> golden_of, target_of;
  const bool filters = static_cast<bool>(options.wants);
  for (size_t i = 0; i < rows.size(); ++i) {
    const PlannedRow& row = rows[i];
    SCOPED_TRACE(line_of(row));
    if (i > 0) {
      EXPECT_TRUE(row.index == rows[i - 1].index || row.index == rows[i - 1].index + 1);
    }
    if (row.rare().damaged != nullptr) {
      EXPECT_EQ(row.damaged_is_target ? row.target : row.golden, nullptr);
    }
    if (row.target == nullptr && row.golden == nullptr) {
      ++alone;
      EXPECT_EQ(row.reason, "damaged_file");
      continue;
    }
    if (filters && row.target != nullptr) {
      EXPECT_EQ(row.reason == "filtered", !options.wants(*row.target));
    }
    if (!filters) {
      EXPECT_NE(row.reason, "filtered");
    }
    if (row.target == nullptr || row.golden == nullptr) {
      EXPECT_NE(row.reason, "");
      EXPECT_EQ(row.rule, "");
      continue;
    }
    ++pairs;
    EXPECT_TRUE(row.reason.empty() || row.reason == "filtered");
    const std::string &t = row.target->operator_name, &g = row.golden->operator_name;
    if (row.rule != "only-tensor") {
      EXPECT_EQ(row.target->slot, row.golden->slot);
      EXPECT_EQ(golden_of.try_emplace(t, g).first->second, g);
      EXPECT_EQ(target_of.try_emplace(g, t).first->second, t);
    }
    if (row.rule == "name") {
      EXPECT_EQ(t, g);
    }
    if (row.rule == "normalised-name") {
      EXPECT_NE(t, g);
      EXPECT_EQ(pair::normalised(t), pair::normalised(g));
    }
    if (row.rule == "map") {
      EXPECT_EQ(options.map.operators.at(t), g);
    }
    EXPECT_NE(row.rule, "");
  }
  EXPECT_EQ(rows.size(), target.entries.size() + golden.entries.size() - pairs + alone);

  // Each side's rows keep its order.
  const Entry* last = nullptr;
  for (const PlannedRow& row : rows) {
    if (row.target == nullptr) continue;
    if (last != nullptr) {
      EXPECT_LT(last, row.target);
    }
    last = row.target;
  }
  EXPECT_EQ(lines_of(rows), lines_of(make_plan(target, golden, options)));
}

TEST(Plan, EverythingIsAccountedFor) {
  for (int seed = 0; seed < sample_of(4000, 10); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Any any{std::mt19937(static_cast<unsigned>(seed))};
    const DumpSet target = any.set(), golden = any.set();
    expect_lawful(target, golden, {});
    expect_lawful(target, golden, any.options(target, golden));
    if (testing::Test::HasFailure()) break;
  }
}

// A set has a partner for each of its own entries.
TEST(Plan, ASetAgreesWithItself) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Any any{std::mt19937(seed)};
    const DumpSet set = any.set();
    for (const PlannedRow& row : make_plan(set, set))
      if (row.target != nullptr || row.golden != nullptr) {
        EXPECT_EQ(row.target, row.golden);
      }
  }
}

TEST(Plan, TwentyThousandTensorsTakeNoTime) {
  std::vector<Entry> entries;
  for (int i = 0; i < 20000; ++i) entries.push_back(entry(fmt::format("model/layer.{}/op", i)));
  std::vector<std::string> damaged;
  for (int i = 0; i < 2000; ++i) damaged.push_back(fmt::format("lost{}.npy", i));
  const DumpSet target = set_of(entries, damaged);
  for (Entry& e : entries) e.operator_name = pair::normalised(e.operator_name);
  const DumpSet golden = set_of(entries);
  EXPECT_EQ(make_plan(target, golden).size(), 22000u);
}

}  // namespace
}  // namespace plumb::pair
