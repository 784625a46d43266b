// SPDX-License-Identifier: Apache-2.0
#include "dump/ascend_dump.h"

#include <cmath>

#include "dump/statistics_csv.h"
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kAdd = "ascend-dump/dumps/Add.add_fp32.3.7.1700000000000001";
constexpr std::string_view kWire = "ascend-dump/dumps/Relu.wire.15.7.1700000000000013";
constexpr std::string_view kSlice0 = "ascend-dump/dumps/Mul.ffts_mul.17.7.1700000000000015.4.3.0.0";
constexpr std::string_view kSlice1 = "ascend-dump/dumps/Mul.ffts_mul.17.7.1700000000000016.4.3.1.0";

TEST(AscendDump, EveryKindOfFile) {
  const DumpSet set = open(sample("ascend-dump/dumps"));
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(
      lines_of(set),
      ElementsAre(
          "add_fp32 input:0", "add_fp32 input:1", "add_fp32 output:0", "layer/mm_nz input:0",
          "layer/mm_nz input:1", "layer/mm_nz input:2", "layer/mm_nz output:0", "conv1 input:0",
          "conv1 input:1", "conv1 input:2", "conv1 output:0", "cast_bf16 input:0",
          "cast_bf16 output:0", "conv1_quant_layer input:0", "conv1_quant_layer input:1",
          "conv1_quant_layer output:0", "gt input:0", "gt input:1", "gt output:0", "topk_1 input:0",
          "topk_1 input:1", "topk_1 input:2", "topk_1 output:0", "topk_1 output:1",
          "topk_1 other:l1buffer.0", "topk_1 other:space.0", "topk_1 other:space.1",
          "cast_fp8 input:0", "cast_fp8 input:1", "cast_fp8 output:0", "all_types input:0",
          "all_types input:1", "all_types input:2", "all_types input:3", "all_types input:4",
          "all_types input:5", "all_types output:0", "all_types output:1", "all_types output:2",
          "pool3d input:0", "pool3d output:0", "trans input:0", "trans input:1", "trans output:0",
          "sh input:0", "sh input:1", "sh output:0", "wire input:0", "wire output:0", "c output:0",
          "ffts_mul input:0", "ffts_mul output:0", "ffts_relu output:0", "Node_OpDebug output:0",
          "Node_OpDebug output:0", "Node_OpDebug output:0", "Node_OpDebug output:0",
          "Node_OpDebug output:0", "nano_mm input:0", "nano_mm input:1", "nano_mm output:0",
          "gconv input:0", "gconv output:0"));
  EXPECT_THAT(set.skipped, IsEmpty());
  EXPECT_THAT(set.warnings,
              ElementsAre("Const.c.16.7.1700000000000014: 8 bytes after the last record ignored"));
  const Entry& add = find(set, "add_fp32 output:0");
  EXPECT_EQ(add.type, "Add");
  EXPECT_EQ(add.timestamp, 1700000000000001);
  ASSERT_TRUE(add.info);
  EXPECT_EQ(add.info->dtype, DType::kFloat32);
  EXPECT_EQ(find(set, "Node_OpDebug output:0").type, "Opdebug");
  expect_all_accounted(set);
}

std::string elements_of_npy(const std::string& name) {
  const DumpSet set = open(sample("ascend-dump/expect/merged/" + name));
  EXPECT_EQ(set.convention, "npy");
  return elements_of(set, set.entries.at(0));
}

