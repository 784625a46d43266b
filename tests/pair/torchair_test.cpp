// SPDX-License-Identifier: Apache-2.0
#include "pair/torchair.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/dump.h"
#include "scratch.h"

namespace plumb::pair {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string data(const std::string& path) {
  return std::string(PLUMB_TEST_DATA "/msprobe/") + path;
}

// Golden by target, "MatMul output:0" -> "mm-aten.mm.default output:0", of the first token.
std::map<std::string, std::string> pairs_of(const std::string& target_path,
                                            const std::string& golden_path,
                                            const TorchairOptions& options = {}) {
  const auto target = dump::open_dump(data(target_path));
  const auto golden = dump::open_dump(data(golden_path));
  const auto torchair = pair_torchair(*target, *golden, options);
  std::map<std::string, std::string> pairs;
  if (!torchair) return {{"error", torchair.error().what}};
  EXPECT_EQ(torchair->pairings.size(), target->entries.size() + golden->entries.size());
  for (const dump::Entry& entry : target->entries) {
    const Pairing& pairing = torchair->pairings.at(&entry);
    EXPECT_NE(pairing.tensor == nullptr, pairing.reason.empty());
    if (entry.step().value_or(0) == 0 && pairing.tensor != nullptr)
      pairs[tensor_text(entry.operator_name, entry.slot)] =
          tensor_text(pairing.tensor->operator_name, pairing.tensor->slot) +
          (pairing.is_own ? " of target" : "");
  }
  return pairs;
}

TEST(Torchair, GraphsTellWhatFxTensorsStandFor) {
  auto pairs = pairs_of("ge_fx_new/target", "ge_fx_new/golden");
  EXPECT_EQ(pairs["MatMul output:0"], "mm-aten.mm.default output:0");
  EXPECT_EQ(pairs["Mul_4Sigmoid_5 input:1"], "mul_4-aten.mul.Tensor input:1");
  EXPECT_EQ(pairs["Mul_4Sigmoid_5 output:0"], "sigmoid_5-aten.sigmoid.default output:0");
  EXPECT_EQ(pairs["SplitD_6 output:1"], "split_6-aten.split.Tensor output:1");
  EXPECT_EQ(pairs["trans_Cast_14 output:0"], "trans_Cast_14 input:0 of target");
  EXPECT_EQ(pairs.count("Ghost_9 output:0"), 0U);
}

TEST(Torchair, FusedAgainstUnfusedUsesInputsFromOutside) {
  auto pairs = pairs_of("ge_ge_fusion/target", "ge_ge_fusion/golden");
  EXPECT_EQ(pairs["Add_1Relu_2Mul_3 input:1"], "Add_1 input:1");
  EXPECT_EQ(pairs["Add_1Relu_2Mul_3 input:2"], "Mul_3 input:1");
  EXPECT_EQ(pairs["Add_1Relu_2Mul_3 output:0"], "Mul_3 output:0");
  EXPECT_EQ(pairs.count("extra_Cast output:0"), 0U);
}

// GE's own graph knows better than the name which member gives out what.
TEST(Torchair, RecordedOriginsComeFirst) {
  const Scratch scratch;
  std::filesystem::copy(data("ge_ge_fusion"), scratch.path(),
                        std::filesystem::copy_options::recursive);
  std::ofstream(scratch.path() / "target/ge_proto_00000012_graph_1_Build.txt") << R"(
graph {
  name: "graph_1"
  op {
    name: "Add_1Relu_2Mul_3"
    type: "FusedAscBackend"
    attr {
      key: "_datadump_original_op_names"
      value { list { s: "Add_1" s: "Relu_2" s: "Mul_3" } }
    }
    output_desc {
      attr { key: "_datadump_origin_name" value { s: "Relu_2" } }
      attr { key: "_datadump_origin_output_index" value { i: 0 } }
    }
  }
})";
  const auto target = dump::open_dump(scratch.path() / "target");
  const auto golden = dump::open_dump(scratch.path() / "golden");
  const auto torchair = pair_torchair(*target, *golden);
  ASSERT_TRUE(torchair.ok());
  EXPECT_EQ(torchair->models.files.size(), 2U);
  for (const dump::Entry& entry : target->entries) {
    if (entry.operator_name != "Add_1Relu_2Mul_3") continue;
    const Pairing& pairing = torchair->pairings.at(&entry);
    ASSERT_NE(pairing.tensor, nullptr);
    EXPECT_EQ(pairing.rule, "fused");
    const bool is_output = entry.slot.kind == dump::SlotKind::kOutput;
    EXPECT_EQ(pairing.tensor->operator_name == "Relu_2", is_output);
  }
}

