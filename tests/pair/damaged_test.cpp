// SPDX-License-Identifier: Apache-2.0
//
// What a file that cannot be read should have held. How it costs rows: plan_test.cpp.
#include "pair/damaged.h"

#include <gtest/gtest.h>

#include "pair/entries_testing.h"

namespace plumb::pair {
namespace {

struct PromiseCase {
  const char* path;
  const char* op;
  const char* slot;  // "any" if the name does not tell
  bool is_told;
};

const PromiseCase kPromiseCases[] = {
    {"", "", "output:0", false},
    {"a", "a", "output:0", false},
    {"some/where/weights.npy", "some/where/weights", "output:0", false},
    {"run/relu1.0.1682931000.npy", "relu1", "output:0", true},
    {"run/relu1.3.1682931000.npy", "relu1", "output:3", true},
    {"npu/Conv2D.conv1.3.17.1682931245", "conv1", "any", true},
    {"npu/Conv2D.a_b_c.3.17.1682931245000", "a_b_c", "any", true},
    {"x.npz", "x", "output:0", false},
};

TEST(Damaged, NamesTellWhatFilesShouldHaveHeld) {
  for (const PromiseCase& each : kPromiseCases) {
    const Promise promise = promise_of(each.path);
    EXPECT_EQ(promise.op, each.op) << each.path;
    EXPECT_EQ(promise.slot ? to_string(*promise.slot) : "any", each.slot) << each.path;
    EXPECT_EQ(promise.is_told, each.is_told) << each.path;
  }
}

// One file may be several tensors; each waiting row of its operator gets it, once.
TEST(Damaged, AFileStandsForEveryTensorOfItsOperator) {
  dump::DumpSet golden;
  golden.entries = {entry("conv1"), entry("conv1", {dump::SlotKind::kOutput, 1, {}}),
                    entry("conv10")};
  dump::DumpSet target;
  target.skipped.push_back({"Conv2D.conv1.3.17.1682931245", "damaged", Error{"cut short", "", ""}});
  std::vector<PlannedRow> rows = make_plan({}, golden);
  place_damaged(target, true, {}, rows);
  ASSERT_EQ(rows.size(), 3u);
  for (const PlannedRow& row : rows) {
    const bool is_conv1 = row.golden->operator_name == "conv1";
    EXPECT_EQ(row.reason, is_conv1 ? "damaged_file" : "no_target")
        << row.golden->operator_name.str();
    EXPECT_EQ(row.rare().damaged != nullptr, is_conv1);
  }
}

TEST(Damaged, AFileNobodyWaitsForIsARowOfItsOwn) {
  dump::DumpSet target;
  target.skipped.push_back({"a.npy", "damaged", Error{"cut short", "byte 8", ""}});
  target.skipped.push_back({"notes.txt", "no tensor", std::nullopt});
  std::vector<PlannedRow> rows;
  place_damaged(target, true, {}, rows);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].reason, "damaged_file");
  EXPECT_EQ(rows[0].message, "cut short: byte 8");
  EXPECT_TRUE(rows[0].damaged_is_target);
}

}  // namespace
}  // namespace plumb::pair