// What tools that decode dumps write, in any order, is what the dumps would be.
TEST(AscendDump, DecodedDumpsAreListedLikeTheDumps) {
  Scratch dir;
  const char* const names[] = {
      "Conv2D.net_conv1.3.7.1700000000000003.output.0.npy",
      "Conv2D.net_conv1.3.7.1700000000000003.input.10.npy",
      "Conv2D.net_conv1.3.7.1700000000000003.input.2.npy",
      "Add.add_fp32.3.7.1700000000000001.input.0.npy",
      "Add.add_fp32.3.7.1700000000000001.output.0.npy",
      "Relu.relu.4.7.1700000000000004.output.0.npy",
      "Relu.relu.4.7.1700000000000009.output.0.npy",  // once more
  };
  for (const char* name : names) dir.npy(name);
  dir.npy("other.npy");
  dir.write("Relu.empty.4.7.1700000000000004.output.0.npy", "");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_TRUE(set.traits.is_device);
  EXPECT_THAT(lines_of(set),
              ElementsAre("add_fp32 input:0", "add_fp32 output:0", "net_conv1 input:2",
                          "net_conv1 input:10", "net_conv1 output:0", "relu output:0",
                          "relu output:0", "other output:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("!Relu.empty.4.7.1700000000000004.output.0.npy: the "
                                           "file is empty"));
  EXPECT_EQ(find(set, "net_conv1 output:0").type, "Conv2D");
  EXPECT_EQ(set.entries[5].timestamp, 1700000000000004);
  EXPECT_EQ(set.entries[6].timestamp, 1700000000000009);
  EXPECT_EQ(elements_of(set, set.entries[0]), "float32 [3]: 1 2 3");
  expect_all_accounted(set);
  // A lone file is what it is.
  EXPECT_EQ(open(dir.root() / names[0]).convention, "npy");
  // Beside the dump itself it is a copy.
  dir.copy(kAdd, "Add.add_fp32.3.7.1700000000000001");
  EXPECT_THAT(skipped_of(open(dir.root())),
              testing::Contains("Add.add_fp32.3.7.1700000000000001.output.0.npy: decoded copy of a "
                                "dump that is there"));
}

// As MindSpore saves kernels: layout and element type in the name, and bare elements where npy has
// no such type. Those say nothing of their shape, which costs a row.
TEST(AscendDump, KernelsOfMindSpore) {
  Scratch dir;
  const std::string at = "rank_1/20241224033136/step_";
  dir.npy(at + "0/Cast.Default_Net_Cast-op0.9.10.1735011096426349.input.0.ND.FLOAT.npy");
  dir.npy(at + "0/Cast.Default_Net_Cast-op0.9.10.1735011096426349.output.0.ND.FLOAT16.npy");
  dir.npy(at + "1/Cast.Default_Net_Cast-op0.9.10.1735011096526349.output.0.ND.FLOAT16.npy");
  dir.write(at + "0/Sub.Default_Net_Sub-op0.10.10.1735011096427368.input.0.ND.BF16", "0123");
  dir.write("acl_dump_0.json", "{}");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set), ElementsAre("rank 1 step 0 Default_Net_Cast-op0 input:0",
                                         "rank 1 step 0 Default_Net_Cast-op0 output:0",
                                         "rank 1 step 1 Default_Net_Cast-op0 output:0"));
  EXPECT_THAT(skipped_of(set),
              ElementsAre("acl_dump_0.json: description, not a tensor",
                          "!" + at +
                              "0/Sub.Default_Net_Sub-op0.10.10.1735011096427368.input.0.ND.BF16: "
                              "raw data says nothing about itself"));
  expect_all_accounted(set);
}

TEST(AscendDump, SlicesAreJoined) {
  const DumpSet set = open(sample("ascend-dump/dumps"));
  const Entry& automatic = find(set, "ffts_mul output:0");
  EXPECT_EQ(automatic.parts.size(), 2u);
  EXPECT_EQ(automatic.parts.join_axis, 0u);
  EXPECT_EQ(elements_of(set, automatic), elements_of_npy("15-ffts-auto.output.0.npy"));
  EXPECT_EQ(find(set, "ffts_mul input:0").parts.size(), 1u);  // as the first slice had it
  const Entry& manual = find(set, "ffts_relu output:0");
  EXPECT_EQ(manual.parts.size(), 2u);
  EXPECT_EQ(manual.parts.join_axis, 1u);
  EXPECT_EQ(elements_of(set, manual), elements_of_npy("16-ffts-manual.output.0.npy"));
}

// The slices are cut where the whole is; only together do they have the recorded logical shape.
TEST(AscendDump, SlicesOfABlockedLayoutAreJoinedBeforeItIsUndone) {
  const DumpSet set = open(sample("dump/ffts_blocked"));
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(skipped_of(set), IsEmpty());
  EXPECT_THAT(set.warnings, IsEmpty());
  EXPECT_TRUE(find(set, "expected output:0").is_beside);
  const Entry& conv = find(set, "net/conv output:0");
  EXPECT_EQ(conv.parts.size(), 3u);
  EXPECT_EQ(conv.parts.join_axis, 2u);
  const DumpSet expected = open(sample("dump/ffts_blocked/expected.npy"));
  EXPECT_EQ(elements_of(set, conv), elements_of(expected, expected.entries.at(0)));
  auto joined = EntryReader::open(set, conv);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->info().shape, (Shape{1, 2, 5, 3, 16}));
  EXPECT_EQ(joined->info().logical_shape, (Shape{1, 20, 5, 3}));
  auto stored = EntryReader::open(set, conv, {}, {.stored = true, .axes = {}, .logical = {}});
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->reader().shape(), (Shape{1, 2, 5, 3, 16}));
}

