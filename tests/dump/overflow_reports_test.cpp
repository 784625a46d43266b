// SPDX-License-Identifier: Apache-2.0
#include "dump/overflow_reports.h"

#include "dump/trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kDumps = "ascend-dump/dumps/";

// "timestamp unit: dump file: operator slot, ..."
std::vector<std::string> report_lines(const OverflowReports& found) {
  std::vector<std::string> lines;
  for (const OverflowReport& report : found.reports) {
    std::string line =
        fmt::format("{} {}: {}:", report.record->timestamp, report.unit.name, report.dump_file);
    for (const Entry* entry : report.tensors) line += " " + line_of(*entry);
    lines.push_back(line);
  }
  return lines;
}

// What msaccucmp says of these files: the older record is the second file.
TEST(OverflowReports, InOrderOfTimeWithTheirOperators) {
  const DumpSet set = open(sample("msaccucmp/10-overflow/dump"));
  const OverflowReports found = read_overflow_reports(set, {});
  EXPECT_EQ(found.records, 2u);
  EXPECT_THAT(found.damaged, IsEmpty());
  EXPECT_THAT(report_lines(found),
              ElementsAre("1700000000000090 AI Core: Exp.layer0_exp.9.5.1700000000000080: "
                          "layer0_exp input:0 layer0_exp output:0",
                          "1700000000000100 AIC: Mul.layer1_mul.7.3.1700000000000099: "
                          "layer1_mul input:0 layer1_mul output:0"));
  EXPECT_EQ(found.reports[0].unit.value("status"), 8u);
  EXPECT_EQ(found.reports[1].unit.value("status"), 32u);
}

// Every unit with a status; three in the old layout.
TEST(OverflowReports, EveryUnitThatReports) {
  const DumpSet set = open(sample(kDumps));
  const OverflowReports found = read_overflow_reports(set, {});
  EXPECT_EQ(found.records, 5u);
  std::vector<std::string> units;
  for (const OverflowReport& report : found.reports)
    units.push_back(fmt::format("{} {}", report.unit.name, report.dump_file));
  EXPECT_THAT(units, ElementsAre("AIC MatMulV2.mm_nz.4.7.1700000000000002",
                                 "AIV MatMulV2.mm_nz.4.7.1700000000000002",
                                 "AICPU TopKD.topk_1.9.7.1700000000000007",
                                 "SDMA Cast.cast_fp8.10.7.1700000000000008",
                                 "DHA Atomic Add MatMulV2.mm_nz.4.7.1700000000000002",
                                 HasSubstr("L2"), HasSubstr("AI Core")));
}

const std::string kRecord = "msaccucmp/10-overflow/dump/Opdebug.Node_OpDebug.0.3.1700000000000100";
const std::string kMul = "msaccucmp/10-overflow/dump/Mul.layer1_mul.7.3.1700000000000099";

// Records may be anywhere; their operator is beside them, under whatever name.
TEST(OverflowReports, LooksInTheRecordsDirectory) {
  Scratch dir;
  dir.copy(kRecord, "a/Opdebug.Node_OpDebug.0.3.1700000000000100");
  dir.copy(kMul, "b/Mul.elsewhere.7.3.1700000000000001");
  EXPECT_THAT(report_lines(read_overflow_reports(open(dir.root()), {})),
              ElementsAre("1700000000000100 AIC: :"));
  dir.copy(kMul, "a/Mul.late.7.3.1700000000000099");
  dir.copy(kMul, "a/Mul.other_stream.7.4.1700000000000001");
  dir.copy(kMul, "a/Mul.other_task.8.3.1700000000000001");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(read_overflow_reports(set, {}).reports.at(0).dump_file,
            "a/Mul.late.7.3.1700000000000099");
  dir.copy(kMul, "a/Mul.early.7.3.1700000000000098");
  const DumpSet more = open(dir.root());
  EXPECT_EQ(read_overflow_reports(more, {}).reports.at(0).dump_file,
            "a/Mul.early.7.3.1700000000000098");
  dir.copy(kMul, "a/Mul.old_name.7.1700000000000097");  // no stream to tell them apart
  const DumpSet old = open(dir.root());
  EXPECT_EQ(read_overflow_reports(old, {}).reports.at(0).dump_file,
            "a/Mul.old_name.7.1700000000000097");
}

