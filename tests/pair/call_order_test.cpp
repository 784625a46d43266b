// SPDX-License-Identifier: Apache-2.0
#include "pair/call_order.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pair/plan.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;

TEST(CallName, Table) {
  struct Case {
    const char* op;
    bool is_call;
    std::string base, head, tail;
    bool is_backward;
  };
  const Case cases[] = {
      {"", false, "", "", "", false},
      {"relu", false, "", "", "", false},
      {"0.backward", false, "", "", "", false},  // nothing left to name it
      {"..backward", false, "", "", "", false},
      {"Functional.relu.2.backward", true, "Functional.relu", "2", "backward", true},
      {"Functional.relu.2.forward", true, "Functional.relu", "2", "forward", false},
      {"Module.a.Conv2d.backward.3", true, "Module.a.Conv2d", "backward", "3", true},
      {"Module.backward.Conv2d.forward.3", true, "Module.backward.Conv2d", "forward", "3", false},
      {"Module.a.Conv2d.parameters_grad", false, "", "", "", false},
      {"Module.a.Conv2d.parameters_grad.0", false, "", "", "", false},
      {"Module.backward.forward", true, "Module", "backward", "forward", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    const auto name = parse_call_name(c.op);
    ASSERT_EQ(name.has_value(), c.is_call);
    if (!name) continue;
    EXPECT_EQ(name->base, c.base);
    EXPECT_EQ(name->head, c.head);
    EXPECT_EQ(name->tail, c.tail);
    EXPECT_EQ(name->is_backward, c.is_backward);
  }
}

// One tensor to a call, in the order given; an empty name begins the next step.
DumpSet calls(const std::vector<std::string>& names, bool has_numbers = true) {
  DumpSet set;
  set.traits.has_numbered_calls = has_numbers;
  int64_t step = 0;
  for (const std::string& name : names) {
    if (name.empty()) {
      ++step;
      continue;
    }
    Entry& entry = set.entries.emplace_back();
    entry.operator_name = name;
    entry.put_at({step, {}});
    entry.timestamp = static_cast<int64_t>(set.entries.size());
    entry.statistics.emplace();
  }
  return set;
}

// "target=golden rule" of each pair, "target" and "=golden" of what is alone.
std::vector<std::string> plan_of(const DumpSet& target, const DumpSet& golden,
                                 const PlanOptions& options = {}) {
  std::vector<std::string> lines;
  for (const PlannedRow& row : make_plan(target, golden, options)) {
    std::string line;
    if (row.target != nullptr) line = row.target->operator_name;
    if (row.golden != nullptr) line += "=" + row.golden->operator_name.str();
    lines.push_back(line + (row.rule.empty() ? "" : " ") + std::string(row.rule));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(CallOrder, BackwardCallsPairInTheOrderTheyRan) {
  const DumpSet target =
      calls({"T.f.0.forward", "T.f.1.forward", "T.f.2.backward", "T.f.0.backward"});
  const DumpSet golden =
      calls({"T.f.0.forward", "T.f.1.forward", "T.f.1.backward", "T.f.0.backward"});
  EXPECT_EQ(
      plan_of(target, golden),
      (Lines{"T.f.0.forward=T.f.0.forward name", "T.f.1.forward=T.f.1.forward name",
             "T.f.2.backward=T.f.1.backward call-order", "T.f.0.backward=T.f.0.backward name"}));
}

TEST(CallOrder, TheSameNumberMayBelongElsewhere) {
  const DumpSet target = calls({"T.f.3.backward", "T.f.1.backward"});
  const DumpSet golden = calls({"T.f.1.backward", "T.f.0.backward"});
  EXPECT_EQ(plan_of(target, golden), (Lines{"T.f.3.backward=T.f.1.backward call-order",
                                            "T.f.1.backward=T.f.0.backward call-order"}));
}

TEST(CallOrder, WhatOneSideHasMoreOfIsAlone) {
  const DumpSet more = calls({"T.f.2.backward", "T.f.1.backward"});
  const DumpSet one = calls({"T.f.1.backward"});
  EXPECT_EQ(plan_of(more, one),
            (Lines{"T.f.2.backward=T.f.1.backward call-order", "T.f.1.backward"}));
  EXPECT_EQ(plan_of(one, more),
            (Lines{"T.f.1.backward=T.f.2.backward call-order", "=T.f.1.backward"}));
}

TEST(CallOrder, StepsAreCountedEachOnItsOwn) {
  const DumpSet target = calls({"T.f.1.backward", "", "T.f.3.backward", "T.f.2.backward"});
  const DumpSet golden = calls({"T.f.0.backward", "", "T.f.2.backward", "T.f.1.backward"});
  EXPECT_EQ(plan_of(target, golden), (Lines{"T.f.1.backward=T.f.0.backward call-order",
                                            "T.f.3.backward=T.f.2.backward call-order",
                                            "T.f.2.backward=T.f.1.backward call-order"}));
}

TEST(CallOrder, EqualDumpsNeedNoChoice) {
  const DumpSet set = calls({"T.f.0.forward", "T.f.1.backward", "T.f.0.backward"});
  EXPECT_TRUE(pair_by_call_order(set, set).empty());
}

TEST(CallOrder, OtherDumpsKeepTheirNames) {
  const DumpSet target = calls({"T.f.1.backward"}, false);
  const DumpSet golden = calls({"T.f.0.backward"}, false);
  EXPECT_TRUE(pair_by_call_order(target, golden).empty());
}

TEST(CallOrder, TheUsersMapComesFirst) {
  const DumpSet target = calls({"T.f.3.backward", "T.f.1.backward"});
  const DumpSet golden = calls({"T.f.1.backward", "T.f.0.backward"});
  PlanOptions options;
  options.map.operators = {{"T.f.3.backward", "T.f.0.backward"}};
  const Lines lines = plan_of(target, golden, options);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "T.f.3.backward=T.f.0.backward map"), 1);
}

}  // namespace
}  // namespace plumb::pair
