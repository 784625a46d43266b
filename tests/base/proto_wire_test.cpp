// SPDX-License-Identifier: Apache-2.0
#include "base/proto_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

using testing::ElementsAre;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

// All fields of a message, or why it has none.
struct Read {
  std::vector<ProtoField> fields;
  std::string problem;
  uint64_t failed_at = 0;
  uint64_t missing = 0;
};
Read read(std::string_view message, uint64_t origin = 0) {
  ProtoReader reader(as_bytes(message), origin);
  Read result;
  for (ProtoField field; reader.next(field);) result.fields.push_back(field);
  if (!reader.ok()) {
    result.problem = reader.problem();
    result.failed_at = reader.failed_at();
    result.missing = reader.missing();
  }
  return result;
}

TEST(ProtoReader, ReadsEveryWireType) {
  const std::string message = bytes({0x08, 0x96, 0x01,                                  // 1: 150
                                     0x12, 0x07, 't',  'e',  's',  't', 'i', 'n', 'g',  // 2: text
                                     0x1D, 0x01, 0x02, 0x03, 0x04,                    // 3: fixed32
                                     0x21, 1,    2,    3,    4,    5,   6,   7,   8,  // 4: fixed64
                                     0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0x00});            // 2^29 - 1
  const Read all = read(message, 100);
  ASSERT_EQ(all.problem, "");
  ASSERT_EQ(all.fields.size(), 5u);
  EXPECT_EQ(all.fields[0].value, 150u);
  EXPECT_EQ(all.fields[0].position, 100u);
  EXPECT_EQ(as_text(all.fields[1].bytes), "testing");
  EXPECT_EQ(all.fields[1].position, 103u);
  EXPECT_EQ(all.fields[1].content, 105u);
  EXPECT_EQ(all.fields[1].bytes.data(), as_bytes(message).data() + 5) << "a copy was made";
  EXPECT_EQ(all.fields[2].value, 0x04030201u);
  EXPECT_EQ(all.fields[3].value, 0x0807060504030201u);
  EXPECT_EQ(all.fields[4].number, (1u << 29) - 1);
}

TEST(ProtoReader, ReadsTheWidestNumbers) {
  const Read all = read(bytes({0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}));
  ASSERT_EQ(all.fields.size(), 1u);
  EXPECT_EQ(all.fields[0].value, UINT64_MAX);  // an int32 of -1 looks like this too
}

