// SPDX-License-Identifier: Apache-2.0
//
// Ranges that other tools found. The files in tests/data/ranges were written by ONNX Runtime's
// write_calibration_table from the ranges below.
#include "quant/range_table.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "quant/plan.h"

namespace plumb::quant {
namespace {

std::string table_file(const std::string& name) {
  std::ifstream file(std::string(PLUMB_TEST_DATA) + "/ranges/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<RangeTable> table_of(const std::string& text) {
  return ranges_from_table(as_bytes(text), "table");
}

struct Expected {
  const char* name;
  std::optional<double> lo;
  double hi;
};

void expect_range(const RangeTable& table, const Expected& expected) {
  for (const TableRange& range : table.ranges) {
    if (range.name != expected.name) continue;
    EXPECT_EQ(range.lo, expected.lo) << expected.name;
    EXPECT_EQ(range.hi, expected.hi) << expected.name;
    return;
  }
  ADD_FAILURE() << "no range for " << expected.name;
}

TEST(RangeTable, FilesOfOnnxRuntime) {
  for (const char* name : {"calibration.json", "calibration.flatbuffers", "calibration.cache"}) {
    SCOPED_TRACE(name);
    const auto table = ranges_from_table(as_bytes(table_file(name)), name);
    ASSERT_TRUE(table) << table.error().what;
    EXPECT_EQ(table->tool, "ONNX Runtime");
    EXPECT_EQ(table->ranges.size(), 14u);
    // Only the JSON has both ends.
    const bool is_whole = std::string_view(name).ends_with("json");
    const auto lo = [&](double number) { return is_whole ? std::optional(number) : std::nullopt; };
    expect_range(*table, {"data", lo(-0.5), 3});
    expect_range(*table, {"conv4b_relu", lo(0), 4.75});
    // The writer's magnitude is the larger of both ends, not the larger magnitude.
    expect_range(*table, {"pw3_scale", lo(-7.25), 6.5});
  }
}

TEST(RangeTable, TablesOfOthers) {
  struct Case {
    const char *name, *text, *tool;
    Expected expected;
    bool is_layer = false;
  };
  const Case cases[] = {
      {"ONNX Runtime before 1.16",
       R"({"a": [-1.5, 2.0], "b": [0, 1]})",
       "ONNX Runtime",
       {"a", -1.5, 2}},
      {"a tensor named data",
       R"({"data": {"lowest": -2, "highest": 3}})",
       "ONNX Runtime",
       {"data", -2, 3}},
      {"TensorRT",
       "TRT-8400-EntropyCalibration2\nin: 3c800000\nout: 3f800000\n",
       "TensorRT",
       {"out", std::nullopt, 127}},
      {"tpu-mlir",
       "# generated time: x\n###\n# op_name    threshold    min    max\nconv 5.5 -8 4\n#int4_th\n"
       "conv 1 -1 1\n",
       "tpu-mlir",
       {"conv", -5.5, 4}},
      {"AMCT",
       "record { key: \"c\" value { scale_d: 0.5 offset_d: -28 scale_w: 1 } }",
       "AMCT",
       {"c", -50, 77.5},
       true},
      // Fields as the tool's manual shows them: dst_type is about weights.
      {"AMCT, pruned, weights by channel",
       "prune_record {\n  producer {\n    name: \"c\"\n  }\n}\n"
       "record {\n  key: \"layer1.0.conv1\"\n  value {\n    scale_d: 0.5\n    offset_d: -128\n"
       "    scale_w: 0.00106807391\n    scale_w: 0.00104224426\n    offset_w: 0\n    offset_w: 0\n"
       "    skip_fusion: true\n    dst_type: \"INT4\"\n  }\n}\n",
       "AMCT",
       {"layer1.0.conv1", 0, 127.5},
       true},
      {"AMCT of 16 bits",
       "record { key: \"c\" value { scale_d: 0.5 offset_d: 900 act_type: \"INT16\" } }",
       "AMCT",
       {"c", -16834, 15933.5},
       true},
      {"plumb",
       R"({"schema": "plumb.quant/1", "tensors": [{"tensor": "x", "range": [-1, 4]}]})",
       "plumb",
       {"x", -1, 4}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto table = table_of(each.text);
    ASSERT_TRUE(table) << table.error().what << " " << table.error().where;
    EXPECT_EQ(table->tool, each.tool);
    EXPECT_EQ(table->ranges[0].is_layer, each.is_layer);
    expect_range(*table, each.expected);
  }
}

TEST(RangeTable, Refused) {
  struct Case {
    const char *text, *what;
  };
  const Case cases[] = {
      {"", "this is no table of ranges"},
      {"{}", "this is no table of ranges"},
      {"{", "this is no table of ranges"},
      {"\n \n", "this is no table of ranges"},
      {"# op_name threshold min max\n", "this is no table of ranges"},
      {R"({"a": [2, 1]})", "a range was expected"},
      {R"({"a": {"lowest": 0}})", "a range was expected"},
      {R"({"a": [[0, 0], [1, 2]]})", "a range was expected"},  // by channel
      {"conv one\n", "this is no table of ranges"},
      {"conv nan\n", "this is no table of ranges"},
      {"conv 1 2\n", "this is no table of ranges"},
      {"TRT-8400-EntropyCalibration2\nin 3c80\n", "this is no table of ranges"},
      {"TRT-8400-EntropyCalibration2\nin: 7f800000\n", "this is no table of ranges"},
      {"record { key: \"c\" value { scale_d: 0 offset_d: 0 } }", "a range was expected"},
      {"record { key: \"c\" value { scale_d: 1 offset_d: 900 } }", "a range was expected"},
      {"record { key: \"c\" value { scale_d: 1 act_type: \"FP8_E4M3\" } }",
       "activations are no integers"},
      {"record { key: \"c\" value { scale_d: 1 tensor_balance_factor: 0.9 } }",
       "the range is of what the layer reads divided by tensor_balance_factor"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.text);
    const auto table = table_of(each.text);
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().what, each.what);
  }
}

TEST(RangeTable, DamagedFlatBuffers) {
  const std::string whole = table_file("calibration.flatbuffers");
  ASSERT_GT(whole.size(), 100u);
  // Texts lie at the end: no part of the file is a table.
  for (size_t size = 0; size + 4 < whole.size(); ++size)
    EXPECT_FALSE(table_of(whole.substr(0, size))) << size;
  for (size_t i = 0; i < whole.size(); ++i)
    for (const char byte : {'\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = byte;
      (void)table_of(damaged);  // an error or other numbers, never beyond the file
    }
}

TEST(RangeTable, GoesToTensorsThatShareAGrid) {
  Plan plan;
  plan.layers.resize(1);
  plan.layers[0].name = "conv";
  plan.quantizers.resize(3);
  plan.quantizers[0].tensors = {"a", "b"};
  plan.quantizers[0].passed = {"joined"};
  plan.quantizers[1].tensors = {"negative"};
  plan.quantizers[2].tensors = {"other"};
  plan.quantizers[2].consumers = {0};
  RangeTable table{"table", "", 0, {}};
  table.ranges = {{"a", 2, -1.0}, {"b", 1, -3.0}, {"negative", -1, {}}, {"conv", 5, -5.0, true}};
  ASSERT_TRUE(give_ranges(table, plan));
  Observation seen;
  seen.min = -0.5;
  EXPECT_EQ(range_from(*plan.quantizers[0].given, seen), (Range{-3, 2}));
  EXPECT_FALSE(plan.quantizers[1].given);
  EXPECT_EQ(range_from(*plan.quantizers[2].given, seen), (Range{-5, 5}));
  // A magnitude bounds the negative side; how far it reaches was seen.
  EXPECT_EQ(range_from({"a", 4, {}}, seen), (Range{-0.5, 4}));
  EXPECT_EQ(range_from({"a", 0.25, {}}, seen), (Range{-0.25, 0.25}));

  Plan stranger;
  stranger.quantizers.resize(1);
  stranger.quantizers[0].tensors = {"aa"};
  const auto refused = give_ranges(table, stranger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "the table names nothing that is quantized");
}

}  // namespace
}  // namespace plumb::quant
