// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/general.h"

#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/csv.h"
#include "dialect/msprobe/content_testing.h"
#include "io/npy.h"
#include "scratch.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string statistics_of(std::string_view dtype, double max) {
  return fmt::format(
      R"({{"type": "T", "dtype": "{}", "shape": [2], "Max": {}, "Min": 0, "Mean": 1, "Norm": 2}})",
      dtype, max);
}
std::string call_json(std::string_view name, const std::string& argument) {
  return fmt::format(R"("{}": {{"input_args": [{}], "output": []}})", name, argument);
}
std::string dump_json(std::string_view calls, std::string_view task = "statistics") {
  return fmt::format(R"({{"task": "{}", "dump_data_dir": null, "data": {{{}}}}})", task, calls);
}
std::string relu(double max = 1) {
  return dump_json(call_json("Functional.relu.0.forward", statistics_of("torch.float32", max)));
}

class Dumps : public Scratch {
 public:
  void write(const std::string& file, const std::string& content) const {
    fs::create_directories((path() / file).parent_path());
    std::ofstream(path() / file, std::ios::binary) << content;
  }
  void write_both(const std::string& file, const std::string& content) const {
    write("target/" + file, content);
    write("golden/" + file, content);
  }
  template <class T>
  void tensor(const std::string& side, DType dtype, const std::vector<T>& values) const {
    const std::string name = fmt::format("torch.{}", name_of(dtype));
    const std::string file = "Functional.relu.0.forward.input.0.npy";
    const std::string leaf =
        fmt::format(R"({{"type": "T", "dtype": "{}", "shape": [{}], "data_name": "{}"}})", name,
                    values.size(), file);
    write(side + "/dump.json", dump_json(call_json("Functional.relu.0.forward", leaf), "tensor"));
    write(side + "/dump_tensor_data/" + file,
          io::npy_header(dtype, {std::ssize(values)}) +
              std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  Result<Written> compare(GeneralRun run = {}) const {
    run.target = (path() / "target").string();
    run.golden = (path() / "golden").string();
    run.output = path() / "result";
    return compare_general(run, context_);
  }

 private:
  mutable RunContext context_;
};

// Levels of directories as msprobe makes them; all of them are compared.
TEST(General, Directories) {
  struct Case {
    const char* what;
    std::vector<std::string> target, golden;
    size_t files;
    int64_t pass, not_compared;
  };
  const Case cases[] = {
      {"the file itself", {"dump.json"}, {"dump.json"}, 1, 1, 0},
      {"steps and ranks",
       {"step0/rank0/dump.json", "step0/rank1/dump.json", "step1/rank0/dump.json"},
       {"step0/rank0/dump.json", "step0/rank1/dump.json", "step1/rank0/dump.json"},
       2,
       3,
       0},
      {"a rank that only one side has",
       {"rank0/dump.json", "rank1/dump.json"},
       {"rank1/dump.json", "rank2/dump.json"},
       3,
       1,
       2},
      {"processes without a rank", {"step0/proc17/dump.json"}, {"step0/proc4/dump.json"}, 1, 1, 0},
      {"a rank without a number", {"step0/rank/dump.json"}, {"step0/rank/dump.json"}, 1, 1, 0},
      {"MindSpore's two kinds of execution",
       {"graph/step0/rank0/dump.json", "pynative/step0/rank0/dump.json"},
       {"graph/step0/rank0/dump.json", "pynative/step0/rank0/dump.json"},
       2,
       2,
       0},
      {"one step each, of other numbers", {"step3/dump.json"}, {"step5/dump.json"}, 1, 1, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Dumps dumps;
    for (const std::string& file : c.target) dumps.write("target/" + file, relu());
    for (const std::string& file : c.golden) dumps.write("golden/" + file, relu());
    const auto written = dumps.compare();
    ASSERT_TRUE(written) << written.error().what;
    EXPECT_EQ(written->files.size(), c.files);
    EXPECT_EQ(written->pass, c.pass);
    EXPECT_EQ(written->not_compared, c.not_compared);
  }
}

// As the tool does: by the directory of the target's device.
TEST(General, ResultsAreNamedByTheDeviceOfTheTarget) {
  struct Case {
    std::vector<std::string> target, golden;
    const char* name;
  };
  const Case cases[] = {
      {{"rank3/dump.json"}, {"rank3/dump.json"}, "compare_result_rank3_"},
      {{"proc17/dump.json"}, {"proc4/dump.json"}, "compare_result_proc17_"},
      {{"proc17/debug.json"}, {"proc4/debug.json"}, "debug_compare_result_proc17_"},
      {{"graph/step0/proc17/dump.json", "pynative/step0/proc17/dump.json"},
       {"graph/step0/proc4/dump.json", "pynative/step0/proc4/dump.json"},
       "graph/compare_result_proc17_"},
      {{"graph/step0/rank0/dump.json"},
       {"graph/step0/rank0/dump.json"},
       "graph/compare_result_rank0_"},
      {{"step0/proc17/dump.json", "step1/proc18/dump.json"},
       {"step0/proc4/dump.json", "step1/proc5/dump.json"},
       "compare_result_2"},  // the time
      {{"rank/dump.json"}, {"rank/dump.json"}, "compare_result_rank_"},
      {{"dump.json"}, {"dump.json"}, "compare_result_2"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.target.front());
    const Dumps dumps;
    const auto text = [](const std::string& file) {
      return file.find("debug") == file.npos
                 ? relu()
                 : dump_json("\"x.0.debug\": " + statistics_of("torch.float32", 1));
    };
    for (const std::string& file : c.target) dumps.write("target/" + file, text(file));
    for (const std::string& file : c.golden) dumps.write("golden/" + file, text(file));
    const auto written = dumps.compare();
    ASSERT_TRUE(written) << written.error().what;
    ASSERT_FALSE(written->files.empty());
    const std::string first = written->files[0].lexically_relative(dumps.path() / "result");
    EXPECT_THAT(first, testing::StartsWith(c.name));
  }
}

TEST(General, ADumpOfTensorsIsNotComparedWithStatistics) {
  const Dumps dumps;
  dumps.tensor<float>("target", DType::kFloat32, {1, 2});
  dumps.write("golden/dump.json", relu());
  const auto written = dumps.compare();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().where, "target has tensors, golden has statistics");
}

TEST(General, LostDataFilesAreNamed) {
  const Dumps dumps;
  dumps.tensor<float>("target", DType::kFloat32, {1, 2});
  fs::remove_all(dumps.path() / "target/dump_tensor_data");
  dumps.write("golden/dump.json", relu());
  const auto written = dumps.compare();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "the data files of the dump are missing");
}

// Rows of tensors that neither side has any more, of functions that are judged and that are not.
TEST(General, ATensorThatCannotBeReadIsNoPass) {
  const Dumps dumps;
  const auto leaf = [](const char* file) {
    return fmt::format(
        R"({{"type": "T", "dtype": "torch.float32", "shape": [1], "data_name": "{}"}})", file);
  };
  const std::string calls = call_json("Functional.relu.0.forward", leaf("here.npy")) + ", " +
                            call_json("Functional.relu.1.forward", leaf("gone.npy")) + ", " +
                            call_json("Tensor.to.0.forward", leaf("gone_too.npy"));
  dumps.write_both("dump.json", dump_json(calls, "tensor"));
  dumps.write_both("dump_tensor_data/here.npy",
                   io::npy_header(DType::kFloat32, {1}) + std::string(4, '\0'));
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->pass, 1);
  EXPECT_EQ(written->warned, 2);
  EXPECT_EQ(written->not_compared, 2);
  EXPECT_EQ(written->fail, 0);
}

