// SPDX-License-Identifier: Apache-2.0
#include "dump/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dump/levels.h"
#include "dump/mapping_csv.h"

namespace plumb::dump {
namespace {

struct DeviceCase {
  std::string_view name;
  std::string_view type, op;  // empty: not a device dump
  int64_t task = 0;
  int64_t stream = -1;  // -1: none
  int64_t timestamp = 0;
  int64_t task_type = -1, context = 0, thread = 0;
};
const DeviceCase kDeviceCases[] = {
    {"Conv2D.conv1.3.17.1682931245000001", "Conv2D", "conv1", 3, 17, 1682931245000001},
    {"Conv2D.conv1.3.1682931245000001", "Conv2D", "conv1", 3, -1, 1682931245000001},
    {"Conv2D.layer.3.conv.12.7.1749000000000002", "Conv2D", "layer.3.conv", 12, 7,
     1749000000000002},
    {"Mul.m.17.7.1700000000000015.4.3.1.0", "Mul", "m", 17, 7, 1700000000000015, 4, 3, 1},
    {"Opdebug.Node_OpDebug.17.1700000000000015.4.3.1.0", "Opdebug", "Node_OpDebug", 17, -1,
     1700000000000015, 4, 3, 1},
    {"A.b.1.2.3", "A", "b", 1, 2, 3},  // any number will do as a time stamp
    {"Transpose.4.1682148295048447", "", ""},
    {"Conv2D.conv1.3.17.1682931245000001.csv", "", ""},
    {"Conv2D.conv1.3.17.1682931245000001.input.0.bin", "", ""},
    {"Conv2D.conv1.3.17.", "", ""},
    {".conv1.3.17.1682931245000001", "", ""},
    {"Conv2D..3.17.1682931245000001", "", ""},
    {"1.2.3.4.5", "1", "2", 3, 4, 5},
    {"", "", ""},
    {"......", "", ""},
    {"A.b.99999999999999999999.2.1682931245000001", "", ""},  // no 64-bit number
};

TEST(Names, DeviceDumps) {
  for (const DeviceCase& c : kDeviceCases) {
    SCOPED_TRACE(c.name);
    const auto parsed = parse_device_name(c.name);
    ASSERT_EQ(parsed.has_value(), !c.op.empty());
    if (!parsed) continue;
    EXPECT_EQ(parsed->type, c.type);
    EXPECT_EQ(parsed->op, c.op);
    EXPECT_EQ(parsed->task, c.task);
    EXPECT_EQ(parsed->stream.value_or(-1), c.stream);
    EXPECT_EQ(parsed->timestamp, c.timestamp);
    EXPECT_EQ(parsed->task_type.value_or(-1), c.task_type);
    EXPECT_EQ(parsed->is_ffts(), c.task_type == 4);
    EXPECT_EQ(parsed->context, c.context);
    EXPECT_EQ(parsed->thread, c.thread);
  }
}

// Type, operator, slot, then layout and element type where the name has them.
TEST(Names, DecodedDumps) {
  struct {
    std::string_view name, said;  // empty: no such name
  } const cases[] = {
      {"Conv2D.conv1.3.17.1682931245000001.output.0.npy", "Conv2D conv1 output:0 npy"},
      {"Conv2D.conv1.3.17.1682931245000001.input.12.npy", "Conv2D conv1 input:12 npy"},
      {"Conv2D.a.b.3.17.1682931245000001.input.1.npy", "Conv2D a.b input:1 npy"},
      {"Conv2D.conv1.3.1682931245000001.output.0.npy", "Conv2D conv1 output:0 npy"},
      {"Cast.Default_Net_Cast-op0.9.10.1735011096426349.input.0.ND.FLOAT.npy",
       "Cast Default_Net_Cast-op0 input:0 npy ND FLOAT"},
      {"GetNext.Default_GetNext-op0.0.11.17350110964032987.output.0.ND.FLOAT.npy",
       "GetNext Default_GetNext-op0 output:0 npy ND FLOAT"},
      {"Conv2D.c.0.0.1735011096426349.output.0.NC1HWC0.npy", "Conv2D c output:0 npy NC1HWC0 "},
      {"Sub.s.10.10.1735011096427368.input.0.ND.BF16", "Sub s input:0 raw ND BF16"},
      {"Sub.s.10.10.1735011096427368.input.0.1_4.float16.NCHW.bin",
       "Sub s input:0 raw NCHW float16"},
      {"Sub.s.10.10.1735011096427368.input.0.4.float16.ND.bin", "Sub s input:0 raw ND float16"},
      {"Sub.s.10.10.1735011096427368.input.0.bin", ""},
      {"Sub.s.10.10.1735011096427368.input.0.x.float16.ND.bin", ""},
      {"Sub.s.10.10.1735011096427368.input.0.ND", ""},  // anything might be called so
      {"Sub.s.10.10.1735011096427368.input.0", ""},
      {"Sub.s.10.10.1735011096427368.workspace.0.npy", ""},
      {"Sub.s.10.10.1735011096427368.output.npy", ""},
      {"Sub.s.10.10.1735011096427368.output.0.ND.FLOAT.x.npy", ""},
      {"Sub.s.10.10.1735011096427368.output.0.1D.npy", ""},
      {"layer.0.1.2.output.0.npy", ""},  // a module of a network: no clock gave that number
      {"Functional.conv2d.0.forward.input.0.npy", ""},
      {"conv1.0.1682931245000001.npy", ""},
      {"Mul.m.17.7.1700000000000015.4.3.1.0.output.0.npy", ""},  // a slice, which tells no whole
      {"output.0.npy", ""},
      {".npy", ""},
      {"", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto parsed = parse_decoded_name(c.name);
    ASSERT_EQ(parsed.has_value(), !c.said.empty());
    if (!parsed) continue;
    std::string said = fmt::format("{} {} {} {}", parsed->device.type, parsed->device.op,
                                   to_string(parsed->slot), parsed->is_npy ? "npy" : "raw");
    if (!parsed->layout.empty()) said += fmt::format(" {} {}", parsed->layout, parsed->dtype);
    EXPECT_EQ(said, c.said);
  }
}

TEST(Names, ManualSlices) {
  struct {
    std::string_view op, whole;
    int64_t slice;
  } const cases[] = {
      {"conv_lxslice0", "conv", 0},
      {"conv_lxslice12", "conv", 12},  // the number counts, not its last digit
      {"a_lxslice1_b_lxslice2", "a_b", 2},
      {"conv_lxslice3_tail", "conv_tail", 3},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_manual_slice(c.op);
    ASSERT_TRUE(parsed) << c.op;
    EXPECT_EQ(parsed->op, c.whole);
    EXPECT_EQ(parsed->slice, c.slice);
  }
  EXPECT_FALSE(parse_manual_slice("conv"));
  EXPECT_FALSE(parse_manual_slice("conv_lxslice"));
  EXPECT_FALSE(parse_manual_slice(""));
}

TEST(Names, GoldenFiles) {
  struct {
    std::string_view stem, op;
    int64_t index, timestamp;
  } const cases[] = {
      {"relu.0.1700000000000001", "relu", 0, 1700000000000001},
      {"layer.1.conv.2.1700000000000001", "layer.1.conv", 2, 1700000000000001},
      {"conv.0.1700000000000001.3", "conv", 0, 1700000000000001},  // TensorFlow's count at the end
      {"v1.conv.1.1700000000000001.12", "v1.conv", 1, 1700000000000001},
      {"relu.0.1700000000", "relu", 0, 1700000000},  // in seconds
      {"relu.0.20240125031118787351", "relu", 0, 240125031118787351},
      {"a b+c.0.1700000000000001", "a b+c", 0, 1700000000000001},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.stem);
    const auto parsed = parse_golden_name(c.stem);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->op, c.op);
    EXPECT_EQ(parsed->index, c.index);
    EXPECT_EQ(parsed->timestamp, c.timestamp);
  }
  for (std::string_view bad :
       {"", "relu", "relu.0", "0.1700000000000001", ".0.17", "relu.x.17", "relu.0.17x",
        "relu.99999999999999999999.1700000000", "relu.0.5", "features.0.1", "features.18.conv.0.0"})
    EXPECT_FALSE(parse_golden_name(bad)) << bad;
}

TEST(Names, FxFiles) {
  struct {
    std::string_view name, op, target;
    Slot slot;
    bool is_reduced;
  } const cases[] = {
      {"mm-aten.mm.default.INPUT.0.20240125031118787351.npy",
       "mm-aten.mm.default",
       "aten.mm.default",
       {SlotKind::kInput, 0, ""},
       false},
      {"cat-aten.cat.default.INPUT.0.11.20240125031118787351.npy",
       "cat-aten.cat.default",
       "aten.cat.default",
       {SlotKind::kInput, 0, "11"},
       false},
      {"mm-aten.mm.default.OUTPUT.3.20240125031118787351_min_max.npy",
       "mm-aten.mm.default",
       "aten.mm.default",
       {SlotKind::kOutput, 3, ""},
       true},
      {"plain.OUTPUT.0.20240125031118.npy", "plain", "", {SlotKind::kOutput, 0, ""}, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto parsed = parse_fx_name(c.name);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->op, c.op);
    EXPECT_EQ(parsed->target, c.target);
    EXPECT_EQ(parsed->slot, c.slot);
    EXPECT_EQ(parsed->is_reduced, c.is_reduced);
  }
  for (std::string_view bad :
       {"mm.INPUT.0.2024012503111.npy", "mm.INPUT.0.20240125031118787351",
        "mm.input.0.20240125031118787351.npy", ".INPUT.0.20240125031118787351.npy",
        "mm.INPUT.0.1.2.20240125031118787351.npy", "mm.INPUT.20240125031118787351.npy",
        "relu.0.1700000000000001.npy"})
    EXPECT_FALSE(parse_fx_name(bad)) << bad;
}

TEST(Names, TimeStampsOfAnyLengthKeepTheirOrder) {
  EXPECT_EQ(timestamp_from("1700000000000001"), 1700000000000001);
  EXPECT_EQ(timestamp_from("20250601120000000001"), 250601120000000001);
  EXPECT_LT(timestamp_from("20250601120000000001"), timestamp_from("20250601120000000002"));
  EXPECT_EQ(timestamp_from(std::string(255, '9')), 999999999999999999);
}

TEST(Names, NaturalOrder) {
  EXPECT_TRUE(natural_less("a2", "a10"));
  EXPECT_FALSE(natural_less("a10", "a2"));
  EXPECT_TRUE(natural_less("a", "a0"));
  EXPECT_TRUE(natural_less("a0b", "a0c"));
  EXPECT_TRUE(natural_less("a01", "a1"));  // equal numbers: by text
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_FALSE(natural_less("x", "x"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
  EXPECT_TRUE(natural_less("", "a"));
}

TEST(Names, SlotsAsText) {
  EXPECT_EQ(to_string(Slot{SlotKind::kOutput, 0, ""}), "output:0");
  EXPECT_EQ(to_string(Slot{SlotKind::kInput, 1, "2"}), "input:1.2");
  EXPECT_EQ(to_string(Slot{SlotKind::kParameter, kNamed, "weight"}), "parameter:weight");
  EXPECT_EQ(to_string(Slot{SlotKind::kParameterGradient, kNamed, "weight"}), "gradient:weight");
  EXPECT_EQ(to_string(slot_from_tensor_name("input.12")), "input:12");
  EXPECT_EQ(to_string(slot_from_tensor_name("space.0")), "other:space.0");
  EXPECT_EQ(to_string(slot_from_tensor_name("output.x")), "other:output.x");
}

TEST(MappingCsv, LinesOfTwoColumns) {
  const NameMapping mapping = parse_mapping_csv(
      "123,Add.add.1.2.1700000000000001\r\n"
      "\n"
      "only_one\n"
      "a,b,c\n"
      "456.npy,some/path/relu.0.1700000000000001.npy\n"
      ",empty\n"
      "7,\n"
      "123,Add.newer.1.2.1700000000000002");
  EXPECT_EQ(mapping.real_names.size(), 2u);
  EXPECT_EQ(mapping.real_names.at("123"), "Add.newer.1.2.1700000000000002");
  EXPECT_EQ(mapping.real_names.at("456.npy"), "relu.0.1700000000000001.npy");
  EXPECT_EQ(mapping.bad_lines, (std::vector<size_t>{3, 4, 6, 7}));
  EXPECT_TRUE(parse_mapping_csv("").real_names.empty());
  EXPECT_TRUE(is_hashed_name("12345678901234567890"));
  EXPECT_TRUE(is_hashed_name("17.npy"));
  EXPECT_FALSE(is_hashed_name(".npy"));
  EXPECT_FALSE(is_hashed_name("a17"));
}

Levels levels(std::string time, std::string device, std::string model, std::string id,
              std::optional<int64_t> step, std::string above = "", std::string other = "",
              std::optional<int64_t> rank = {}) {
  return {rank, step, time, device, model, id, above, other};
}

TEST(Levels, AnyLevelMayBeMissingOrGiven) {
  const std::string time = "20250601120000";
  struct {
    std::string_view root, directory;
    Levels expected;
  } const cases[] = {
      {"/d", "20250601120000/0/resnet/1/3", levels(time, "0", "resnet", "1", 3)},
      {"/d/20250601120000", "0/resnet/1/3", levels("", "0", "resnet", "1", 3)},
      {"/d/20250601120000/0", "resnet/1/3", levels("", "", "resnet", "1", 3)},
      {"/d/20250601120000/0/resnet", "1/3", levels("", "", "", "1", 3)},
      {"/d/20250601120000/0/resnet/1", "3", levels("", "", "", "", 3)},
      {"/d/20250601120000/0/resnet/1/3", "", levels("", "", "", "", {})},
      {"/d/20250601120000", "0", levels("", "0", "", "", {})},  // single operators have no model
      {"/d", "20250601120000/0", levels(time, "0", "", "", {})},
      {"/d", "20250601120000", levels(time, "", "", "", {})},
      {"/d", "step2/20250601120000/0", levels(time, "0", "", "", 2, "step2")},
      {"/d", "out/20250601120000/0/m/1/0", levels(time, "0", "m", "1", 0, "out", "out")},
      {"/d", "worldsize8_global_rank5/20250601120000/5/g/1/0",
       levels(time, "5", "g", "1", 0, "worldsize8_global_rank5", "", 5)},
      {"/d", "step1/rank3", levels("", "", "", "", 1, "step1/rank3", "", 3)},
      {"/d", "rank_2/20250601120000/step_4",
       levels(time, "", "", "", 4, "rank_2", "", 2)},  // MindSpore, compiled as a whole ...
      {"/d", "rank_2/net/0/4", levels("", "", "net", "0", 4, "rank_2", "", 2)},  // ... or not
      {"/d", "0/resnet/1/3", levels("", "0", "resnet", "1", 3)},
      {"/d", "resnet/1/3", levels("", "", "resnet", "1", 3)},
      {"/d", "1/3", levels("", "", "", "1", 3)},
      {"/d", "npu", levels("", "", "", "", {}, "npu", "npu")},
      {"/d", "", levels("", "", "", "", {})},
      // A number that looks like a time but is followed by other things is just a directory.
      {"/d/20250601120000/notes", "npu", levels("", "", "", "", {}, "npu", "npu")},
      {"/d", "20250601120000/0/m/1/0/deeper",
       levels("", "", "", "", {}, "20250601120000/0/m/1/0/deeper",
              "20250601120000/0/m/1/0/deeper")},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.root) + " " + std::string(c.directory));
    const Levels got = parse_levels(c.root, c.directory);
    EXPECT_EQ(got.rank, c.expected.rank);
    EXPECT_EQ(got.step, c.expected.step);
    EXPECT_EQ(got.time, c.expected.time);
    EXPECT_EQ(got.device, c.expected.device);
    EXPECT_EQ(got.model, c.expected.model);
    EXPECT_EQ(got.model_id, c.expected.model_id);
    EXPECT_EQ(got.above_time, c.expected.above_time);
    EXPECT_EQ(got.other, c.expected.other);
  }
}

TEST(Levels, RankAndStepNames) {
  EXPECT_EQ(rank_from("worldsize2_global_rank1"), 1);
  EXPECT_EQ(rank_from("rank12"), 12);
  EXPECT_EQ(rank_from("rank_3"), 3);
  EXPECT_FALSE(rank_from("rank__3"));
  EXPECT_FALSE(rank_from("rank_"));
  EXPECT_EQ(step_from("step_7"), 7);
  EXPECT_FALSE(rank_from("worldsize2_global_rank"));
  EXPECT_FALSE(rank_from("low_rank4"));
  EXPECT_FALSE(rank_from("frank1"));
  EXPECT_EQ(step_from("step0"), 0);
  EXPECT_FALSE(step_from("step"));
  EXPECT_FALSE(step_from("steps3"));
}

}  // namespace
}  // namespace plumb::dump
