// SPDX-License-Identifier: Apache-2.0
//
// Law: what the JSON writer wrote reads back to the same run, whatever its names and numbers. And a
// table of documents that are something else, each with the message it deserves.
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "report/sample_runs.h"
#include "report/writer.h"
#include "result/json_read.h"
#include "result/json_write.h"
#include "scratch.h"

namespace plumb::result {
namespace {

std::string json_of(const Run& run) {
  std::string text;
  write_json(run, [&](std::string_view piece) { text += piece; });
  return text;
}

void expect_same(const metrics::Value& value, const metrics::Value& read) {
  ASSERT_EQ(read.is_defined(), value.is_defined());
  EXPECT_EQ(read.is_bound(), value.is_bound());
  if (value.is_defined() || value.is_bound()) {
    if (std::isnan(value.number()))
      EXPECT_TRUE(std::isnan(read.number()));
    else
      EXPECT_EQ(std::bit_cast<uint64_t>(read.number()), std::bit_cast<uint64_t>(value.number()));
  } else {
    EXPECT_STREQ(read.reason(), value.reason());
  }
}

void expect_same(const std::optional<Side>& side, const std::optional<Side>& read) {
  ASSERT_EQ(read.has_value(), side.has_value());
  if (!side) return;
  EXPECT_EQ(read->operator_name, valid_utf8(side->operator_name));
  EXPECT_EQ(read->type, side->type);
  EXPECT_EQ(read->slot, side->slot);
  EXPECT_EQ(read->dtype, side->dtype);
  EXPECT_EQ(read->shape, side->shape);
  EXPECT_EQ(read->layout, side->layout);
  EXPECT_EQ(read->file, valid_utf8(side->file));
}

void expect_same(const Accuracy& accuracy, const Accuracy& read) {
  EXPECT_EQ(read.output, accuracy.output);
  EXPECT_EQ(read.samples, accuracy.samples);
  EXPECT_EQ(read.agree, accuracy.agree);
  ASSERT_EQ(read.first_disagreement.has_value(), accuracy.first_disagreement.has_value());
  if (accuracy.first_disagreement) {
    EXPECT_EQ(read.first_disagreement->sample, accuracy.first_disagreement->sample);
    EXPECT_EQ(read.first_disagreement->target, accuracy.first_disagreement->target);
    EXPECT_EQ(read.first_disagreement->golden, accuracy.first_disagreement->golden);
  }
  EXPECT_EQ(read.labelled, accuracy.labelled);
  ASSERT_EQ(read.top.size(), accuracy.top.size());
  for (size_t i = 0; i < accuracy.top.size(); ++i) {
    EXPECT_EQ(read.top[i].n, accuracy.top[i].n);
    EXPECT_EQ(read.top[i].target, accuracy.top[i].target);
    EXPECT_EQ(read.top[i].golden, accuracy.top[i].golden);
  }
}

void expect_same(const Run& run, const Run& read) {
  EXPECT_EQ(read.command, run.command);
  EXPECT_EQ(read.scenario, run.scenario);
  EXPECT_EQ(read.profile, run.profile);
  EXPECT_EQ(read.limits, run.limits);
  EXPECT_EQ(read.target.path, run.target.path);
  EXPECT_EQ(read.golden.convention, run.golden.convention);
  EXPECT_EQ(read.golden.warnings, run.golden.warnings);
  EXPECT_EQ(read.golden.files_left_out, run.golden.files_left_out);
  EXPECT_EQ(read.graphs, run.graphs);
  EXPECT_EQ(read.outputs_not_compared, run.outputs_not_compared);
  EXPECT_EQ(read.is_ordered, run.is_ordered);
  EXPECT_EQ(read.doubts, run.doubts);
  EXPECT_EQ(read.warnings, run.warnings);
  EXPECT_EQ(read.bytes, run.bytes);
  EXPECT_EQ(read.interrupted, run.interrupted);
  EXPECT_DOUBLE_EQ(read.elapsed_s, run.elapsed_s);
  EXPECT_EQ(read.samples, run.samples);
  ASSERT_EQ(read.accuracy.size(), run.accuracy.size());
  for (size_t i = 0; i < run.accuracy.size(); ++i) expect_same(run.accuracy[i], read.accuracy[i]);
  ASSERT_EQ(read.metrics.size(), run.metrics.size());
  for (size_t i = 0; i < run.metrics.size(); ++i)
    EXPECT_EQ(read.metrics[i]->name, run.metrics[i]->name);
  ASSERT_EQ(read.rows.size(), run.rows.size());
  for (size_t i = 0; i < run.rows.size(); ++i) {
    SCOPED_TRACE(i);
    const Row &row = run.rows[i], &again = read.rows[i];
    EXPECT_EQ(again.index, row.index);
    EXPECT_EQ(again.step, row.step);
    EXPECT_EQ(again.rank, row.rank);
    EXPECT_EQ(again.graph, row.graph);
    expect_same(row.target, again.target);
    expect_same(row.golden, again.golden);
    EXPECT_EQ(again.pairing_rule, row.pairing_rule);
    EXPECT_EQ(again.pairing_evidence, row.pairing_evidence);
    EXPECT_EQ(again.is_model_output, row.is_model_output);
    ASSERT_EQ(again.values.size(), row.values.size());
    for (size_t k = 0; k < row.values.size(); ++k) expect_same(row.values[k], again.values[k]);
    EXPECT_EQ(again.verdict, row.verdict);
    EXPECT_EQ(again.suspicious, row.suspicious);
    EXPECT_EQ(again.reasons, row.reasons);
    EXPECT_EQ(again.message, valid_utf8(row.message));
    EXPECT_EQ(again.hint, valid_utf8(row.hint));
    ASSERT_EQ(again.details != nullptr, row.details != nullptr);
    if (row.details) {
      EXPECT_EQ(again.details->histogram, row.details->histogram);
      EXPECT_EQ(again.details->channels, row.details->channels);
      EXPECT_EQ(again.details->heat, row.details->heat);
      EXPECT_EQ(again.details->worst.size(), row.details->worst.size());  // may hold NaN
    }
  }
}

TEST(ReadResult, WriteThenReadIsIdentity) {
  auto samples = report::sample_runs();
  for (unsigned seed = 0; seed < 50; ++seed)
    samples.push_back({"seeded", report::random_run(seed)});
  for (const report::NamedRun& sample : samples) {
    SCOPED_TRACE(sample.name);
    const std::string text = json_of(sample.run);
    const auto read = read_result(as_bytes(text));
    ASSERT_TRUE(read.ok()) << read.error().where;
    expect_same(sample.run, read->run);
    EXPECT_EQ(read->version, PLUMB_VERSION);
    EXPECT_TRUE(read->notes.empty());
    EXPECT_EQ(json_of(read->run), text);  // all of it, the baseline too
  }
}

// Pictures are made of them: what does not fit is refused.
TEST(ReadResult, DetailsFitEachOther) {
  const report::NamedRun drawn{"drawn", report::drawn_run()};
  const std::string text = json_of(drawn.run);
  const struct {
    const char *name, *from, *to, *message;
  } kCases[] = {
      {"more bins on a side", "[1, 2, 3, 4]", "[1, 2, 3]", "the bins of the histogram"},
      {"a negative count", "[1, 2, 3, 4]", "[1, -2, 3, 4]", "the bins of the histogram"},
      {"bins from nowhere", "\"low\": -1", "\"low\": \"-inf\"", "the bins of the histogram"},
      {"no group of channels", "\"each\": 1", "\"each\": 0", "the errors by channel"},
      {"cells that are missing", "\"columns\": 3", "\"columns\": 4", "the cells of the heat map"},
      {"a huge map", "\"rows\": 2, \"columns\": 3", "\"rows\": 4611686018427387904, \"columns\": 4",
       "the cells of the heat map"},
      {"a level beyond all", "AAE+Px4H", "AAE+QB4H", "the cells of the heat map"},
      {"no base64", "AAE+Px4H", "AAE+Px4*", "is no base64"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    std::string changed = text;
    const size_t at = changed.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    changed.replace(at, std::string_view(c.from).size(), c.to);
    const auto read = read_result(as_bytes(changed));
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.error().where.find(c.message), std::string::npos) << read.error().where;
  }
}

// Rows need not be in memory at the same time.
TEST(JsonWriter, RowsOneByOne) {
  for (const report::NamedRun& sample : report::sample_runs()) {
    SCOPED_TRACE(sample.name);
    std::string text;
    result::Run header = sample.run;
    header.rows.clear();
    JsonWriter writer([&](std::string_view piece) { text += piece; });
    writer.begin(header, sample.run.summary());
    for (const Row& row : sample.run.rows) writer.row(Row(row));
    writer.end(sample.run.findings);
    EXPECT_EQ(text, json_of(sample.run));
  }
}

// Members that are left out where there is nothing to say.
TEST(ReadResult, DoubtsWarningsAndOrder) {
  result::Run run = report::failing_run();
  run.doubts = {"the graph seems to be of another model or build"};
  run.warnings = {"target and golden are the same directory"};
  run.is_ordered = false;
  const std::string text = json_of(run);
  const auto read = read_result(as_bytes(text));
  ASSERT_TRUE(read.ok()) << read.error().where;
  expect_same(run, read->run);
  EXPECT_EQ(json_of(read->run), text);
}

// Rows point to words that the run keeps: a copy of it keeps them as well.
TEST(ReadResult, WordsOutliveTheDocument) {
  result::Run copy;
  {
    std::string text = json_of(report::failing_run());
    auto read = read_result(as_bytes(text));
    ASSERT_TRUE(read.ok());
    copy = read->run;
    std::fill(text.begin(), text.end(), ' ');
  }
  EXPECT_EQ(copy.rows[0].pairing_rule, "origin-name");
  EXPECT_EQ(json_of(copy), json_of(report::failing_run()));
}

// A document with one row; each argument replaces what stands there.
std::string document(std::string_view row, std::string_view metrics = R"("cosine")") {
  return fmt::format(
      R"({{"schema": "plumb.result/1", "run": {{"metrics": [{}]}}, "rows": [{}], "findings": []}})",
      metrics, row);
}

constexpr std::string_view kRow =
    R"({"target": {"operator": "a"}, "golden": null, "verdict": "pass")";

TEST(ReadResult, OddButFine) {
  const struct {
    const char* name;
    std::string text;
    size_t rows, notes;
  } kCases[] = {
      {"no rows", document(""), 0, 0},
      {"members in another order",
       R"({"rows": [{"verdict": "fail", "undefined": {"cosine": "why"}, "metrics": {"cosine": null},)"
       R"( "golden": {"operator": "g"}}], "run": {"metrics": ["cosine"]}, "schema": "plumb.result/1"})",
       1, 0},
      {"members of a later version",
       document(std::string(kRow) + R"(, "later": {"a": [1, {"b": [[[null]]]}]}})"), 1, 0},
      {"a metric of a later version",
       document(std::string(kRow) + R"(, "metrics": {"cosine": 1, "later": {"deep": 1}}})",
                R"("cosine", "later")"),
       1, 1},
      {"a metric the run does not list",
       document(std::string(kRow) + R"(, "metrics": {"max_abs": "odd"}})"), 1, 0},
      {"blanks before and behind", " \n" + document("") + "\n\n", 0, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto read = read_result(as_bytes(c.text));
    ASSERT_TRUE(read.ok()) << read.error().what << ": " << read.error().where;
    EXPECT_EQ(read->run.rows.size(), c.rows);
    EXPECT_EQ(read->notes.size(), c.notes);
  }
  const auto reordered = read_result(as_bytes(kCases[1].text));
  EXPECT_STREQ(reordered->run.rows[0].values[0].reason(), "why");
}

TEST(ReadResult, ReasonsOfUndefinedValues) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"cosine": "golden is all zeros"})", "golden is all zeros"},
      {R"({"cosine": "cut\u0000here"})", "cut"},
      {R"({"cosine": "\u0000"})", "no reason was recorded"},
      {R"({"cosine": ""})", "no reason was recorded"},
      {R"({"max_abs": "of another"})", "no reason was recorded"},
      {R"({"cosine": "at most 5: somehow"})", "at most 5: somehow"},
      {"{}", "no reason was recorded"},
  };
  for (const auto& [undefined, reason] : kCases) {
    const auto read = read_result(as_bytes(document(
        fmt::format(R"({}, "metrics": {{"cosine": null}}, "undefined": {}}})", kRow, undefined))));
    ASSERT_TRUE(read.ok()) << undefined;
    EXPECT_FALSE(read->run.rows[0].values[0].is_defined()) << undefined;
    EXPECT_STREQ(read->run.rows[0].values[0].reason(), reason) << undefined;
  }
}