TEST(ProtoReader, RefusesWhatIsNoMessage) {
  struct Case {
    const char* name;
    std::string message;
    const char* problem;
    uint64_t failed_at;
    uint64_t missing;
  };
  const Case cases[] = {
      {"field 0", bytes({0x08, 1, 0x00, 1}), "field number 0 does not exist", 2, 0},
      {"number of 33 bits", bytes({0x88, 0x80, 0x80, 0x80, 0x80, 0x01, 0}),
       "field number 4294967297 does not exist", 0, 0},
      {"group", bytes({0x0B, 0x0C}), "field 1 has wire type 3, which is not used", 0, 0},
      {"end of group", bytes({0x0C}), "field 1 has wire type 4, which is not used", 0, 0},
      {"wire type 7", bytes({0x0F}), "field 1 has wire type 7, which is not used", 0, 0},
      {"eleven byte number", bytes({0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
       "a number is longer than ten bytes", 1, 0},
      {"cut in a tag", bytes({0x08, 1, 0x80}), "the message ends inside a number", 2, 1},
      {"cut in a number", bytes({0x08, 0x80}), "the message ends inside a number", 1, 1},
      {"cut in a length", bytes({0x0A, 0x80}), "the message ends inside a number", 1, 1},
      {"cut in text", bytes({0x0A, 5, 'a', 'b'}), "field 1 needs 5 bytes, 2 are left", 0, 3},
      {"cut in fixed64", bytes({0x09, 1, 2}), "field 1 needs 8 bytes, 2 are left", 0, 6},
      {"cut in fixed32", bytes({0x0D}), "field 1 needs 4 bytes, 0 are left", 0, 4},
      {"length of 2^64 - 1", bytes({0x0A, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
       "field 1 needs 18446744073709551615 bytes, 0 are left", 0, UINT64_MAX},
  };
  for (const Case& c : cases) {
    const Read all = read(c.message);
    EXPECT_EQ(all.problem, c.problem) << c.name;
    EXPECT_EQ(all.failed_at, c.failed_at) << c.name;
    EXPECT_EQ(all.missing, c.missing) << c.name;
  }
}

TEST(ProtoReader, ShowsWhatThereIsOfACutField) {
  const std::string message = bytes({0x0A, 5, 'a', 'b'});
  ProtoReader reader(as_bytes(message));
  ProtoField field;
  EXPECT_FALSE(reader.next(field));
  EXPECT_EQ(as_text(field.bytes), "ab");
}

TEST(ProtoReader, AppendsPackedAndUnpackedNumbers) {
  const std::string message = bytes({0x0A, 0x03, 0x01, 0x96, 0x01,  // packed 1, 150
                                     0x08, 0x07,                    // unpacked 7
                                     0x0A, 0x00,                    // packed, none
                                     0x0A, 0x01, 0x09});            // packed 9
  ProtoReader reader(as_bytes(message));
  std::vector<int64_t> values;
  for (ProtoField field; reader.next(field);) EXPECT_TRUE(reader.append_varints(field, values, 4));
  EXPECT_TRUE(reader.ok());
  EXPECT_THAT(values, ElementsAre(1, 150, 7, 9));
}

TEST(ProtoReader, RefusesDamagedLists) {
  const auto problem = [](const std::string& message, size_t limit) {
    ProtoReader reader(as_bytes(message), 10);
    std::vector<int64_t> values;
    for (ProtoField field; reader.next(field);) reader.append_varints(field, values, limit);
    return reader.problem() + " at " + std::to_string(reader.failed_at());
  };
  EXPECT_EQ(problem(bytes({0x0A, 0x02, 0x01, 0x80}), 9), "the message ends inside a number at 13");
  EXPECT_EQ(problem(bytes({0x0D, 1, 2, 3, 4}), 9), "field 1 is not a list of numbers at 10");
  EXPECT_EQ(problem(bytes({0x0A, 0x03, 1, 2, 3}), 2), "field 1 has more than 2 numbers at 10");
}

// The message of a real dump, spelled out by hand in the format's description.
TEST(ProtoWriter, WritesTheWorkedExample) {
  const int64_t dims[] = {5};
  ProtoWriter shape, output, dump;
  shape.packed(1, dims);
  output.varint(1, 1);
  output.varint(2, 2);
  output.message(3, shape);
  output.varint(6, 20);
  output.message(7, shape);
  dump.text(1, "2.0");
  dump.varint(2, 1700000000000014);
  dump.message(3, output);
  dump.text(6, "c");
  EXPECT_EQ(dump.bytes(),
            bytes({0x0A, 0x03, 0x32, 0x2E, 0x30, 0x10, 0x8E, 0x80, 0xF9, 0xC0, 0xC1, 0xC4,
                   0x82, 0x03, 0x1A, 0x10, 0x08, 0x01, 0x10, 0x02, 0x1A, 0x03, 0x0A, 0x01,
                   0x05, 0x30, 0x14, 0x3A, 0x03, 0x0A, 0x01, 0x05, 0x32, 0x01, 0x63}));
}

TEST(ProtoWriter, LeavesOutDefaultsButNotMessages) {
  ProtoWriter message;
  message.varint(1, 0);
  message.text(2, "");
  message.packed(3, {});
  message.message(4, ProtoWriter());
  EXPECT_EQ(message.bytes(), bytes({0x22, 0x00}));
}

TEST(ProtoWriter, WhatItWritesReadsBack) {
  for (uint64_t value : {uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{16383},
                         uint64_t{16384}, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
    const auto number = static_cast<uint32_t>(value % ((1u << 29) - 1) + 1);
    const int64_t list[] = {static_cast<int64_t>(value), 0, -1};
    ProtoWriter writer;
    writer.varint(number, value);
    writer.packed(2, list);
    ProtoReader reader(as_bytes(writer.bytes()));
    ProtoField field;
    ASSERT_TRUE(reader.next(field));
    EXPECT_EQ(field.number, number);
    EXPECT_EQ(field.value, value);
    ASSERT_TRUE(reader.next(field));
    std::vector<int64_t> values;
    ASSERT_TRUE(reader.append_varints(field, values, 3));
    EXPECT_THAT(values, ElementsAre(list[0], 0, -1));
    EXPECT_FALSE(reader.next(field));
    EXPECT_TRUE(reader.ok());
  }
}

}  // namespace
}  // namespace plumb
