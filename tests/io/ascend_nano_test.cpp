// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/ascend_dump.h"
#include "io/ascend_vectors.h"

namespace plumb::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const Format& ascend_nano() { return *format_by_name("ascend-nano"); }

constexpr const char* kVector = "dumps/MatMul.nano_mm.0.0.1700000000000026";

std::string tlv(uint32_t tag, const std::string& value) {
  return packed(tag, static_cast<uint32_t>(value.size())) + value;
}

std::string input_record(int32_t type, uint64_t size, const std::string& fields) {
  return packed(type, int32_t{2}, int32_t{3}, uint64_t{256}, uint64_t{0}, size,
                static_cast<uint32_t>(fields.size())) +
         fields;
}

std::string inputs(uint32_t count, const std::string& records) {
  return tlv(4, packed(count) + records);
}

std::string nano_dump_of(const std::string& fields, const std::string& payload) {
  const std::string head = packed(uint32_t{0x5A5A5A5A}, uint32_t{1}) + fields;
  return packed(uint64_t{head.size()}) + head + payload;
}

// Types, shapes and elements of the vector are compared with the reference in ascend_dump_test.
TEST(AscendNano, ListsWhatTheHeadSays) {
  auto file = open_tensor_file(vectors() / kVector);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->format, &ascend_nano());
  EXPECT_THAT(file->listing.properties,
              ElementsAre(Pair("version", "1"), Pair("op_name", "nano_mm"),
                          Pair("dump_time", "1700000000000026"),
                          Pair("output.0.original_op", "mm_origin:0:ND")));
  EXPECT_THAT(file->listing.warnings, IsEmpty());
  EXPECT_EQ(file->listing.tensors[0].logical_shape, (Shape{2, 5}));
}

TEST(AscendNano, DoesNotNeedItsName) {
  auto file = open_tensor_file(vectors() / "bad/MatMul.nano_short.0.0");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->format, &ascend_nano());
  expect_equal(
      read_tensor(*file, "input.1", {}),
      load_npy(vectors() / "expect/19-nano/npy/MatMul.nano_mm.0.0.1700000000000026.input.1.npy"));
}

TEST(AscendNano, RefusesAFileOfAnotherSize) {
  const auto path = vectors() / "bad/MatMul.nano_bad.0.0.1700000000000111";
  const auto file = open_tensor_file(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().what, "nano dump is longer than its header says");
  EXPECT_EQ(file.error().where,
            path.string() + ", byte 437: the last tensor ends here, 3 bytes follow");
}

TEST(AscendNano, FieldsMayBeMissingOrUnknown) {
  const std::string shape = tlv(0, packed(uint64_t{2}, uint64_t{3}));
  const std::string payload = "abcdefghijklmnopqrstuvwx";
  // No shape: flat. An unknown field before and after: skipped.
  for (const std::string& fields :
       {shape, tlv(7, "odd") + shape, shape + tlv(1, "") + tlv(9, ""), tlv(1, ""), std::string()}) {
    const Listing listing = listed(
        ascend_nano(), nano_dump_of(tlv(8, "x") + inputs(1, input_record(0, 24, fields)), payload));
    ASSERT_EQ(listing.tensors.size(), 1u);
    EXPECT_EQ(listing.tensors[0].name, "input.0");
    EXPECT_EQ(listing.tensors[0].dtype, DType::kFloat32);
    EXPECT_EQ(listing.tensors[0].shape,
              fields.find(shape) != std::string::npos ? (Shape{2, 3}) : Shape{6});
    EXPECT_FALSE(listing.tensors[0].error.has_value());
  }
  EXPECT_THAT(listed(ascend_nano(), nano_dump_of("", "")).warnings,
              ElementsAre("the dump header lists no tensors"));
}

TEST(AscendNano, NumbersTypesLikeTheGraphEngine) {
  const std::pair<int32_t, const char*> all[] = {
      {0, "float32"},   {1, "float16"},      {2, "int8"},           {3, "int32"},
      {4, "uint8"},     {5, "type 5"},       {6, "int16"},          {7, "uint16"},
      {8, "uint32"},    {9, "int64"},        {10, "uint64"},        {11, "float64"},
      {12, "bool"},     {13, "STRING"},      {16, "complex64"},     {17, "complex128"},
      {18, "int8"},     {23, "int64"},       {26, "VARIANT"},       {27, "bfloat16"},
      {28, "int8"},     {29, "int4"},        {30, "uint1"},         {33, "COMPLEX32"},
      {34, "hifloat8"}, {35, "float8_e5m2"}, {36, "float8_e4m3fn"}, {43, "HIFLOAT4_SCALE"},
      {44, "type 44"},  {-1, "type -1"}};
  for (auto [type, name] : all) {
    const Listing listing = listed(
        ascend_nano(), nano_dump_of(inputs(1, input_record(type, 16, "")), std::string(16, 'x')));
    EXPECT_EQ(dtype_text(listing.tensors.at(0)), name);
  }
}