TEST(ReadResult, MetricsOnce) {
  const auto read = read_result(as_bytes(document("", R"("cosine", "max_abs", "cosine")")));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->run.metrics.size(), 2U);
}

TEST(ReadResult, Numbers) {
  const struct {
    const char* name;
    const char* metric;
    const char* value;
    double expected;  // NaN for itself
  } kCases[] = {
      {"nan", "cosine", R"("nan")", report::kNan},
      {"inf", "max_rel", R"("inf")", report::kInf},
      {"-inf", "target_min", R"("-inf")", -report::kInf},
      {"minus zero", "target_max", "-0.0", -0.0},
      {"smallest", "max_abs", "5e-324", 5e-324},
      {"largest", "max_abs", "1.7976931348623157e308", 1.7976931348623157e308},
      {"count", "target_zeros", "9007199254740993", 9007199254740992.0},  // as a double
      {"checksum", "target_crc32", R"("0000beef")", 0xbeef},
      {"checksum that looks like a number", "target_crc32", R"("00000010")", 16},
      {"checksum that is a number", "target_crc32", "12", 12},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const std::string row =
        fmt::format("{}, \"metrics\": {{\"{}\": {}}}}}", kRow, c.metric, c.value);
    const auto read = read_result(as_bytes(document(row, fmt::format("\"{}\"", c.metric))));
    ASSERT_TRUE(read.ok()) << read.error().where;
    expect_same(metrics::Value::of(c.expected), read->run.rows[0].values[0]);
  }
}

