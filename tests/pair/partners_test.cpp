// SPDX-License-Identifier: Apache-2.0
#include "pair/partners.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;
using testing::HasSubstr;

Entry timed_entry(std::string name, Slot slot = {}, std::string type = {}) {
  Entry made;
  made.operator_name = std::move(name);
  made.slot = std::move(slot);
  made.type = std::move(type);
  made.timestamp = 1;
  return made;
}
DumpSet set_in_order(std::vector<Entry> entries) {
  DumpSet set;
  set.entries = std::move(entries);
  return set;
}
const Slot kInput{SlotKind::kInput, 0, {}};

// "golden output:0 by rule", or "reason: message".
std::string pairing_text(const Pairing& pairing) {
  if (!pairing.has_partner()) return fmt::format("{}: {}", pairing.reason, pairing.message);
  return fmt::format("{} {} by {}", pairing.op, to_string(pairing.slot), pairing.rule);
}

TEST(Partners, ByName) {
  const DumpSet target = set_in_order(
      {timed_entry("a/b"), timed_entry("conv1bn1"), timed_entry("conv1bn1", kInput),
       timed_entry("x.y"), timed_entry("x/y"), timed_entry("gone"), timed_entry("same")});
  const DumpSet golden =
      set_in_order({timed_entry("a_b"), timed_entry("conv1"), timed_entry("bn1"),
                    timed_entry("x_y"), timed_entry("x:y"), timed_entry("same")});
  const NameMap map;
  const Partners partners(map, nullptr, target, golden);
  struct Case {
    size_t entry;
    const char* line;
  };
  const Case cases[] = {
      {0, "a_b output:0 by normalised-name"},
      {1, "bn1 output:0 by fused-name"},
      {2, "no_golden: a fused operator: only its output is told by its name"},
      {3, "ambiguous_pair: 2 target and 2 golden operators are all written 'x_y'"},
      {4, "ambiguous_pair: 2 target and 2 golden operators are all written 'x_y'"},
      {5, "no_golden: "},
      {6, "same output:0 by name"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(pairing_text(partners.by_name(target.entries[each.entry])), each.line);
    EXPECT_FALSE(partners.by_map(target.entries[each.entry]));
    EXPECT_FALSE(partners.by_graph(target.entries[each.entry]));
  }
  EXPECT_TRUE(partners.is_namesake(target.entries[6]));
  EXPECT_FALSE(partners.is_namesake(target.entries[0]));
  // ... and why golden tensors are left.
  EXPECT_EQ(pairing_text(partners.why_left(golden.entries[1])),
            "inside_fusion: by their names, fused into conv1bn1");
  EXPECT_EQ(pairing_text(partners.why_left(golden.entries[3])),
            "ambiguous_pair: 2 target and 2 golden operators are all written 'x_y'");
  EXPECT_EQ(partners.target_of(golden.entries[0]), "a/b");
}

TEST(Partners, ByMap) {
  const DumpSet target = set_in_order(
      {timed_entry("a"), timed_entry("a", kInput), timed_entry("b"), timed_entry("c")});
  const DumpSet golden =
      set_in_order({timed_entry("x"), timed_entry("y"), timed_entry("b"), timed_entry("c")});
  NameMap map;
  map.operators["a"] = "x";
  map.tensors["b output:0"] = {"y", {}};
  map.tensor_operators = {"b"};
  const Partners partners(map, nullptr, target, golden);
  const auto line = [&](size_t i) {
    const auto pairing = partners.by_map(target.entries[i]);
    return pairing ? pairing_text(*pairing) : "not in the map";
  };
  EXPECT_EQ(line(0), "x output:0 by map");
  EXPECT_EQ(line(1), "x input:0 by map");
  EXPECT_EQ(line(2), "y output:0 by map");
  EXPECT_EQ(line(3), "not in the map");
}

graph::Operator op_from(std::string name, std::string type, std::vector<std::string> origins) {
  graph::Operator made;
  made.name = std::move(name);
  made.type = std::move(type);
  made.outputs.resize(1);
  if (!origins.empty()) {
    made.outputs[0].origin = origins.back();
    made.outputs[0].origin_output = 0;
  }
  made.origins = std::move(origins);
  return made;
}

TEST(Partners, ByGraph) {
  graph::Graph graph;
  graph.operators = {op_from("conv1relu1", "Conv2D", {"conv1", "relu1"}),
                     op_from("trans", "TransData", {}), op_from("pool", "Pooling", {"pool"})};
  graph.operators[1].inputs = {{"conv1relu1", 0}};
  const Matcher matcher(graph);
  const DumpSet target =
      set_in_order({timed_entry("conv1relu1", {}, "Conv2D"), timed_entry("pool", {}, "Pooling"),
                    timed_entry("later_cast", {}, "Cast"), timed_entry("unknown")});
  const DumpSet golden =
      set_in_order({timed_entry("conv1"), timed_entry("relu1"), timed_entry("unknown")});
  const NameMap map;
  const Partners partners(map, &matcher, target, golden);
  const auto line = [&](size_t i) { return pairing_text(*partners.by_graph(target.entries[i])); };
  EXPECT_EQ(line(0), "relu1 output:0 by origin");
  EXPECT_THAT(line(1), HasSubstr("no_golden: golden has no pool"));
  EXPECT_THAT(line(2), HasSubstr("no_counterpart: the graph has no such operator, and Cast only"));
  EXPECT_EQ(line(3), "unknown output:0 by name");
  EXPECT_EQ(partners.by_graph(target.entries[3])->evidence, "the graph has no such operator");
  ASSERT_TRUE(partners.by_graph(target.entries[1])->missing);
  EXPECT_EQ(partners.by_graph(target.entries[1])->missing->op, "pool");
  EXPECT_THAT(pairing_text(partners.why_left(golden.entries[0])),
              HasSubstr("inside_fusion: fused into conv1relu1"));
}

// TensorFlow calls a tensor by its operator and the number of the output.
TEST(Partners, GoldenTensorsMayHaveTheNumberOfTheOutputInTheirNames) {
  graph::Graph graph;
  graph.operators = {op_from("conv1relu1", "Conv2D", {"conv1", "relu1"}),
                     op_from("split", "Split", {"split"}), op_from("pool", "Pooling", {"pool"})};
  graph.operators[1].outputs.push_back(graph.operators[1].outputs[0]);
  graph.operators[1].outputs[1].origin_output = 1;
  const Matcher matcher(graph);
  const DumpSet target =
      set_in_order({timed_entry("conv1relu1"), timed_entry("split"),
                    timed_entry("split", {dump::SlotKind::kOutput, 1, {}}), timed_entry("pool")});
  const DumpSet golden =
      set_in_order({timed_entry("conv1:0"), timed_entry("relu1:0"), timed_entry("split:0"),
                    timed_entry("split:1"), timed_entry("pool_0")});
  const NameMap map;
  const Partners partners(map, &matcher, target, golden);
  const auto line = [&](size_t i) { return pairing_text(*partners.by_graph(target.entries[i])); };
  EXPECT_EQ(line(0), "relu1:0 output:0 by origin");
  EXPECT_EQ(line(1), "split:0 output:0 by origin");
  EXPECT_EQ(line(2), "split:1 output:0 by origin");
  EXPECT_THAT(line(3), HasSubstr("no_golden"));  // pool_0 is another operator
  EXPECT_THAT(pairing_text(partners.why_left(golden.entries[0])),
              HasSubstr("inside_fusion: fused into conv1relu1"));
}

// A model input that only the golden graph has: nothing was to be dumped there.
TEST(Partners, AnInputOfTheGoldenGraphIsNotMissing) {
  graph::Graph graph, other;
  graph.operators = {op_from("cast", "Cast", {})};
  graph.operators[0].outputs[0].origin = "x";
  graph.operators[0].outputs[0].origin_output = 0;
  other.operators = {op_from("x", "Data", {})};
  other.operators[0].origins.reset();
  const Matcher matcher(graph, &other);
  const DumpSet target = set_in_order({timed_entry("cast", {}, "Cast")});
  const DumpSet golden = set_in_order({timed_entry("unknown")});
  const NameMap map;
  const Partners partners(map, &matcher, target, golden);
  EXPECT_THAT(pairing_text(*partners.by_graph(target.entries[0])), HasSubstr("no_counterpart"));
}

// Integers of a dump that quantizes stand for other numbers, also where the map names the partner.
TEST(Partners, QuantizedTensorsAreMarked) {
  const DumpSet target =
      set_in_order({timed_entry("q", {}, "AscendQuant"), timed_entry("conv", {}, "Conv2D")});
  const DumpSet golden = set_in_order({timed_entry("conv"), timed_entry("other")});
  NameMap map;
  const Partners plain(map, nullptr, target, golden);
  EXPECT_TRUE(plain.by_name(target.entries[1]).is_quantized);
  EXPECT_FALSE(plain.is_namesake(target.entries[1]));  // there is more to say
  map.operators["conv"] = "other";
  const Partners mapped(map, nullptr, target, golden);
  EXPECT_TRUE(mapped.by_map(target.entries[1])->is_quantized);
}

}  // namespace
}  // namespace plumb::pair