// Runs of an operator, by the times in the files' names: each its own golden run if both sides have
// as many, else the latest the latest.
TEST(Torchair, RunsOfAnOperatorPairByTime) {
  struct Case {
    const char* what;
    bool in_target, in_golden;
    std::vector<std::string> expected;  // of the target's outputs, by time: golden's time or reason
  };
  const Case cases[] = {{"once each", false, false, {"own"}},
                        {"twice each", true, true, {"own", "later"}},
                        {"target twice", true, false, {"superseded", "own"}},
                        {"golden twice", false, true, {"later"}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Scratch scratch;
    std::filesystem::copy(data("ge_ge_fusion"), scratch.path(),
                          std::filesystem::copy_options::recursive);
    // A second run of Mul_3, or of what it went into, nine seconds later.
    const auto repeat = [&](const char* side, const std::string& op) {
      std::vector<std::filesystem::path> files;
      for (const auto& file : std::filesystem::recursive_directory_iterator(scratch.path() / side))
        if (file.path().filename().string().find("." + op + ".") != std::string::npos)
          files.push_back(file.path());
      for (const auto& file : files) {
        const std::string name = file.filename().string();
        const size_t dot = name.rfind('.');
        const auto time = std::stoll(name.substr(dot + 1)) + 9'000'000;
        std::filesystem::copy_file(
            file, file.parent_path() / (name.substr(0, dot + 1) + std::to_string(time)));
      }
      return !files.empty();
    };
    if (c.in_target) {
      ASSERT_TRUE(repeat("target", "Add_1Relu_2Mul_3"));
    }
    for (const char* op : {"Add_1", "Relu_2", "Mul_3"}) {
      if (!c.in_golden) break;
      ASSERT_TRUE(repeat("golden", op));
    }
    const auto target = dump::open_dump(scratch.path() / "target");
    const auto golden = dump::open_dump(scratch.path() / "golden");
    const auto torchair = pair_torchair(*target, *golden);
    ASSERT_TRUE(torchair.ok());
    int64_t first = INT64_MAX;
    for (const dump::Entry& entry : golden->entries)
      if (entry.operator_name == "Mul_3" && entry.step().value_or(0) == 0)
        first = std::min(first, entry.timestamp);
    std::map<int64_t, std::string> found;
    for (const dump::Entry& entry : target->entries) {
      if (entry.operator_name != "Add_1Relu_2Mul_3" || entry.step().value_or(0) != 0 ||
          entry.slot.kind != dump::SlotKind::kOutput)
        continue;
      const Pairing& pairing = torchair->pairings.at(&entry);
      found[entry.timestamp] = pairing.tensor == nullptr            ? std::string(pairing.reason)
                               : pairing.tensor->timestamp == first ? "own"
                                                                    : "later";
    }
    std::vector<std::string> words;
    for (const auto& [time, word] : found) words.push_back(word);
    EXPECT_EQ(words, c.expected);
    size_t left = 0;
    for (const dump::Entry& entry : golden->entries)
      left += torchair->pairings.contains(&entry) &&
              torchair->pairings.at(&entry).reason == "superseded";
    EXPECT_EQ(left > 0, c.in_golden && !c.in_target);
  }
}

// A damaged graph may say anything.
TEST(Torchair, RecordedOriginsOfAnyIndex) {
  const Scratch scratch;
  std::filesystem::copy(data("ge_fx_new"), scratch.path(),
                        std::filesystem::copy_options::recursive);
  std::ofstream(scratch.path() / "target/ge_proto_00000012_graph_1_Build.txt") << R"(
graph {
  op {
    name: "Mul_4Sigmoid_5"
    type: "FusedAscBackend"
    attr {
      key: "_datadump_original_op_names"
      value { list { s: "Mul_4" s: "Sigmoid_5" } }
    }
    output_desc {
      attr { key: "_datadump_origin_name" value { s: "Sigmoid_5" } }
      attr { key: "_datadump_origin_output_index" value { i: -3000000000 } }
    }
  }
})";
  const auto target = dump::open_dump(scratch.path() / "target");
  const auto golden = dump::open_dump(scratch.path() / "golden");
  const auto torchair = pair_torchair(*target, *golden);
  ASSERT_TRUE(torchair.ok());
  for (const dump::Entry& entry : target->entries) {
    if (entry.operator_name != "Mul_4Sigmoid_5" || entry.slot.kind != dump::SlotKind::kOutput)
      continue;
    EXPECT_EQ(torchair->pairings.at(&entry).reason, "no_golden");
  }
}

TEST(Torchair, AskForTheRankThatOneSideDoesNotName) {
  auto pairs = pairs_of("multi_rank/target", "ge_fx_710/golden/data_dump");
  EXPECT_THAT(pairs["error"], HasSubstr("only one side has rank directories"));
  TorchairOptions options;
  options.ranks = {1};
  EXPECT_EQ(pairs_of("multi_rank/target", "ge_fx_710/golden/data_dump", options).size(), 8U);
}

TEST(Torchair, TokenBaseCanBeGiven) {
  TorchairOptions options;
  options.fx_token_base = 0;  // directories 1 and 2 against tokens 0 and 1: nothing for token 0
  EXPECT_THAT(pairs_of("ge_fx_710/target", "ge_fx_710/golden", options), IsEmpty());
  options.fx_token_base = 1;
  EXPECT_EQ(pairs_of("ge_fx_710/target", "ge_fx_710/golden", options).size(), 8U);
}

TEST(Torchair, SwappedSidesAreTold) {
  auto pairs = pairs_of("ge_fx_new/golden", "ge_fx_new/target");
  EXPECT_THAT(pairs["error"], HasSubstr("swapped"));
}

TEST(Torchair, TargetNeedsItsGraph) {
  auto pairs = pairs_of("ge_fx_new/golden", "ge_fx_new/golden");
  EXPECT_THAT(pairs["error"], HasSubstr("no GE graph"));
}

}  // namespace
}  // namespace plumb::pair
