// SPDX-License-Identifier: Apache-2.0
#include "pair/member_names.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

using testing::IsEmpty;

struct SplitCase {
  const char* what;
  std::vector<std::string_view> names;
  std::string_view fused;
  std::vector<std::string_view> members;
  bool is_prefix = false;
};

const SplitCase kSplits[] = {
    {"the name itself", {"Add_1", "Add_11"}, "Add_11", {"Add_11"}},
    {"two in one", {"Mul_4", "Sigmoid_5"}, "Mul_4Sigmoid_5", {"Mul_4", "Sigmoid_5"}},
    {"with a separator", {"Mul_4", "Sigmoid_5"}, "Mul_4_Sigmoid_5", {"Mul_4", "Sigmoid_5"}},
    {"longest first", {"Add_1", "Add_11", "Mul", "1Mul"}, "Add_11Mul", {"Add_11", "Mul"}},
    {"only one cut is complete", {"Add_1", "Add_11", "1Mul"}, "Add_11Mul", {"Add_1", "1Mul"}},
    {"added behind", {"MatMul_1", "MatMul"}, "MatMul_1_trans", {"MatMul_1"}, true},
    {"added below", {"MatMul_1"}, "MatMul_1/cast", {"MatMul_1"}, true},
    {"another number is another operator", {"MatMul_1"}, "MatMul_12", {}},
    {"nothing fits", {"Add_1"}, "Cast_3", {}},
    {"the rest does not fit", {"Add_1"}, "Add_1Cast_3", {}},
    {"empty", {"Add_1"}, "", {}},
};

TEST(MemberNames, TakesFusedNamesApart) {
  for (const SplitCase& c : kSplits) {
    SCOPED_TRACE(c.what);
    MemberNames names;
    for (std::string_view name : c.names) names.add(name);
    const Members members = names.split(c.fused);
    EXPECT_EQ(members.names, c.members);
    EXPECT_EQ(members.is_prefix, c.is_prefix);
  }
}

TEST(MemberNames, LongNamesTakeNoTime) {
  MemberNames names;
  const std::string many(4000, 'a');
  names.add("a");
  names.add("aa");
  EXPECT_EQ(names.split(many).names.size(), 2000U);
  EXPECT_THAT(names.split(many + "b").names, IsEmpty());
}

}  // namespace
}  // namespace plumb::pair