TEST(AscendDump, SlicesUnderHashedNamesOfTwoExecutions) {
  Scratch dir;
  dir.copy(kSlice1, "11");
  dir.copy(kSlice0, "12");
  dir.copy(kSlice0, "13");
  dir.copy(kSlice1, "14");
  dir.write("mapping.csv",
            "11,Mul.ffts_mul.17.7.1700000000000016.4.3.1.0\n"
            "12,Mul.ffts_mul.17.7.1700000000000015.4.3.0.0\n"
            "13,Mul.ffts_mul.17.7.1700000000000025.4.3.0.0\n"
            "14,Mul.ffts_mul.17.7.1700000000000026.4.3.1.0\n");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set), ElementsAre("ffts_mul input:0", "ffts_mul output:0",
                                         "ffts_mul input:0", "ffts_mul output:0"));
  EXPECT_EQ(set.entries[1].parts[0].file, "12");
  EXPECT_EQ(set.entries[1].parts[1].file, "11");
  EXPECT_EQ(set.entries[3].parts[0].file, "13");
  EXPECT_EQ(set.entries[3].parts[1].file, "14");
  const std::string merged = elements_of_npy("15-ffts-auto.output.0.npy");
  EXPECT_EQ(elements_of(set, set.entries[1]), merged);
  EXPECT_EQ(elements_of(set, set.entries[3]), merged);
  expect_all_accounted(set);
  // The names are kept: mapping.csv is read when the dump is listed, and not again for each file.
  std::filesystem::remove(dir.root() / "mapping.csv");
  EXPECT_EQ(elements_of(set, set.entries[1]), merged);
  FileCache cache;
  auto file = cache.open(set, set.entries[1].parts[1], {});
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->listing.warnings.empty());  // its thread is known
}

TEST(AscendDump, AMissingSliceIsToldAndADamagedOneToo) {
  Scratch dir;
  dir.copy(kSlice0, "Mul.ffts_mul.17.7.1700000000000015.4.3.0.0");
  EXPECT_THAT(open(dir.root()).warnings, ElementsAre("ffts_mul: 1 of 2 slices are there"));
  dir.write("Mul.ffts_mul.17.7.1700000000000016.4.3.1.0", "cut");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("ffts_mul input:0", "ffts_mul output:0"));
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_TRUE(set.skipped[0].error);
  EXPECT_THAT(set.warnings, ElementsAre("ffts_mul: 1 of 2 slices are there"));
  expect_all_accounted(set);
}

TEST(AscendDump, SlicesThatDoNotFitAreRefusedOnReading) {
  const DumpSet set = open(sample("ascend-dump/dumps"));
  Entry mixed = find(set, "ffts_mul output:0");
  mixed.parts[1] = find(set, "wire output:0").parts[0];
  EXPECT_EQ(elements_of(set, mixed), "error: slices of an operator do not fit together");
  mixed = find(set, "ffts_mul output:0");
  mixed.parts.join_axis = 7;
  EXPECT_EQ(elements_of(set, mixed), "error: slices of an operator do not fit together");
  mixed.parts = {{mixed.parts[0].file, "output.9"}};
  EXPECT_EQ(elements_of(set, mixed), "error: the tensor is not in the file");
}

