// SPDX-License-Identifier: Apache-2.0
#include "io/ascend_overflow.h"

#include <gmock/gmock.h>

#include "io/ascend_vectors.h"

namespace plumb::io {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string new_record(uint32_t version, uint32_t valid, uint32_t type, uint32_t data_len,
                       int words) {
  std::string record = packed(uint32_t{0x5A5A5A5A}, version, valid, type, uint32_t{0}, data_len);
  for (uint64_t i = 0; i < static_cast<uint64_t>(words); ++i) record += packed(i);
  return record;
}

TEST(AscendOverflow, PrintsWhatTheReferencePrints) {
  int compared = 0;
  for (const auto& one : cases("dumps/"))
    for (const auto& run : one["runs"]) {
      if (run["label"] != "json") continue;
      const std::string name = one["file"];
      auto file = open_tensor_file(vectors() / name);
      ASSERT_TRUE(file.ok());
      EXPECT_TRUE(
          is_overflow_dump(std::filesystem::path(file->path).filename().string(), file->listing));
      ASSERT_EQ(file->listing.tensors.size(), 1u);
      const auto record = decode_overflow(file->mapping.bytes(), file->listing.tensors[0]);
      ASSERT_TRUE(record.ok()) << record.error().what;
      EXPECT_THAT(record->warnings, IsEmpty());
      EXPECT_EQ(to_json(*record), slurp(vectors() / run["outputs"][0]["file"].get<std::string>()));
      for (const OverflowUnit& unit : record->units) EXPECT_TRUE(unit.has_overflow());
      ++compared;
    }
  EXPECT_EQ(compared, 5);
}

TEST(AscendOverflow, GivesFieldsByName) {
  const auto record = decode_overflow(as_bytes(new_record(0, 1, 3, 80, 10)));
  ASSERT_TRUE(record.ok());
  const OverflowUnit& unit = record->units.at(0);
  EXPECT_EQ(unit.name, "SDMA");
  EXPECT_EQ(unit.value("task_id"), 2u);
  EXPECT_EQ(unit.value("status"), 9u);
  EXPECT_EQ(unit.value("core_id"), std::nullopt);
}

TEST(AscendOverflow, AnyStatusWordCounts) {
  std::string record = new_record(1, 1, 0, 112, 14);
  EXPECT_TRUE(decode_overflow(as_bytes(record))->units[0].has_overflow());
  std::fill(record.begin() + 24 + 80, record.end(), '\0');
  EXPECT_FALSE(decode_overflow(as_bytes(record))->units[0].has_overflow());
  record.back() = 1;
  EXPECT_TRUE(decode_overflow(as_bytes(record))->units[0].has_overflow());
}

TEST(AscendOverflow, IsKnownByFileOrOperator) {
  const Listing other, renamed{{}, {{"version", "2.0"}, {"op_name", "Node_OpDebug"}}, {}};
  EXPECT_TRUE(is_overflow_dump("Opdebug.Node_OpDebug.19.7.1700000000000020", other));
  EXPECT_TRUE(is_overflow_dump("1234567", renamed));
  EXPECT_FALSE(is_overflow_dump("Add.Node_OpDebug.19.7.1700000000000020", other));
  EXPECT_FALSE(is_overflow_dump("", other));
}

TEST(AscendOverflow, SaysWhatIsWrong) {
  struct Case {
    const char* name;
    std::string record;
    const char* what;
    const char* where;
  };
  const Case all[] = {
      {"empty", "", "overflow record has the wrong size",
       "byte 100: 0 bytes without the magic number 0x5a5a5a5a; the old layout has exactly 2048"},
      {"old and long", std::string(2049, 'x'), "overflow record has the wrong size",
       "byte 100: 2049 bytes without the magic number 0x5a5a5a5a; the old layout has exactly 2048"},
      {"head cut", new_record(0, 1, 0, 88, 0).substr(0, 22), "overflow record is cut off",
       "byte 120: the record's head needs 4 bytes, 2 are left"},
      {"core cut", new_record(0, 1, 1, 88, 10), "overflow record is cut off",
       "byte 124: AIV needs 88 bytes, 80 are left"},
      {"core of version 1 cut", new_record(1, 1, 0, 112, 11), "overflow record is cut off",
       "byte 124: AIC needs 112 bytes, 88 are left"},
      {"unknown unit", new_record(0, 1, 4, 88, 11), "overflow record is of an unknown unit",
       "byte 112: acc_type is 4, known are 0 (AIC), 1 (AIV), 2 (AICPU) and 3 (SDMA)"},
  };
  for (const Case& c : all) {
    const auto record = decode_overflow(as_bytes(c.record), 100);
    ASSERT_FALSE(record.ok()) << c.name;
    EXPECT_EQ(record.error().what, c.what) << c.name;
    EXPECT_EQ(record.error().where, c.where) << c.name;
    EXPECT_FALSE(record.error().remedy.empty());
  }
}

TEST(AscendOverflow, RefusesTheDamagedVectors) {
  const std::pair<const char*, const char*> all[] = {
      {"bad/Opdebug.Node_OpDebug.1.1.1700000000000116",
       "byte 45: 64 bytes without the magic number 0x5a5a5a5a; the old layout has exactly 2048"},
      {"bad/Opdebug.Node_OpDebug.2.1.1700000000000117",
       "byte 57: acc_type is 9, known are 0 (AIC), 1 (AIV), 2 (AICPU) and 3 (SDMA)"}};
  for (auto [name, where] : all) {
    auto file = open_tensor_file(vectors() / name);
    ASSERT_TRUE(file.ok());
    const auto record = decode_overflow(file->mapping.bytes(), file->listing.tensors[0]);
    ASSERT_FALSE(record.ok());
    EXPECT_EQ(record.error().where, where);
  }
}

TEST(AscendOverflow, WarnsAboutWhatLooksOdd) {
  EXPECT_THAT(decode_overflow(as_bytes(new_record(0, 0, 2, 80, 8)))->warnings,
              ElementsAre("the record is not marked as valid (0)",
                          "the record says 80 bytes, AICPU has 64"));
}

TEST(AscendOverflow, TensorsThatCannotBeReadStayErrors) {
  TensorInfo info;
  info.shape = {100};
  EXPECT_EQ(decode_overflow(as_bytes("short"), info).error().what, "tensor lies outside its file");
  info.offset_bytes = 99;
  info.shape = {0};
  EXPECT_FALSE(decode_overflow(as_bytes("short"), info).ok());
  info.error = Error{"broken", "byte 1", "copy it"};
  EXPECT_EQ(decode_overflow(as_bytes("short"), info).error().what, "broken");
}

}  // namespace
}  // namespace plumb::io