TEST(General, OneOfSeveralStepsHasToBeNamed) {
  const Dumps dumps;
  for (const char* file : {"golden/step0/rank0/dump.json", "golden/step3/rank0/dump.json",
                           "golden/step4/rank0/dump.json", "target/step3/rank0/dump.json"})
    dumps.write(file, relu());
  GeneralRun run;
  run.target = (dumps.path() / "target/step3").string();
  run.golden = (dumps.path() / "golden").string();
  run.output = dumps.path() / "result";
  RunContext context;
  const auto written = compare_general(run, context);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "golden has several steps, target has none");
  EXPECT_EQ(written.error().remedy, "name one step: -gp " + run.golden + "/step3");
}

// What was in it has no line; that it is lost must show.
TEST(General, ADamagedDumpJsonIsTold) {
  const Dumps dumps;
  dumps.write_both("step0/rank0/dump.json", relu());
  dumps.write("target/step0/rank1/dump.json", R"({"task": "statistics", "data": {)");
  dumps.write("golden/step0/rank1/dump.json", relu());
  const auto written = dumps.compare();
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->pass, 1);
  EXPECT_EQ(written->not_compared, 2);  // the file, and what golden has for it
  ASSERT_FALSE(written->warnings.empty());
  EXPECT_THAT(written->warnings.front(), HasSubstr("rank1/dump.json"));
}

