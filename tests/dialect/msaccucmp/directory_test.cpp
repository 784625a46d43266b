// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/directory.h"

#include <fstream>

#include <gtest/gtest.h>

#include "dialect/msaccucmp/advisor.h"
#include "dialect/msaccucmp/batch.h"
#include "dialect/msaccucmp/result_table.h"
#include "scratch.h"

namespace plumb::msaccucmp {
namespace {

void touch(const std::filesystem::path& path, std::string_view text = {}) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(OpenDirectory, KindsByName) {
  struct Case {
    std::vector<const char*> names;
    int expected;  // kind, or minus the code
  };
  const Case kCases[] = {
      {{"Conv2D.conv1.1.2.1700000000000001"}, static_cast<int>(DumpKind::kOffline)},
      {{"conv1.0.1700000000000001.npy"}, static_cast<int>(DumpKind::kStandard)},
      {{"conv1_quant_layer.0.1700000000000001.npy"}, static_cast<int>(DumpKind::kQuant)},
      {{"conv1.0.17.pb"}, static_cast<int>(DumpKind::kStandard)},
      {{"conv1.0.17.quant"}, static_cast<int>(DumpKind::kQuant)},
      {{"a.0.17.npy", "Conv2D.conv1.1.2.1700000000000001"}, -18},
      {{"readme.txt"}, -18},
      {{}, -18},
      {{"Conv2D.conv1.1.2.1700000000000001.9.0.0.0"}, -37},
      {{"Conv2D.conv1.1.2.1700000000000001.4.0.0.0"}, static_cast<int>(DumpKind::kOffline)},
  };
  for (const Case& c : kCases) {
    Scratch scratch;
    for (const char* name : c.names) touch(scratch.path() / name);
    auto directory = open_directory(scratch.path());
    EXPECT_EQ(
        directory ? static_cast<int>(directory->kind) : -static_cast<int>(directory.fault().code),
        c.expected)
        << (c.names.empty() ? "nothing" : c.names[0]);
  }
}

TEST(OpenDirectory, TheNewestFileCounts) {
  Scratch scratch;
  touch(scratch.path() / "Relu.a_b.1.2.1700000000000009");
  touch(scratch.path() / "Relu.a_b.1.2.1700000000000010");
  touch(scratch.path() / "123");
  touch(scratch.path() / "mapping.csv", "123,Relu.long.1.2.1700000000000001\n");
  auto directory = open_directory(scratch.path());
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->find("a/b", 0)->name, "Relu.a_b.1.2.1700000000000010");
  EXPECT_EQ(directory->find("long", 0)->path.filename(), "123");
  EXPECT_EQ(directory->find("b", 0), nullptr);
}

TEST(CheckScenario, RuleFilesThatAPairNeeds) {
  const auto side = [](DumpKind kind, bool quantized) {
    DumpDirectory directory;
    directory.kind = kind;
    directory.is_quantized = quantized;
    return directory;
  };
  const auto device = side(DumpKind::kOffline, false), device_q = side(DumpKind::kOffline, true);
  const auto plain = side(DumpKind::kStandard, false), quant = side(DumpKind::kQuant, true);
  struct Case {
    const DumpDirectory &target, &golden;
    RulePaths rules;
    int code;
  };
  const Case kCases[] = {
      {device, plain, {"f", "", ""}, 0},    {device, plain, {"", "", ""}, 6},
      {device, plain, {"f", "q", ""}, 6},   {device_q, plain, {"f", "q", ""}, 0},
      {device_q, plain, {"f", "", ""}, 6},  {device_q, quant, {"f", "", ""}, 0},
      {device, quant, {"f", "", ""}, 20},   {quant, plain, {"", "q", ""}, 0},
      {quant, plain, {"f", "q", ""}, 20},   {quant, device, {"", "q", ""}, 20},
      {plain, plain, {"", "", ""}, 20},     {device, device, {"", "", ""}, 0},
      {device, device, {"f", "", "cf"}, 0}, {device, device, {"f", "", ""}, 6},
      {device, device, {"", "", "cf"}, 6},  {device, device_q, {"", "", ""}, 20},
  };
  for (const Case& c : kCases) {
    const auto fault = check_scenario(c.target, c.golden, c.rules);
    EXPECT_EQ(fault ? static_cast<int>(fault->code) : 0, c.code) << &c - kCases;
  }
}

TEST(PlanBatch, ModelsByNameOrSecondNumber) {
  Scratch scratch;
  const auto run = scratch.path() / "20260101120000";
  const char* graph = R"({"name": "x_1_7", "graph": [{"name": "x_1_7", "op": []}]})";
  touch(scratch.path() / "rules/a.json", graph);
  touch(run / "0/x_2_7/1/9/file");
  touch(run / "0/x_2_7/1/10/file");
  auto jobs = plan_batch(run, scratch.path() / "rules");
  ASSERT_TRUE(jobs) << jobs.fault().error.what;
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().prefix, "0_x_2_7_9");
  EXPECT_FALSE(plan_batch(scratch.path(), scratch.path() / "rules"));
  EXPECT_FALSE(plan_batch(run, run));
}

TEST(CsvCell, QuotesAndFormulas) {
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_cell("-1.5"), "-1.5");
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
  EXPECT_EQ(csv_cell("@x"), "'@x");
  EXPECT_EQ(csv_cell("a;=b"), "'a;=b");
  EXPECT_EQ(csv_cell("a;-1"), "a;-1");
  EXPECT_EQ(csv_cell("a;-1;b"), "'a;-1;b");
  EXPECT_EQ(csv_cell("%x"), "'%x");
  EXPECT_EQ(csv_cell("a;％x"), "'a;％x");
  EXPECT_EQ(csv_cell("\xEF\xBC\x9D"
                     "x"),
            "'\xEF\xBC\x9D"
            "x");
  EXPECT_EQ(csv_cell("(-1.000;2.000),(3.000;-inf)"), "\"(-1.000;2.000),(3.000;-inf)\"");
  EXPECT_EQ(csv_line({"", "b"}), ",b\r\n");
}

TEST(Advise, OddTables) {
  EXPECT_FALSE(advise("", {}));
  EXPECT_FALSE(advise("x,y\n1,2\n", {}));
  EXPECT_EQ(advise("Index,NPUDump,CosineSimilarity\n0,a\n", {})->rule, "NA");
  EXPECT_EQ(advise("\nIndex,\"NPUDump\",CosineSimilarity\r\n\r\n7,\"a,b\",0.5\r\n", {"a,b"})->index,
            "7");
}

}  // namespace
}  // namespace plumb::msaccucmp