TEST(AscendDump, HashedNames) {
  const DumpSet set = open(sample("ascend-dump/hashed"));
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set),
              ElementsAre("add_fp32 input:0", "add_fp32 input:1", "add_fp32 output:0",
                          "cast_bf16 input:0", "cast_bf16 output:0"));
  EXPECT_EQ(set.entries[0].type, "Add");
  EXPECT_EQ(set.entries[0].timestamp, 1700000000000001);
  EXPECT_EQ(set.entries[0].parts[0].file, "12345678901234567890");
  EXPECT_FALSE(set.entries[0].is_beside);
  EXPECT_EQ(set.entries[3].parts[0].file, "999");  // still a dump, of which the header tells more
  EXPECT_TRUE(set.entries[3].is_beside);
  EXPECT_THAT(skipped_of(set), ElementsAre("mapping.csv: real names of renamed files"));
  EXPECT_THAT(set.warnings, ElementsAre("1 file is named by a number whose real name is not in "
                                        "mapping.csv: listed by path"));
  expect_all_accounted(set);
}

TEST(AscendDump, DamagedFilesCostThemselvesOnly) {
  const DumpSet set = open(sample("ascend-dump/bad"));
  EXPECT_EQ(set.convention, "ascend-dump");
  std::vector<std::string> damaged;
  for (const Skipped& skipped : set.skipped) {
    EXPECT_TRUE(skipped.error || skipped.reason == "holds no tensors") << skipped.file;
    damaged.push_back(skipped.file);
  }
  EXPECT_THAT(
      damaged,
      ElementsAre("Add.empty.1.1.1700000000000101", "Add.garbage.1.1.1700000000000105",
                  "Add.hdrcut.1.1.1700000000000103", "Add.hdrhuge.1.1.1700000000000104",
                  "Add.hdrzero.1.1.1700000000000113", "Add.only8.1.1.1700000000000102",
                  "Add.paycut.1.1.1700000000000106", "MatMul.nano_bad.0.0.1700000000000111"));
  expect_all_accounted(set);
}

TEST(AscendDump, OneBadFileAmongGoodOnes) {
  const DumpSet set = open(sample("msaccucmp/15-defect-one-bad-file/npu_trunc"));
  EXPECT_THAT(lines_of(set), ElementsAre("ok1 output:0", "ok2 output:0", "strg output:0"));
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_EQ(set.skipped[0].file, "Relu.trunc.1.2.1700000000000004");
  EXPECT_TRUE(set.skipped[0].error);
  expect_all_accounted(set);
}

TEST(AscendDump, OverflowRecordsBesideTheirOperators) {
  const DumpSet set = open(sample("msaccucmp/10-overflow/dump"));
  EXPECT_THAT(lines_of(set),
              ElementsAre("layer0_exp input:0", "layer0_exp output:0", "Node_OpDebug output:0",
                          "layer1_mul input:0", "layer1_mul output:0", "Node_OpDebug output:0"));
  EXPECT_EQ(set.entries[2].type, "Opdebug");
  EXPECT_EQ(set.entries[2].info->dtype, DType::kUint8);
  EXPECT_EQ(set.entries[2].parts[0].file, "Opdebug.Node_OpDebug.0.4.1700000000000090");
}

TEST(AscendDump, ModelsAtAnyLevel) {
  const DumpSet set = open(sample("msaccucmp/12-batch-compare/dump"));
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set), ElementsAre("step 0 [ge_default_20210420113943_71] relu_71 output:0",
                                         "step 0 [ge_default_20210420113943_73] relu_73 output:0"));
  EXPECT_EQ(lines_of(open(sample("msaccucmp/12-batch-compare/dump/20210420113950"))),
            lines_of(set));
  EXPECT_EQ(lines_of(open(sample("msaccucmp/12-batch-compare/dump/20210420113950/0"))),
            lines_of(set));
  const std::string model =
      "msaccucmp/12-batch-compare/dump/20210420113950/0/ge_default_20210420113943_71";
  EXPECT_THAT(lines_of(open(sample(model))), ElementsAre("step 0 relu_71 output:0"));
  EXPECT_THAT(lines_of(open(sample(model + "/1"))), ElementsAre("step 0 relu_71 output:0"));
  EXPECT_THAT(lines_of(open(sample(model + "/1/0"))), ElementsAre("relu_71 output:0"));
}

TEST(AscendDump, DevicesWithoutRanksCountAsRanks) {
  Scratch dir;
  dir.copy(kWire, "20250601120000/0/m/1/0/Relu.wire.15.7.1700000000000013");
  dir.copy(kWire,
           "20250601120001/1/m/1/0/Relu.wire.15.7.1700000000000013");  // started a second later
  EXPECT_THAT(lines_of(open(dir.root())),
              ElementsAre("rank 0 step 0 wire input:0", "rank 0 step 0 wire output:0",
                          "rank 1 step 0 wire input:0", "rank 1 step 0 wire output:0"));
}

