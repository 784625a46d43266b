// SPDX-License-Identifier: Apache-2.0
//
// Who decides which tensors are partners when several have something to say.
#include "pair/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pair/entries_testing.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;
using testing::ElementsAre;

DumpSet timed_set_of(const std::vector<std::string>& names) {
  DumpSet set;
  for (const std::string& name : names) {
    Entry entry;
    entry.operator_name = name;
    entry.timestamp = std::ssize(set.entries) + 1;
    set.entries.push_back(std::move(entry));
  }
  return set;
}

TEST(Sources, StandInTheOrderInWhichTheyDecide) {
  std::vector<std::string_view> names;
  for (const Source& source : sources()) names.push_back(source.name);
  EXPECT_THAT(names, ElementsAre("map", "told", "calls", "graph", "name"));
}

// Everybody knows a partner of `op`, each another one. One after the other falls silent.
TEST(Sources, TheFirstThatKnowsDecides) {
  const DumpSet target = timed_set_of({"op"});
  const DumpSet golden = timed_set_of({"op", "by_map", "by_graph", "told", "called"});
  graph::Graph graph;
  graph::Operator op;
  op.name = "op";
  op.type = "Conv2D";
  op.origins = {"by_graph"};
  op.outputs.resize(1);
  op.outputs[0].origin = "by_graph";
  op.outputs[0].origin_output = 0;
  graph.operators = {op};
  const Matcher matcher(graph);
  NameMap map;
  map.operators["op"] = "by_map";
  const Entry* const entry = &target.entries[0];
  const Pairings told{{entry, Pairing::with("told", kOutput, "told")}};
  const Pairings calls{{entry, Pairing::with("called", kOutput, "call-order")}};
  const Pairings no_calls;
  const NameMap no_map;

  struct Case {
    const char* who;
    const NameMap& map;
    const Matcher* matcher;
    const Pairings* told;
    const Pairings& calls;
    const char* partner;
    const char* rule;
  };
  const Case cases[] = {
      {"map", map, &matcher, &told, calls, "by_map", "map"},
      {"told", no_map, &matcher, &told, calls, "told", "told"},
      {"calls", no_map, &matcher, nullptr, calls, "called", "call-order"},
      {"graph", no_map, &matcher, nullptr, no_calls, "by_graph", "origin"},
      {"name", no_map, nullptr, nullptr, no_calls, "op", "name"},
  };
  for (const Case& each : cases) {
    const Partners partners(each.map, each.matcher, target, golden);
    const Pairing pairing = pairing_of({partners, each.told, false, each.calls}, *entry);
    EXPECT_TRUE(pairing.has_partner()) << each.who;
    EXPECT_EQ(pairing.op, each.partner) << each.who;
    EXPECT_EQ(pairing.rule, each.rule) << each.who;
  }
}

// A source that says there is none has decided, too.
TEST(Sources, NoPartnerIsAnAnswer) {
  const DumpSet target = timed_set_of({"op", "other"}), golden = timed_set_of({"op", "other"});
  const NameMap map;
  const Partners partners(map, nullptr, target, golden);
  const Pairings none;
  const Pairings told{{&target.entries[0], Pairing::none("inside_fusion", "fused into x")}};
  const Pairing refused = pairing_of({partners, &told, false, none}, target.entries[0]);
  EXPECT_EQ(refused.reason, "inside_fusion");
  EXPECT_EQ(refused.message, "fused into x");
  // What was not told goes on to the others, unless all was told.
  EXPECT_EQ(pairing_of({partners, &told, false, none}, target.entries[1]).op, "other");
  EXPECT_EQ(pairing_of({partners, &told, true, none}, target.entries[1]).reason, "no_golden");
}

}  // namespace
}  // namespace plumb::pair