TEST(OverflowReports, HashedNames) {
  Scratch dir;
  dir.copy(kRecord, "deep/111");
  dir.copy(kMul, "deep/222");
  dir.write(
      "deep/mapping.csv",
      "111,Opdebug.Node_OpDebug.0.3.1700000000000100\n222,Mul.layer1_mul.7.3.1700000000000099\n");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(
      report_lines(read_overflow_reports(set, {})),
      ElementsAre("1700000000000100 AIC: deep/222: layer1_mul input:0 layer1_mul output:0"));
}

// A slice is told by context and thread; its operator's tensors are the joined ones.
TEST(OverflowReports, Slices) {
  std::ifstream file(sample(kDumps + "Opdebug.Node_OpDebug.19.7.1700000000000020"),
                     std::ios::binary);
  std::string record((std::istreambuf_iterator<char>(file)), {});
  const size_t fields = record.find("ZZZZ") + 24;  // the magic number, then six words
  const auto set_field = [&](size_t index, uint64_t value) {
    for (size_t i = 0; i < 8; ++i)
      record[fields + 8 * index + i] = static_cast<char>(value >> (8 * i) & 255);
  };
  set_field(1, 7);   // stream
  set_field(2, 17);  // task
  set_field(4, 3);   // context
  for (const uint64_t thread : {1u, 65535u, 5u}) {
    Scratch dir;
    set_field(5, thread);
    dir.write("Opdebug.Node_OpDebug.19.7.1700000000000020", record);
    for (const char* slice : {"Mul.ffts_mul.17.7.1700000000000015.4.3.0.0",
                              "Mul.ffts_mul.17.7.1700000000000016.4.3.1.0"})
      dir.copy(kDumps + slice, slice);
    const DumpSet set = open(dir.root());
    const OverflowReports found = read_overflow_reports(set, {});
    ASSERT_EQ(found.reports.size(), 1u);
    const OverflowReport& report = found.reports[0];
    EXPECT_EQ(report.dump_file, thread == 1       ? "Mul.ffts_mul.17.7.1700000000000016.4.3.1.0"
                                : thread == 65535 ? "Mul.ffts_mul.17.7.1700000000000015.4.3.0.0"
                                                  : "");
    ASSERT_EQ(report.tensors.empty(), thread == 5);
    if (thread != 5) {
      EXPECT_EQ(line_of(*report.tensors.back()), "ffts_mul output:0");
    }
  }
}

TEST(OverflowReports, DamagedRecordsAndDumps) {
  Scratch dir;
  std::ifstream file(sample(kRecord), std::ios::binary);
  std::string record((std::istreambuf_iterator<char>(file)), {});
  const size_t magic = record.find("ZZZZ");
  std::string unknown = record, quiet = record;
  unknown[magic + 12] = 9;  // acc_type
  for (size_t i = 0; i < 8; ++i) quiet[magic + 24 + 80 + i] = 0;
  dir.write("Opdebug.Node_OpDebug.0.3.1700000000000101", unknown);
  dir.write("Opdebug.Node_OpDebug.0.3.1700000000000102", quiet);
  dir.write("Opdebug.Node_OpDebug.0.3.1700000000000103", record);
  dir.write("Mul.layer1_mul.7.3.1700000000000099", "\x05");
  const DumpSet set = open(dir.root());
  const OverflowReports found = read_overflow_reports(set, {});
  EXPECT_EQ(found.records, 2u);
  ASSERT_EQ(found.damaged.size(), 1u);
  EXPECT_EQ(found.damaged[0].what, "overflow record is of an unknown unit");
  EXPECT_THAT(found.damaged[0].where, HasSubstr("1700000000000101, byte "));
  EXPECT_THAT(report_lines(found),
              ElementsAre("1700000000000103 AIC: Mul.layer1_mul.7.3.1700000000000099:"));
}

}  // namespace
}  // namespace plumb::dump