TEST(AscendDump, OfSeveralRunsTheNewestCounts) {
  Scratch dir;
  dir.copy(kWire, "20250601120000/0/m/1/0/Relu.wire.15.7.1700000000000013");
  dir.copy(kWire, "20250601120000/0/m/1/1/Relu.wire.15.7.1700000000000014");
  dir.copy(kWire, "20250601130000/0/m/1/0/Relu.wire.15.7.1700000000000015");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("step 0 wire input:0", "step 0 wire output:0"));
  EXPECT_EQ(set.entries[0].timestamp, 1700000000000015);
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("20250601120000/0/m/1/0/Relu.wire.15.7.1700000000000013: an older run; that of "
                  "20250601130000 is listed",
                  "20250601120000/0/m/1/1/Relu.wire.15.7.1700000000000014: an older run; that of "
                  "20250601130000 is listed"));
  EXPECT_THAT(set.warnings, ElementsAre("2 files of the older run 20250601120000 left out"));
  expect_all_accounted(set);
  // What lies beside the runs is not one of them.
  dir.copy(kWire, "Relu.wire.15.7.1700000000000016");
  EXPECT_EQ(open(dir.root()).entries.size(), 4u);
  // Steps of a training run have a time each, and are no runs.
  Scratch steps;
  steps.copy(kWire, "step0/20250601120000/0/Relu.wire.15.7.1700000000000013");
  steps.copy(kWire, "step1/20250601130000/0/Relu.wire.15.7.1700000000000014");
  EXPECT_THAT(lines_of(open(steps.root())),
              ElementsAre("step 0 wire input:0", "step 0 wire output:0", "step 1 wire input:0",
                          "step 1 wire output:0"));
}

TEST(AscendDump, SameOperatorTwiceIsKept) {
  Scratch dir;
  dir.copy(kWire, "Relu.wire.15.7.1700000000000024");
  dir.copy(kWire, "Relu.wire.15.7.1700000000000013");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set),
              ElementsAre("wire input:0", "wire output:0", "wire input:0", "wire output:0"));
  EXPECT_EQ(set.entries[3].timestamp, 1700000000000024);
}

// The name alone makes no reduced file.
TEST(AscendDump, ArraysUnderTheNameOfAReducedFile) {
  Scratch dir;
  dir.copy(kAdd, "Add.add_fp32.3.7.1700000000000001");
  dir.copy("npz/stored.npz", "Relu.relu.3.7.1700000000000002_min_max.npz");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(skipped_of(set), IsEmpty());
  ASSERT_GT(set.entries.size(), 3u);
  for (const Entry& entry : set.entries)
    EXPECT_EQ(entry.is_beside,
              entry.operator_name.str().starts_with("Relu.relu.3.7.1700000000000002_min_max/"));
  expect_all_accounted(set);
}

TEST(AscendDump, OtherNamesAndForeignFiles) {
  Scratch dir;
  dir.copy(kAdd, "Add.add_fp32.3.7.1700000000000001");
  dir.copy(kWire, "wire_renamed");  // content decides
  dir.copy(kWire, "pool.3.1700000000000002.pb");
  dir.copy("ascend-dump/dumps/Const.c.16.7.1700000000000014", "c.5.1700000000000003.quant");
  dir.npy("Add.add_fp32.3.7.1700000000000001.input.0.npy");
  dir.npy("Add.add_fp32.3.7.1700000000000009.input.0.npy");  // all there is of it
  dir.npy("Sub.sub.3.7.1700000000000001");                   // no dump, whatever its name
  dir.write("convert_failed_file_list.txt", "x");
  dir.write("notes", "hello, this is not a dump of any kind");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set),
              ElementsAre("wire input:0", "wire output:0", "add_fp32 input:0", "add_fp32 input:1",
                          "add_fp32 output:0", "wire input:0", "wire output:0", "c output:5",
                          "add_fp32 input:0", "Sub.sub.3.7.1700000000000001 output:0"));
  EXPECT_THAT(skipped_of(set),
              ElementsAre("Add.add_fp32.3.7.1700000000000001.input.0.npy: "
                          "decoded copy of a dump that is there",
                          "convert_failed_file_list.txt: list of failed conversions",
                          "notes: not a device dump"));
  expect_all_accounted(set);
}

