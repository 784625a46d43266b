// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "result/json_write.h"
#include "result/row_bytes.h"

namespace plumb::result {
namespace {

using metrics::Value;

constexpr size_t kMany = 12'345;  // more than are held in memory

// With something in every member, and another thing in most of them for every number.
Row full_row(size_t number) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Row row;
  row.index = static_cast<int64_t>(number);
  if (number % 3 != 0) row.step = static_cast<int64_t>(number) - 7;
  if (number % 4 != 0) row.rank = static_cast<int64_t>(number % 5);
  row.graph = std::string(number % 7, 'g');
  if (number % 5 != 0) {
    row.target = Side{"target of a long name " + std::to_string(number),
                      "Conv2D",
                      "output:0",
                      "float16",
                      Shape{1, static_cast<int64_t>(number), 0},
                      "NC1HWC0",
                      std::string("a\0\n\xFF", 4)};
    row.golden = row.target;
    row.golden->shape.reset();
    row.pairing_rule = "name";
  } else {
    row.golden = Side{std::string(number % 600, 'x'), "", "input:1", "", Shape{}, "", "b.npy"};
  }
  row.pairing_evidence = number % 2 == 0 ? "" : "by its place";
  row.is_model_output = number % 2 == 0;
  row.node = static_cast<int64_t>(number % 9) - 1;
  row.values = {Value::of(std::nan("")),
                Value::of(-kInf),
                Value::of(-0.0),
                Value::of(static_cast<double>(number)),
                Value::undefined("golden is all zeros"),
                Value::at_most(1e-9)};
  row.values.erase(row.values.begin(), row.values.begin() + static_cast<long>(number % 6));
  row.verdict = static_cast<Verdict>(number % 4);
  row.suspicious = number % 6 == 0;
  row.reasons = std::vector<std::string>(number % 3, "limit:cosine");
  row.message = number % 8 == 0 ? std::string(300, 'm') : "";
  row.hint = "would pass";
  const Judgement judgement{Verdict::kPass, {"limit:max_abs"}, "message", "hint", true};
  if (number % 10 == 1)
    row.in_16_bits = std::make_shared<const In16Bits>(In16Bits{judgement, std::nullopt});
  if (number % 10 == 2)
    row.in_16_bits = std::make_shared<const In16Bits>(In16Bits{std::nullopt, judgement});
  if (number % 10 == 3) row.if_inner = std::make_shared<const Judgement>(judgement);
  row.target_shows = static_cast<Shown>(number % 4);
  row.bytes = static_cast<int64_t>(number) << 30;
  if (number % 4 == 2) row.own_error = OwnError{0.5, static_cast<double>(number), true};
  if (number % 100 == 0) row.details = std::make_shared<const Details>();
  return row;
}

// All that a row says. NaN is as it is by its bytes.
std::string bytes_of(const Row& row) {
  std::string bytes;
  append_row_bytes(bytes, row);
  return bytes + (row.details ? "with details" : "");
}

Rows full_rows(size_t count) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(full_row(i));
  return rows;
}

void expect_full(const Rows& rows, size_t count) {
  ASSERT_EQ(rows.size(), count);
  size_t place = 0, wrong = 0;
  for (const Row& row : rows) wrong += bytes_of(row) != bytes_of(full_row(place++));
  EXPECT_EQ(place, count);
  EXPECT_EQ(wrong, 0u);
}