TEST(General, TypesThatAreNotComparedFail) {
  const Dumps dumps;
  dumps.tensor<float>("target", DType::kFloat32, {1, 2});
  dumps.tensor<int64_t>("golden", DType::kInt64, {1, 2});
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->pass, 0);
  EXPECT_EQ(written->fail, 1);
  EXPECT_THAT(content_of(written->files[0]),
              HasSubstr("dtype differs: torch.float32 and torch.int64 are not compared"));
}

TEST(General, WhatGoldenAloneHasIsInTheResult) {
  const Dumps dumps;
  dumps.write("target/dump.json", relu());
  dumps.write("golden/dump.json",
              dump_json(call_json("Functional.relu.0.forward", statistics_of("torch.float32", 1)) +
                        "," + call_json("Torch.add.0.forward", statistics_of("torch.float32", 1))));
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->pass, 1);
  EXPECT_EQ(written->not_compared, 1);
  EXPECT_THAT(content_of(written->files[0]),
              HasSubstr("\nN/A,Torch.add.0.forward.input.0,N/A,torch.float32,"));
}

// The cells of the only result, by row and column.
std::map<std::string, std::map<std::string, std::string>> table_of(const Written& written) {
  std::map<std::string, std::map<std::string, std::string>> table;
  const std::string text = content_of(written.files[0]);
  CsvReader reader(text);
  if (!reader.next()) return table;
  const std::vector<std::string> header = reader.cells();
  while (reader.next())
    for (size_t i = 0; i < header.size(); ++i)
      table[reader.cells()[0]][header[i]] = reader.cells()[i];
  return table;
}

std::vector<std::string> names_of(const Written& written) {
  std::vector<std::string> names;
  const std::string text = content_of(written.files[0]);
  for (CsvReader reader(text); reader.next();) names.push_back(reader.cells()[0]);
  return names;
}

TEST(General, AStrideThatChangedIsAnError) {
  const auto dump = [](int stride) {
    const char* file = "Functional.relu.0.forward.input.0.npy";
    return dump_json(call_json("Functional.relu.0.forward",
                               fmt::format(R"({{"type": "T", "dtype": "torch.float32", "shape": [2],
                                          "data_name": "{}"}}, {{"type": "int", "value": {}}})",
                                           file, stride)),
                     "tensor");
  };
  const Dumps dumps;
  for (const char* side : {"target", "golden"}) dumps.tensor<float>(side, DType::kFloat32, {1, 2});
  dumps.write("target/dump.json", dump(1));
  dumps.write("golden/dump.json", dump(2));
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  auto row = table_of(*written)["Functional.relu.0.forward.input.1"];
  EXPECT_EQ(row["Result"], "error");
  EXPECT_EQ(row["Accuracy Reached or Not"], "No");
  EXPECT_EQ(row["NPU Dtype"], "<class 'int'>");
  EXPECT_EQ(row["NPU max"], "1");
  EXPECT_EQ(row["Bench l2norm"], "2");
  row = table_of(*written)["Functional.relu.0.forward.input.0"];
  EXPECT_EQ(row["Result"], "pass");
  EXPECT_EQ(row["Accuracy Reached or Not"], "Yes");
}

TEST(General, NamedArgumentsStandAsInTheDump) {
  const std::string leaf = statistics_of("torch.float32", 1);
  const Dumps dumps;
  dumps.write_both("dump.json",
                   dump_json(fmt::format(
                       R"("Torch.f.0.forward": {{"input_args": [{0}, {0}], "input_kwargs":
                          {{"zeta": {0}, "alpha": {0}, "m10": {0}, "m9": {0}}},
                          "output": [{{"zeta": {0}, "alpha": {0}}}]}})",
                       leaf)));
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  const std::string call = "Torch.f.0.forward.";
  EXPECT_THAT(
      names_of(*written),
      testing::ElementsAre("NPU Name", call + "input.0", call + "input.1", call + "input.zeta",
                           call + "input.alpha", call + "input.m10", call + "input.m9",
                           call + "output.0.zeta", call + "output.0.alpha"));
}