TEST(AscendDump, SingleFile) {
  const DumpSet set = open(sample(kAdd));
  EXPECT_THAT(lines_of(set),
              ElementsAre("add_fp32 input:0", "add_fp32 input:1", "add_fp32 output:0"));
  EXPECT_EQ(set.entries[0].type, "Add");
}

constexpr std::string_view kStatistics =
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan "
    "Count,Negative Inf Count,Positive Inf Count\n"
    "Input,0,24,DT_FLOAT,ND,2x3,1.5,-2,0.25,6,1,2,3\r\n"
    "Input,1,4,DT_INT32,ND,-,,,,1,0,0,0\n"
    "Output,0,24,DT_FLOAT,ND,2x3,inf,-inf,nan,6,0,0,0\n";

TEST(StatisticsCsv, ColumnsByName) {
  const auto entries = parse_statistics_csv(kStatistics);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3u);
  const Entry& first = (*entries)[0];
  EXPECT_EQ(to_string(first.slot), "input:0");
  EXPECT_EQ(first.dtype_text(), "DT_FLOAT");
  EXPECT_EQ(first.recorded_shape(), (Shape{2, 3}));
  EXPECT_EQ(first.statistics->max, 1.5);
  EXPECT_EQ(first.statistics->min, -2.0);
  EXPECT_EQ(first.statistics->mean, 0.25);
  EXPECT_FALSE(first.statistics->l2);
  EXPECT_EQ(first.statistics->nan_count, 1);
  EXPECT_EQ(first.statistics->inf_count, 5);
  EXPECT_FALSE((*entries)[1].recorded_shape());
  EXPECT_FALSE((*entries)[1].statistics->max);
  EXPECT_TRUE(std::isnan((*entries)[2].statistics->mean.value()));
  EXPECT_EQ((*entries)[2].statistics->max, std::numeric_limits<double>::infinity());

  const auto newer = parse_statistics_csv(
      "Index,Input/Output,Shape,Count,Max Value,l2norm\n0,Output,4,4,NA,2.5\n");
  ASSERT_TRUE(newer);
  EXPECT_EQ((*newer)[0].recorded_shape(), Shape{4});
  EXPECT_EQ((*newer)[0].statistics->l2, 2.5);
  EXPECT_FALSE((*newer)[0].statistics->max);
}

TEST(StatisticsCsv, Damaged) {
  struct {
    std::string_view text, where;
  } const cases[] = {
      {"", "line 1"},
      {"a,b,c\n", "line 1"},
      {"Input/Output,Index\nInput,0\nInput,x\n", "line 3"},
      {"Input/Output,Index\nElse,0\n", "line 2"},
      {"Input/Output,Index\n,\n", "line 2"},
  };
  for (const auto& c : cases) {
    const auto entries = parse_statistics_csv(c.text);
    ASSERT_FALSE(entries) << c.text;
    EXPECT_THAT(entries.error().where, HasSubstr(c.where));
  }
}

TEST(AscendDump, StatisticsInsteadOfTensors) {
  Scratch dir;
  dir.write("20250601120000/0/m/1/0/Relu.relu.3.7.1700000000000001.csv", kStatistics);
  dir.write("20250601120000/0/m/1/0/Relu.bad.3.7.1700000000000002.csv", "x");
  dir.write("20250601120000/0/m/1/0/other.csv", "x");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "ascend-dump");
  EXPECT_THAT(lines_of(set),
              ElementsAre("step 0 relu input:0", "step 0 relu input:1", "step 0 relu output:0"));
  EXPECT_TRUE(set.entries[0].parts.empty());
  EXPECT_EQ(set.entries[0].type, "Relu");
  EXPECT_EQ(set.entries[0].timestamp, 1700000000000001);
  EXPECT_EQ(set.entries[0].record, "20250601120000/0/m/1/0/Relu.relu.3.7.1700000000000001.csv");
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("!20250601120000/0/m/1/0/Relu.bad.3.7.1700000000000002.csv: statistics table is "
                  "damaged",
                  "20250601120000/0/m/1/0/other.csv: table, not a tensor"));
  expect_all_accounted(set);
}

}  // namespace
}  // namespace plumb::dump