TEST(RowBytes, HaveEveryMember) {
  Row other = full_row(11);  // what was there before leaves nothing
  for (size_t number = 0; number < 1000; ++number) {
    const Row row = full_row(number);
    std::string bytes;
    append_row_bytes(bytes, row);
    ASSERT_TRUE(read_row_bytes(bytes, other)) << number;
    ASSERT_FALSE(read_row_bytes(bytes.substr(0, bytes.size() - 1), other)) << number;
    ASSERT_FALSE(read_row_bytes(bytes + "x", other)) << number;
    ASSERT_TRUE(read_row_bytes(bytes, other)) << number;
    std::string again;
    append_row_bytes(again, other);
    ASSERT_EQ(again, bytes) << number;
  }
  // Member by member, without the code that is tested.
  const Row row = full_row(77 * 10 + 1);
  std::string bytes;
  append_row_bytes(bytes, row);
  ASSERT_TRUE(read_row_bytes(bytes, other));
  EXPECT_EQ(other.index, 771);
  EXPECT_EQ(other.rank, 1);
  EXPECT_EQ(other.target->operator_name, "target of a long name 771");
  EXPECT_EQ(other.target->shape, (Shape{1, 771, 0}));
  EXPECT_EQ(other.golden->shape, std::nullopt);
  EXPECT_EQ(other.golden->file, std::string("a\0\n\xFF", 4));
  EXPECT_EQ(other.pairing_rule, "name");
  ASSERT_EQ(other.values.size(), 3u);
  EXPECT_EQ(other.values[0].number(), 771);
  EXPECT_STREQ(other.values[1].reason(), "golden is all zeros");
  EXPECT_TRUE(other.values[2].is_bound());
  EXPECT_EQ(other.in_16_bits->float16->reasons, std::vector<std::string>{"limit:max_abs"});
  EXPECT_FALSE(other.in_16_bits->bfloat16);
  EXPECT_EQ(other.bytes, int64_t{771} << 30);
}

TEST(Rows, ManyAreLikeFew) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{100}, kMany}) {
    const Rows rows = full_rows(count);
    expect_full(rows, count);
    const Rows copy = rows;
    expect_full(copy, count);
    if (count > 0) {
      EXPECT_EQ(bytes_of(rows.front()), bytes_of(full_row(0)));
      EXPECT_EQ(bytes_of(rows.back()), bytes_of(full_row(count - 1)));
    }
    const Rows vector(rows.all());
    expect_full(vector, count);
    expect_full(rows, count);  // in memory now
  }
}

TEST(Rows, ComeInAnyOrder) {
  Rows rows;
  rows.resize(kMany);
  for (size_t i = kMany; i-- > 0;) rows.set(i, full_row(i * 31 % kMany));
  for (size_t i = 0; i < kMany; ++i) rows.set(i, full_row(i));
  expect_full(rows, kMany);
}

TEST(Rows, ChangesStay) {
  Rows rows = full_rows(kMany);
  const Row& looked_at = rows[17];
  rows[4000].message = "changed where it is";
  rows.change_each([](size_t place, Row& row) {
    if (place % 2 == 0) row.hint = std::to_string(place);
    return place % 2 == 0;
  });
  rows.set(17, full_row(18));
  EXPECT_EQ(bytes_of(looked_at), bytes_of(full_row(18)));
  size_t place = 0;
  for (const Row& row : rows) {
    const std::string expected = place % 2 == 0 ? std::to_string(place) : "would pass";
    ASSERT_EQ(row.hint, expected) << place;
    ASSERT_EQ(row.message == "changed where it is", place == 4000);
    ++place;
  }
  EXPECT_EQ(&rows[17], &looked_at);
}

TEST(Rows, AreWrittenAlike) {
  result::Run run;
  for (const metrics::Metric& metric : metrics::metrics()) run.metrics.push_back(&metric);
  run.metrics.resize(6);
  run.rows = full_rows(kMany);
  run.rows.change_each([](size_t, Row& row) {
    row.details.reset();
    row.values.clear();
    return true;
  });
  const auto text_of = [&] {
    std::string text;
    write_json(run, [&](std::string_view more) { text += more; });
    return text;
  };
  const std::string on_disk = text_of();
  run.rows.all();
  EXPECT_EQ(text_of(), on_disk);
}

int64_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// In memory each would take more than a thousand bytes.
TEST(Rows, TakeFewBytesEach) {
  constexpr size_t kCount = 100'000;
  constexpr int64_t kFixed = 4 << 20, kEach = 24;
  const int64_t before = heap_bytes();
  Rows rows;
  rows.resize(kCount);
  Row row = full_row(1);
  for (size_t i = 0; i < kCount; ++i) {
    row.index = static_cast<int64_t>(i);
    rows.set(i, Row(row));
  }
  int64_t sum = 0;
  for (const Row& each : rows) sum += each.index;
  EXPECT_EQ(sum, int64_t{kCount} * (kCount - 1) / 2);
  EXPECT_LT(heap_bytes() - before, kFixed + kEach * int64_t{kCount});
}

}  // namespace
}  // namespace plumb::result