TEST(General, CellsAndApisAreMappedTogether) {
  const std::string leaf = statistics_of("torch.float32", 1);
  const Dumps dumps;
  dumps.write("target/dump.json", dump_json(call_json("Cell.fc1.Dense.forward.0", leaf) + "," +
                                            call_json("Mint.add.0.forward", leaf)));
  dumps.write("golden/dump.json", dump_json(call_json("Module.fc1.Linear.forward.0", leaf) + "," +
                                            call_json("Torch.add.0.forward", leaf)));
  dumps.write("cells.yaml", "fc1.Dense: fc1.Linear");
  GeneralRun run;
  run.mapping.cell = (dumps.path() / "cells.yaml").string();
  run.mapping.api = "";
  const auto written = dumps.compare(run);
  ASSERT_TRUE(written) << written.error().what;
  auto table = table_of(*written);
  auto& cell = table["Cell.fc1.Dense.forward.0.input.0"];
  EXPECT_EQ(cell["Bench Name"], "Module.fc1.Linear.forward.0.input.0");
  EXPECT_EQ(cell["Match Rule"], "cell-mapping");
  auto& api = table["Mint.add.0.forward.input.0"];
  EXPECT_EQ(api["Bench Name"], "Torch.add.0.forward.input.0");
  EXPECT_EQ(api["Match Rule"], "api-mapping");
}

// Golden computes a loss more: by the order of calls alone its softmax would be taken for the
// other's.
TEST(General, CallsOutsideModulesGoByTheirStack) {
  const std::string leaf = statistics_of("torch.float32", 1);
  const auto stack = [](std::string_view op, std::string_view function) {
    return fmt::format(
        R"("{}": ["File /x/site-packages/torch/nn/functional.py, line 7, in {}, \n y", "File t.py, line 1, in main, \n x"])",
        op, function);
  };
  const auto stacks = [](std::string_view entries) { return fmt::format("{{{}}}", entries); };
  const std::string module = call_json("Module.a.Net.forward.0", leaf);
  const std::string first = "Torch.log_softmax.0.forward", second = "Torch.log_softmax.1.forward";
  const Dumps dumps;
  dumps.write("target/dump.json", dump_json(module + "," + call_json(first, leaf)));
  dumps.write("golden/dump.json",
              dump_json(module + "," + call_json(first, leaf) + "," + call_json(second, leaf)));
  dumps.write_both(
      "construct.json",
      fmt::format(
          R"({{"Module.a.Net.forward.0": null, "{}": null, "{}": null, "Torch.mul.0.forward": "Module.a.Net.forward.0"}})",
          first, second));
  dumps.write("target/stack.json", stacks(stack(first, "cross_entropy")));
  dumps.write("golden/stack.json",
              stacks(stack(first, "kl_div") + "," + stack(second, "cross_entropy")));
  GeneralRun run;
  run.mapping.layer = "";
  const auto written = dumps.compare(run);
  ASSERT_TRUE(written) << written.error().what;
  auto table = table_of(*written);
  EXPECT_EQ(table[first + ".input.0"]["Bench Name"], second + ".input.0");
  EXPECT_EQ(table["Module.a.Net.forward.0.input.0"]["Bench Name"],
            "Module.a.Net.forward.0.input.0");
}

// Every form of argument makes a row, once.
TEST(General, Arguments) {
  const std::string leaf = statistics_of("torch.float32", 1);
  const std::string arguments = fmt::format(
      R"({0}, null, [{0}, [{{"k": {0}}}]], [], {{}}, {{"type": "torch.Size", "value": [2, 3]}},
         {{"type": "slice", "value": [null, 1]}}, {{"type": "ellipsis", "value": "..."}},
         {{"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}},
         {{"type": "torch.memory_format", "format": "contiguous"}},
         {{"type": "bool", "value": true}}, {{"type": "NoneType", "value": null}})",
      leaf);
  const Dumps dumps;
  dumps.write_both("dump.json", dump_json(call_json("Torch.odd.0.forward", arguments)));
  const auto written = dumps.compare();
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->pass, 11);
  const std::string text = content_of(written->files[0]);
  for (const char* name : {"0", "1", "2.0", "2.1.0.k", "5", "6", "7", "8", "9", "10", "11"})
    EXPECT_THAT(text, HasSubstr(fmt::format("\nTorch.odd.0.forward.input.{},", name)));
  EXPECT_THAT(text, Not(HasSubstr("input.3")));
}

}  // namespace
}  // namespace plumb::msprobe
