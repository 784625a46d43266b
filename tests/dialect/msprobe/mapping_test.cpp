// SPDX-License-Identifier: Apache-2.0
//
// What tests/dialect/msprobe/run_mappings does not show: odd names, and files that are wrong.
#include "dialect/msprobe/mapping.h"

#include <gtest/gtest.h>

#include "dialect/msprobe/dtype_match.h"
#include "dialect/msprobe/row_name.h"
#include "sample_of.h"

namespace plumb::msprobe {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;

Yaml yaml(std::string_view text) { return parse_yaml(text).value(); }

// One input to a call.
DumpSet calls(const std::vector<std::string>& names) {
  DumpSet set;
  set.traits.has_numbered_calls = true;
  for (const std::string& name : names) {
    Entry& entry = set.entries.emplace_back();
    entry.operator_name = name;
    entry.slot = {SlotKind::kInput, 0, {}};
    entry.timestamp = static_cast<int64_t>(set.entries.size());
    entry.statistics.emplace();
  }
  return set;
}

std::string renamed(const Result<Rename>& rename, const std::string& op, const Slot& slot = {}) {
  const auto name = (*rename)(op, slot);
  return name ? row_name(name->op, name->slot) : "left out";
}

TEST(CellMapping, Names) {
  const auto rename = cell_renaming(yaml("a.Dense: a.Linear\nx: y\nyy: z\n"));
  ASSERT_TRUE(rename);
  const Slot weight{SlotKind::kParameter, dump::kNamed, "weight"};
  struct Case {
    std::string op, golden;
  };
  const Case cases[] = {
      {"Cell.a.Dense.forward.0", "Module.a.Linear.forward.0.parameters.weight"},
      {"Cell.a.Dense.parameters_grad", "Module.a.Linear.parameters_grad.parameters.weight"},
      {"Cell.b.a.Dense.forward.0", "Module.b.a.Linear.forward.0.parameters.weight"},
      {"Cell.xy.Net.backward.1", "Module.z.Net.backward.1.parameters.weight"},
      {"Module.q.Net.forward.0", "Module.q.Net.forward.0.parameters.weight"},
      {"Functional.LSTMCell.0.forward", "Functional.LSTMCell.0.forward.parameters.weight"},
      {"Cell.forward_net.Net.forward.0", "Module.forward_net.Net.forward.0.parameters.weight"},
      {"odd", "odd.parameters.weight"},
  };
  for (const Case& c : cases) EXPECT_EQ(renamed(rename, c.op, weight), c.golden);
}

TEST(ApiMapping, BuiltInNames) {
  struct Case {
    std::string mindspore, pytorch;
  };
  const Case cases[] = {
      {"", ""},
      {"Functional", "Functional"},
      {"Functional.add.0.forward", "Torch.add.0.forward"},
      {"Functional.add", "Torch.add"},
      {"Functional.ad.0.forward", "Functional.ad.0.forward"},
      {"Functional..0.forward", "Functional..0.forward"},
      {"Functional.relu.0.forward", "Functional.relu.0.forward"},
      {"Functional.dense.0.forward", "Functional.linear.0.forward"},
      {"Tensor.asnumpy.0.forward", "Tensor.numpy.0.forward"},
      {"Mint.Mint.0.forward", "Torch.Mint.0.forward"},
      {"MintFunctional.relu.0.forward", "Functional.relu.0.forward"},
      {"Cell.add.Net.forward.0", "Cell.add.Net.forward.0"},
  };
  for (const Case& c : cases) EXPECT_EQ(pytorch_name(c.mindspore), c.pytorch);
}

TEST(ApiMapping, ArgumentsInAnotherOrder) {
  const DumpSet target = calls({"Functional.f.0.forward", "Functional.add.0.forward"});
  const DumpSet golden = calls({"NPU.g.0.forward"});
  const auto rename = api_renaming(yaml("- ms_api: Functional.f\n"
                                        "  pt_api: NPU.g\n"
                                        "  ms_args: [0, 1.2, bias]\n"
                                        "  pt_args: [weight, 0, 2.1]\n"
                                        "- {ms_api: Functional.add, pt_api: NPU.not_dumped}\n"),
                                   target, golden);
  ASSERT_TRUE(rename);
  const auto input = [](int64_t index, std::string path) {
    return Slot{SlotKind::kInput, index, std::move(path)};
  };
  const std::string f = "Functional.f.0.forward";
  EXPECT_EQ(renamed(rename, f, input(0, "")), "NPU.g.0.forward.input.weight");
  EXPECT_EQ(renamed(rename, f, input(1, "2")), "NPU.g.0.forward.input.0");
  EXPECT_EQ(renamed(rename, f, input(dump::kNamed, "bias")), "NPU.g.0.forward.input.2.1");
  EXPECT_EQ(renamed(rename, f, input(1, "")), "left out");
  EXPECT_EQ(renamed(rename, f, {SlotKind::kOutput, 1, ""}), "NPU.g.0.forward.output.1");
  EXPECT_EQ(renamed(rename, "Functional.add.0.forward", input(0, "")),
            "Torch.add.0.forward.input.0");
}

TEST(Mapping, FilesOfAnotherForm) {
  const DumpSet set = calls({"T.f.0.forward"});
  std::vector<std::string> warnings;
  struct Case {
    const char* text;
    bool cell, api, layer, data;  // may be read as this
  };
  const Case cases[] = {
      {"", true, true, true, true},
      {"text", false, false, false, false},
      {"[a]", false, false, false, false},
      {"a: b", true, false, false, true},
      {"a: [b]", false, false, false, false},
      {"a: {b: c}", false, false, true, false},
      {"a: {b: {c: d}}", false, false, false, false},
      {"[{ms_api: a, pt_api: b, ms_args: [1], pt_args: []}]", false, false, false, false},
      {"[{ms_api: a, pt_api: b}]", false, true, false, false},
      {"[{ms_api: a}]", false, false, false, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const Yaml file = yaml(c.text);
    EXPECT_EQ(bool(cell_renaming(file)), c.cell);
    EXPECT_EQ(bool(api_renaming(file, set, set)), c.api);
    EXPECT_EQ(bool(pair_by_data(file, set, set, warnings)), c.data);
    // There is no construct.json either, which is another error.
    const auto layers = pair_by_layers(file, "m.yaml", set, set);
    ASSERT_FALSE(layers);
    EXPECT_EQ(layers.error().where.starts_with("m.yaml"), !c.layer) << layers.error().where;
  }
}

TEST(FuzzyMatch, WorkGrowsWithTheRowsOnly) {
  std::vector<std::string> mine, theirs;
  for (int i = 0; i < sample_of(50000, 10); ++i) {
    mine.push_back("T.a" + std::to_string(i) + ".0.forward");
    theirs.push_back("T.b" + std::to_string(i) + ".0.forward");
  }
  mine.push_back("T.last.0.forward");
  theirs.push_back("T.last.7.forward");
  const DumpSet target = calls(mine), golden = calls(theirs);
  const auto pairings = pair_fuzzily(target, golden, {});
  EXPECT_EQ(pairings.at(&target.entries.back()).op, "T.last.7.forward");
  EXPECT_TRUE(pairings.at(&target.entries.front()).op.empty());
}

TEST(DtypeMatch, Table) {
  struct Case {
    const char *target, *golden;
    bool match;
  };
  const Case cases[] = {
      {"torch.float32", "torch.float32", true},
      {"torch.float16", "torch.bfloat16", true},
      {"torch.float64", "torch.float32", false},
      {"torch.int32", "torch.int64", false},
      {"Float32", "Float16", true},
      {"Int32", "Int64", false},
      {"Float32", "torch.float32", true},
      {"Float64", "torch.float32", true},
      {"Int32", "torch.int64", true},
      {"UInt8", "torch.int8", true},
      {"Bool", "torch.bool", true},
      {"Bool", "torch.uint8", false},
      {"Complex64", "torch.complex128", true},
      {"Int32", "torch.float32", false},
      {"", "torch.float32", false},
      {"Odd", "torch.strange", false},
      {"torch.float8_e4m3fn", "torch.float8_e4m3fn", true},
      {"torch.float8_e4m3fn", "torch.float16", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(dtypes_match(c.target, c.golden), c.match) << c.target << " " << c.golden;
    EXPECT_EQ(dtypes_match(c.golden, c.target), c.match) << c.golden << " " << c.target;
  }
}

}  // namespace
}  // namespace plumb::msprobe