TEST(ReadResult, Refuses) {
  const std::string row(kRow);
  const struct {
    const char* name;
    std::string text;
    const char *what, *where;
  } kCases[] = {
      {"empty", "", "this is no result of a comparison", "byte 0: the file is empty"},
      {"blanks", " \n\t", "this is no result of a comparison", "byte 0: the file is empty"},
      {"a table", "\n id,step", "this is no result of a comparison",
       "byte 2: a JSON document would start with '{'"},
      {"a list", "[1]", "this is no result of a comparison",
       "byte 0: a JSON document would start with '{'"},
      {"no schema", R"({"a": 1})", "this is no result of a comparison",
       "byte 0: there is no member \"schema\""},
      {"schema is a number", R"({"schema": 1})", "this is no result of a comparison",
       "byte 0: there is no member \"schema\""},
      {"another schema", R"({"schema": "sarif"})", "this is no result of a comparison",
       "byte 0: its schema is 'sarif', this program reads 'plumb.result/1'"},
      {"another version", R"({"schema": "plumb.result/2"})", "the result is of another version",
       "byte 0: its schema is 'plumb.result/2', this program reads 'plumb.result/1'"},
      {"no run", R"({"schema": "plumb.result/1", "rows": []})",
       "the result is not as its schema says", "there is no member \"run\""},
      {"no rows", R"({"schema": "plumb.result/1", "run": {}})",
       "the result is not as its schema says", "there is no member \"rows\""},
      {"rows are no list", R"({"schema": "plumb.result/1", "run": {}, "rows": {}})",
       "the result is not as its schema says", "rows: the value is of another type"},
      {"no side", document(R"({"target": null, "golden": null, "verdict": "pass"})"),
       "the result is not as its schema says", "rows[0]: there is neither target nor golden"},
      {"no verdict", document(R"({"target": {"operator": "a"}})"),
       "the result is not as its schema says", "rows[0]: there is no verdict"},
      {"unknown verdict", document(R"({"target": {}, "verdict": "good"})"),
       "the result is not as its schema says", "rows[0].verdict: 'good' is no verdict"},
      {"name is a number", document(R"({"target": {"operator": 7}, "verdict": "pass"})"),
       "the result is not as its schema says", "rows[0].target.operator: the value is of another"},
      {"shape is no list", document(R"({"target": {"shape": "2x3"}, "verdict": "pass"})"),
       "the result is not as its schema says", "rows[0].target.shape: the value is of another"},
      {"fraction of a size", document(R"({"target": {"shape": [1, 2.5]}, "verdict": "pass"})"),
       "the result is not as its schema says", "rows[0].target.shape[1]: the value is of another"},
      {"step beyond 64 bits", document(row + R"(, "step": 99999999999999999999})"),
       "the result is not as its schema says", "rows[0].step: the value is of another type"},
      {"text for a number", document(row + R"(, "metrics": {"cosine": "high"}})"),
       "the result is not as its schema says", "rows[0].metrics.cosine: 'high' is no number"},
      {"number beyond double", document(row + R"(, "metrics": {"cosine": 1e999}})"),
       "the result is not as its schema says", "rows[0].metrics.cosine: the value is of another"},
      {"long checksum",
       document(row + R"(, "metrics": {"target_crc32": "123456789"}})", R"("target_crc32")"),
       "the result is not as its schema says",
       "rows[0].metrics.target_crc32: '123456789' is no checksum"},
      {"fraction of a checksum",
       document(row + R"(, "metrics": {"target_crc32": 1.5}})", R"("target_crc32")"),
       "the result is not as its schema says", "rows[0].metrics.target_crc32: 1.5 is no checksum"},
      {"unknown change",
       R"({"schema": "plumb.result/1", "run": {}, "rows": [],)"
       R"( "baseline": {"operators": [{"change": "odd"}]}})",
       "the result is not as its schema says", "baseline.operators[0].change: 'odd' is no change"},
      {"damaged", R"({"schema": "plumb.result/1", "run": {"metrics" 5}, "rows": []})",
       "the result is damaged", "byte "},
      {"bytes that are no text",
       "{\"schema\": \"plumb.result/1\", \"run\": {\"command\": \"\xff\"}}",
       "the result is damaged", "byte 0: The input is not valid UTF-8"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto read = read_result(as_bytes(c.text));
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().what, c.what);
    EXPECT_NE(read.error().where.find(c.where), std::string::npos) << read.error().where;
    EXPECT_EQ(read.error().where.rfind("byte ", 0), 0U) << read.error().where;
    EXPECT_FALSE(read.error().remedy.empty());
  }
}

// Cut anywhere, a document is refused, never half read.
TEST(ReadResult, TruncatedAnywhere) {
  for (const auto& run : {report::failing_run(), report::worse_run()}) {
    std::string text = json_of(run);
    text.resize(text.find_last_of('}') + 1);
    const size_t step = text.size() > 20000 ? 37 : 1;
    for (size_t size = 0; size < text.size(); size += step)
      ASSERT_FALSE(read_result(as_bytes(std::string_view(text).substr(0, size))).ok()) << size;
  }
}

TEST(ReadResult, DeepNestingIsSkipped) {
  const std::string deep(100000, '['), end(100000, ']');
  const auto read =
      read_result(as_bytes(document(std::string(kRow) + ", \"later\": " + deep + end + "}")));
  EXPECT_TRUE(read.ok());
}

TEST(ReadResult, Files) {
  Scratch scratch;
  const auto path = scratch.path() / "r.json";
  ASSERT_TRUE(report::write_file(report::failing_run(), path).ok());
  ASSERT_TRUE(load_result(path).ok());
  const auto missing = load_result(scratch.path() / "none.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, "cannot read the file");
}

}  // namespace
}  // namespace plumb::result
