// SPDX-License-Identifier: Apache-2.0
#include "result/row_line.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "result/json_write.h"

namespace plumb::result {
namespace {

using metrics::Value;
using testing::HasSubstr;

const std::vector<const metrics::Metric*>& columns() {
  static const std::vector<const metrics::Metric*> all = [] {
    std::vector<const metrics::Metric*> list;
    for (const metrics::Metric& metric : metrics::metrics()) list.push_back(&metric);
    return list;
  }();
  return all;
}

// What a plan knows.
Row planned() {
  Row row;
  row.index = 3;
  row.target = Side{"conv", "Conv2D", "output:0", "", {}, "", "conv.npy"};
  row.golden = row.target;
  row.pairing_rule = "name";
  return row;
}

Row with_values(std::vector<Value> values) {
  Row row = planned();
  values.resize(columns().size(), Value::of(0.1));
  row.values = std::move(values);
  row.verdict = Verdict::kPass;
  return row;
}

// Everything that streaming can say.
std::vector<Row> odd_rows() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<Row> rows(1, planned());  // not compared
  rows.back().reasons = {"damaged_file"};
  rows.back().message = std::string("a\xFF\n\"b\\ \0c", 9);  // no UTF-8
  rows.push_back(with_values({Value::of(std::nan("")), Value::of(kInf), Value::of(-kInf),
                              Value::of(-0.0), Value::of(5e-324), Value::of(0.1 + 0.2),
                              Value::undefined("golden is all zeros"), Value::at_most(1e-9)}));
  rows.back().suspicious = true;
  rows.back().target->dtype = "float16";
  rows.back().target->shape = Shape{};
  rows.back().golden->shape = Shape{1, 0, 7};
  rows.back().golden->layout = "NC1HWC0";
  rows.back().target_shows = Shown::kBFloat16;
  rows.back().bytes = 1'000'000'000'007;
  rows.push_back(with_values({}));
  rows.back().verdict = Verdict::kFail;
  rows.back().reasons = {"limit:cosine", "limit:max_abs"};
  rows.back().message = std::string(1, '\0');
  rows.back().hint = "would pass with cosine >= 0.9";
  In16Bits in;
  in.float16 = Judgement{Verdict::kPass, {"a"}, "b", "c", true};
  rows.back().in_16_bits = std::make_shared<const In16Bits>(in);
  in.bfloat16 = Judgement{Verdict::kPass, {}, "", "\xC3", false};
  rows.push_back(rows.back());
  rows.back().in_16_bits = std::make_shared<const In16Bits>(in);
  rows.back().if_inner = std::make_shared<const Judgement>(*in.float16);
  Details details;
  details.histogram = PairHistogram{-1, 0.1, {1, 2}, {3, 0}};
  details.worst = {{{1, 2}, 0.3, std::nan("")}};
  details.heat = HeatMap{1, 2, 0.5, {0, 63}};
  rows.back().details = std::make_shared<const Details>(details);
  return rows;
}

std::string document_with(const Row& row) {
  Run run;
  run.metrics = columns();
  run.rows = {row};
  std::string text;
  write_json(run, [&](std::string_view piece) { text += piece; });
  return text;
}

bool are_same(const Judgement& a, const Judgement& b) {
  return a.verdict == b.verdict && a.reasons == b.reasons && a.message == b.message &&
         a.hint == b.hint && a.suspicious == b.suspicious;
}
bool are_same(const std::optional<Judgement>& a, const std::optional<Judgement>& b) {
  return a.has_value() == b.has_value() && (!a || are_same(*a, *b));
}

TEST(RowLine, IsReadBackAsItWasWritten) {
  RowLineReader reader(columns());
  int64_t id = 41;
  for (const Row& row : odd_rows()) {
    SCOPED_TRACE(++id);
    std::string line;
    append_row_line(line, {id, 0x89ABCDEF01234567}, row);
    EXPECT_EQ(line.find('\n'), line.npos);
    Row read = planned();
    const auto key = reader.read(line, read);
    ASSERT_TRUE(key.ok()) << key.error().where;
    EXPECT_EQ(*key, (RowKey{id, 0x89ABCDEF01234567}));
    EXPECT_EQ(*reader.key(line), *key);
    EXPECT_EQ(document_with(read), document_with(row));
    EXPECT_EQ(read.message, row.message);
    EXPECT_EQ(read.hint, row.hint);
    EXPECT_EQ(read.bytes, row.bytes);
    EXPECT_EQ(read.target_shows, row.target_shows);
    ASSERT_EQ(read.values.size(), row.values.size());
    for (size_t i = 0; i < row.values.size(); ++i) {
      EXPECT_EQ(read.values[i].is_bound(), row.values[i].is_bound());
      EXPECT_EQ(std::signbit(read.values[i].number()), std::signbit(row.values[i].number()));
    }
    ASSERT_EQ(read.in_16_bits == nullptr, row.in_16_bits == nullptr);
    if (row.in_16_bits) {
      EXPECT_TRUE(are_same(read.in_16_bits->float16, row.in_16_bits->float16));
      EXPECT_TRUE(are_same(read.in_16_bits->bfloat16, row.in_16_bits->bfloat16));
    }
    ASSERT_EQ(read.if_inner == nullptr, row.if_inner == nullptr);
    EXPECT_TRUE(!row.if_inner || are_same(*read.if_inner, *row.if_inner));
  }
}

TEST(RowLine, RefusesWhatIsNone) {
  RowLineReader reader(columns());
  for (const char* line :
       {"", "{", "[]", "17", "{}", R"({"id": 1})", R"({"id": "1", "stamp": "00"})",
        R"({"id": 1, "stamp": "xyz", "verdict": "pass"})", R"({"id": 1, "stamp": "00"})",
        R"({"id": 1, "stamp": "00", "verdict": "perfect"})",
        R"({"id": 1, "stamp": "00", "values": [1], "verdict": "pass"})",
        R"({"id": 1, "stamp": "00", "values": [[]], "verdict": "pass"})",
        R"({"id": 1, "stamp": "00", "shows": 9, "verdict": "pass"})",
        R"({"id": 1, "stamp": "00", "message": "\u0000*", "verdict": "pass"})",
        R"({"id": 1, "stamp": "00", "verdict": "pass")"}) {
    SCOPED_TRACE(line);
    Row row = planned();
    const auto read = reader.read(line, row);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().what, HasSubstr("not as it was written"));
  }
  // It is as good as new for the next one.
  std::string line;
  append_row_line(line, {7, 8}, with_values({}));
  Row row = planned();
  EXPECT_TRUE(reader.read(line, row).ok());
}

}  // namespace
}  // namespace plumb::result