TEST(AscendNano, SaysWhatIsWrong) {
  const std::string vector = slurp(vectors() / kVector);
  std::string huge = vector, tiny = vector;
  const uint64_t length = UINT64_MAX - 4;
  std::memcpy(huge.data(), &length, sizeof length);
  EXPECT_EQ(refused(ascend_nano(), huge).where,
            "byte 0: header of 18446744073709551611 bytes, 429 are left");
  const uint64_t four = 4;
  std::memcpy(tiny.data(), &four, sizeof four);
  EXPECT_EQ(refused(ascend_nano(), tiny).where, "byte 8: no magic number and version");
  EXPECT_EQ(refused(ascend_nano(), vector.substr(0, vector.size() - 1)).where,
            "byte 413: output.0 needs 24 bytes, 23 are left");

  EXPECT_EQ(refused(ascend_nano(), nano_dump_of(inputs(2, input_record(0, 0, "")), "")).where,
            "byte 68: input.1 is cut off");
  EXPECT_EQ(refused(ascend_nano(), nano_dump_of(inputs(0xFFFFFFFF, ""), "")).where,
            "byte 28: input.0 is cut off");
  EXPECT_EQ(refused(ascend_nano(), nano_dump_of(tlv(4, ""), "")).where,
            "byte 16: a list of tensors is cut off");
  EXPECT_EQ(refused(ascend_nano(), nano_dump_of("abc", "")).where, "byte 16: a field is cut off");
  EXPECT_EQ(refused(ascend_nano(), nano_dump_of(packed(uint32_t{6}, uint32_t{1}), "")).where,
            "byte 16: a field is cut off");
  EXPECT_EQ(refused(ascend_nano(), nano_dump_of(inputs(1, input_record(0, 0, tlv(0, "12345"))), ""))
                .where,
            "byte 68: 5 bytes are no shape of input.0");
  EXPECT_EQ(
      refused(ascend_nano(),
              nano_dump_of(inputs(1, input_record(0, 0, tlv(0, std::string(65 * 8, '\1')))), ""))
          .where,
      "byte 68: 520 bytes are no shape of input.0");
  EXPECT_EQ(
      refused(ascend_nano(),
              nano_dump_of(inputs(1, input_record(0, 0, packed(uint32_t{0}, uint32_t{8}))), ""))
          .where,
      "byte 68: a field of input.0 is cut off");
  EXPECT_EQ(
      refused(ascend_nano(), nano_dump_of(inputs(1, input_record(0, UINT64_MAX, "")), "")).what,
      "dump holds less data than its header promises");
}

TEST(AscendNano, OneShortRecordDoesNotHideTheOthers) {
  const std::string two = tlv(0, packed(uint64_t{2}));
  const Listing listing = listed(
      ascend_nano(), nano_dump_of(inputs(2, input_record(0, 4, two) + input_record(0, 8, two)),
                                  std::string(12, 'x')));
  ASSERT_EQ(listing.tensors.size(), 2u);
  ASSERT_TRUE(listing.tensors[0].error.has_value());
  EXPECT_THAT(listing.tensors[0].error->where, HasSubstr("input.0, float32 [2], needs 8 bytes"));
  EXPECT_FALSE(listing.tensors[1].error.has_value());
}

TEST(AscendNano, WarnsAboutAListOfAnotherLength) {
  std::string file = nano_dump_of(inputs(1, input_record(0, 0, "")), "");
  file[20] = 99;
  EXPECT_THAT(listed(ascend_nano(), file).warnings,
              ElementsAre("byte 16: list of tensors takes 44 bytes, not 99"));
}

TEST(AscendNano, SurvivesCutsAndDamageAtEveryByte) {
  std::string file = slurp(vectors() / kVector);
  const auto read_everything = [&] {
    auto listing = ascend_nano().list(as_bytes(file), {});
    if (!listing) return;
    for (const TensorInfo& info : listing->tensors)
      for (const ReadOrder& order : {kAsStored, ReadOrder{}}) {
        auto reader = TensorReader::open(ascend_nano(), as_bytes(file), info, order);
        EXPECT_TRUE(!reader || reader->read(0, reader->count()).ok());
      }
  };
  for (size_t at = 0; at < file.size(); ++at)
    for (int damage : {0x01, 0x80, 0xFF}) {
      file[at] = static_cast<char>(file[at] ^ damage);
      read_everything();
      file[at] = static_cast<char>(file[at] ^ damage);
    }
  while (!file.empty()) {
    file.pop_back();
    EXPECT_FALSE(ascend_nano().list(as_bytes(file), {}).ok()) << file.size();
  }
}

}  // namespace
}  // namespace plumb::io
