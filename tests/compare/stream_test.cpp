// SPDX-License-Identifier: Apache-2.0
#include "compare/stream.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "compare/tensors.h"
#include "plumb/session.h"

namespace plumb::compare {
namespace {

using dump::DumpSet;
using dump::Entry;
using result::Row;
using result::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string_view word(Verdict verdict) {
  constexpr std::string_view kWords[] = {"pass", "fail", "inconclusive", "not compared"};
  return kWords[static_cast<size_t>(verdict)];
}

// "operator verdict reasons"
std::string line_of(const Row& row) {
  std::string line = fmt::format("{} {}", row.any_side().operator_name, word(row.verdict));
  for (const std::string& reason : row.reasons) line += " " + reason;
  return line;
}
std::vector<std::string> lines_of(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const Row& row : rows) lines.push_back(line_of(row));
  return lines;
}

// Two directories, and a third for a second golden run.
struct Dumps {
  Tensors target, golden, floor;
  std::vector<std::string> metrics{"cosine", "max_abs", "rel_euclid", "equal_share"};
  std::string profile = "standard";
  bool checksum = false, has_floor = false;

  std::vector<Row> compare(const RunContext& context = {}) const {
    const DumpSet t = or_throw(dump::open_dump(target.path()));
    const DumpSet g = or_throw(dump::open_dump(golden.path()));
    const DumpSet f = has_floor ? or_throw(dump::open_dump(floor.path())) : DumpSet();
    return compare(t, g, has_floor ? &f : nullptr, context);
  }
  std::vector<Row> compare(const DumpSet& t, const DumpSet& g, const DumpSet* f = nullptr,
                           const RunContext& context = {}) const {
    const judge::LimitRules rules = or_throw(judge::load_rules(profile, ""));
    std::vector<const metrics::Metric*> columns = rules.metrics();
    for (const std::string& name : metrics) columns.push_back(metrics::metric_by_name(name));
    const Sides sides{t, g, f, {}, {}};
    const StreamOptions options{rules, columns, metrics::request_for(columns), checksum};
    return stream(Streamer(sides, options), pair::make_plan(t, g), context);
  }
};

TEST(Stream, NothingToDo) { EXPECT_THAT(Dumps().compare(DumpSet(), DumpSet()), IsEmpty()); }

TEST(Stream, EachPairGetsItsVerdict) {
  Dumps dumps;
  dumps.target.npy("a.npy", {1, 2, 3, 4});
  dumps.golden.npy("a.npy", {1, 2, 3, 4});
  dumps.target.npy("b.npy", {1, 2, 3, 5});
  dumps.golden.npy("b.npy", {1, 2, 3, 4});
  dumps.target.npy("c.npy", {1, kNan});
  dumps.golden.npy("c.npy", {1, 2});
  dumps.target.npy("d.npy", {});
  dumps.golden.npy("d.npy", {});
  dumps.target.npy("e.npy", {1});
  dumps.golden.npy("f.npy", {1});
  const auto rows = dumps.compare();
  EXPECT_THAT(lines_of(rows), ElementsAre("a pass", HasSubstr("b fail limit:"),
                                          HasSubstr("c fail nan_only_in_target"), "d pass empty",
                                          "f not compared no_target", "e not compared no_golden"));
  EXPECT_EQ(rows[0].pairing_rule, "name");
  EXPECT_EQ(rows[0].target->file, "a.npy");
  EXPECT_EQ(rows[0].target->dtype, "float32");
  EXPECT_EQ(rows[0].golden->shape, Shape{4});
  EXPECT_EQ(rows[0].golden->layout, "");
  EXPECT_EQ(rows[0].golden->slot, "output:0");
  EXPECT_FALSE(rows[4].target.has_value());
  EXPECT_THAT(rows[4].values, IsEmpty());
}

// A float32 result of operators that work in float16 is as good as float16 can be.
// A float32 tensor that only holds the limits for 16 bits.
TEST(Stream, BehindSixteenBitsFloat32IsJudgedAsSuch) {
  const struct {
    const char *half, *b;  // files; no 16-bit tensor if empty
    Verdict verdict;
    const char* message;
  } cases[] = {
      {"a.0.1700000000000001.npy", "b.0.1700000000000002.npy", Verdict::kPass,
       "judged as float16, in which a before it works"},
      {"a.0.1700000000000003.npy", "b.0.1700000000000002.npy", Verdict::kFail, "is above 0.001"},
      {"", "b.0.1700000000000002.npy", Verdict::kFail, "is above 0.001"},
      {"", "b.npy", Verdict::kFail, "is above 0.001"},
      {"a.npy", "b.npy", Verdict::kInconclusive, "nothing tells whether it comes before"},
      {"c.npy", "b.npy", Verdict::kInconclusive, "nothing tells whether it comes before"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.half);
    Dumps dumps;
    if (*c.half != '\0') {
      // 1, 2, 3, 4
      dumps.target.npy(c.half, DType::kFloat16, {4},
                       std::vector<uint16_t>{0x3C00, 0x4000, 0x4200, 0x4400});
      dumps.golden.npy(c.half, {1, 2, 3.0001F, 4});
    }
    dumps.target.npy(c.b, {1.002F, 2.006F, 3, 4.01F});
    dumps.golden.npy(c.b, {1, 2, 3.0001F, 4.0001F});
    Spec spec;
    spec.target.path = dumps.target.path().string();
    spec.golden.path = dumps.golden.path().string();
    RunContext context;
    for (const bool alone : {false, true}) {  // what is selected changes nothing
      if (alone) spec.selection.ops = {"b"};
      const Session session = or_throw(Session::open(spec, context));
      const auto rows = or_throw(compare_all(session, context)).rows;
      const auto row = std::find_if(rows.begin(), rows.end(), [](const Row& each) {
        return each.target->operator_name == "b";
      });
      EXPECT_EQ(row->verdict, c.verdict);
      EXPECT_EQ(row->suspicious, c.verdict == Verdict::kPass);
      EXPECT_THAT(row->message, HasSubstr(c.message));
    }
  }
}

TEST(Stream, ValuesAreParallelToColumns) {
  Dumps dumps;
  dumps.metrics = {"max_abs", "rmse", "kl", "target_crc32", "mean_rel", "max_ulp", "cosine"};
  dumps.target.npy("a.npy", {1, 2, 3, 5});
  dumps.golden.npy("a.npy", {1, 2, 3, 4});
  const DumpSet t = or_throw(dump::open_dump(dumps.target.path()));
  const DumpSet g = or_throw(dump::open_dump(dumps.golden.path()));
  const judge::LimitRules rules = or_throw(judge::load_rules("standard", ""));
  std::vector<const metrics::Metric*> columns;
  for (const std::string& name : dumps.metrics) columns.push_back(metrics::metric_by_name(name));
  const Sides sides{t, g, nullptr, {}, {}};
  const StreamOptions options{rules, columns, metrics::request_for(columns), false};
  const auto rows = stream(Streamer(sides, options), pair::make_plan(t, g), RunContext{});
  EXPECT_EQ(rows[0].bytes, 32);
  const auto& values = rows[0].values;
  ASSERT_THAT(values, SizeIs(columns.size()));
  EXPECT_EQ(values[0].number(), 1);
  EXPECT_EQ(values[1].number(), 0.5);
  EXPECT_TRUE(values[2].is_defined());
  // Python: zlib.crc32(np.array([1, 2, 3, 5], "f4").tobytes())
  EXPECT_EQ(values[3].number(), 0x1e2330f6);
  EXPECT_EQ(values[4].number(), 0.25 / 4);
  EXPECT_EQ(values[5].number(), (1 << 21));
  EXPECT_NEAR(values[6].number(), 34 / std::sqrt(39.0 * 30.0), 1e-15);
}

TEST(Stream, AxesOfLengthOneDoNotMatter) {
  Dumps dumps;
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  dumps.target.npy("a.npy", DType::kFloat32, {1, 6, 1}, six);
  dumps.golden.npy("a.npy", DType::kFloat32, {6}, six);
  dumps.target.npy("b.npy", DType::kFloat32, {2, 3}, six);
  dumps.golden.npy("b.npy", DType::kFloat32, {3, 2}, six);
  dumps.target.npy("c.npy", DType::kFloat32, {6}, six);
  dumps.golden.npy("c.npy", {1, 2, 3, 4, 5, 6, 7});
  dumps.target.npy("d.npy", DType::kFloat32, {}, std::vector<float>{1});
  dumps.golden.npy("d.npy", {1});
  dumps.target.npy("e.npy", DType::kFloat32, {0, 3}, std::vector<float>{});
  dumps.golden.npy("e.npy", {});
  const auto rows = dumps.compare();
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a pass", "b fail shape_mismatch flattened", "c fail size_mismatch",
                          "d pass", "e fail shape_mismatch"));
  EXPECT_EQ(rows[0].target->shape, (Shape{1, 6, 1}));
  EXPECT_EQ(rows[1].message,
            "target is [2, 3], golden is [3, 2]; the same elements in the same order");
  EXPECT_EQ(rows[2].message, "target is [6], golden is [7]");
  EXPECT_THAT(rows[2].values, IsEmpty());
}

// Whatever is wrong with a file, on either side, before or after it was listed.
TEST(Stream, ABadFileCostsOneRow) {
  Dumps dumps;
  const std::vector<float> values{1, 2, 3, 4};
  for (const char* name : {"a.npy", "b.npy", "c.npy", "d.npy", "e.npy"}) {
    dumps.target.npy(name, values);
    dumps.golden.npy(name, values);
  }
  std::filesystem::resize_file(dumps.target.path() / "b.npy", 140);
  std::filesystem::resize_file(dumps.golden.path() / "c.npy", 140);
  dumps.target.write("d.npy", "not npy at all");  // known to be damaged from the start
  const DumpSet t = or_throw(dump::open_dump(dumps.target.path()));
  const DumpSet g = or_throw(dump::open_dump(dumps.golden.path()));
  std::filesystem::remove(dumps.golden.path() / "e.npy");
  const auto rows = dumps.compare(t, g);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a pass", "b not compared damaged_file", "c not compared damaged_file",
                          "d not compared damaged_file", "e not compared damaged_file"));
  EXPECT_THAT(rows[1].message, HasSubstr((dumps.target.path() / "b.npy").string()));
  EXPECT_THAT(rows[2].message, HasSubstr((dumps.golden.path() / "c.npy").string()));
  EXPECT_EQ(rows[3].target->file, "d.npy");
  EXPECT_EQ(rows[3].target->operator_name, "d");
  EXPECT_EQ(rows[3].golden->file, "d.npy");
  EXPECT_THAT(rows[4].message, HasSubstr("e.npy"));
}

TEST(Stream, ADamagedFileWithoutPartnerGoesByItsName) {
  Dumps dumps;
  dumps.target.npy("a.npy", {1});
  dumps.golden.npy("a.npy", {1});
  dumps.golden.write("lost.npy", "not npy at all");
  const auto rows = dumps.compare();
  EXPECT_THAT(lines_of(rows), ElementsAre("a pass", "lost.npy not compared damaged_file"));
  EXPECT_FALSE(rows[1].target.has_value());
}

TEST(Stream, TypesThatCannotBeCompared) {
  Dumps dumps;
  dumps.target.opaque("a.npy", 3);
  dumps.golden.npy("a.npy", {1, 2, 3});
  dumps.target.npy("b.npy", {1, 2, 3});
  dumps.golden.opaque("b.npy", 3);
  dumps.target.npy("c.npy", DType::kComplex64, {1}, std::vector<float>{1, 0});
  dumps.golden.npy("c.npy", {1});
  const auto rows = dumps.compare();
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a not compared dtype_unsupported", "b not compared dtype_unsupported",
                          "c not compared dtype_unsupported"));
  EXPECT_EQ(rows[0].message, "type V1 cannot be decoded");
  EXPECT_EQ(rows[2].message, "complex64 against float32: only one side is complex");
}

TEST(Stream, ChecksumMode) {
  Dumps dumps;
  dumps.checksum = true;
  dumps.target.npy("a.npy", {1, 2});
  dumps.golden.npy("a.npy", {1, 2});
  dumps.target.npy("b.npy", {1, 2});
  dumps.golden.npy("b.npy", {1, 2.0000002f});
  dumps.target.npy("c.npy", {0});
  dumps.golden.npy("c.npy", DType::kInt32, {1}, std::vector<int32_t>{0});
  dumps.target.npy("d.npy", {1, 2});
  dumps.golden.npy("d.npy", {1, 2, 3});
  std::filesystem::copy(sample("npz/crc_deflated.npz"), dumps.target.path() / "e.npz");
  std::filesystem::copy(sample("npz/deflated.npz"), dumps.golden.path() / "e.npz");
  RunContext context;
  std::atomic<int64_t> seen = 0;
  context.progress = [&](int64_t bytes) { seen += bytes; };
  const auto rows = dumps.compare(context);
  ASSERT_GE(rows.size(), 5u);
  // Python: zlib.crc32(np.array([1, 2], "f4").tobytes())
  EXPECT_EQ(rows[0].message, "CRC-32 is 2e3fa576 on both sides");
  EXPECT_EQ(line_of(rows[0]), "a pass checksum_only");
  EXPECT_EQ(line_of(rows[1]), "b fail limit:equal_share");
  EXPECT_THAT(rows[1].message, HasSubstr("CRC-32 is 2e3fa576 against "));
  EXPECT_EQ(line_of(rows[2]), "c fail limit:equal_share");
  EXPECT_EQ(rows[2].message, "float32 against int32");
  EXPECT_EQ(line_of(rows[3]), "d fail size_mismatch");
  EXPECT_THAT(line_of(rows[4]), HasSubstr("not compared damaged_file"));
  for (const Row& row : rows) EXPECT_THAT(row.values, IsEmpty());
  EXPECT_GE(seen, 2 * 8 + 2 * 8 + 2 * 4);
}

TEST(Stream, InterruptedRowsSaySo) {
  Dumps dumps;
  for (int i = 0; i < 20; ++i)
    for (const Tensors* side : {&dumps.target, &dumps.golden})
      side->npy(fmt::format("a{}.npy", i), {1, 2, 3});
  dumps.golden.npy("z.npy", {1});
  RunContext context;
  context.cancelled = true;
  auto lines = lines_of(dumps.compare(context));
  ASSERT_EQ(lines.size(), 21u);
  EXPECT_EQ(lines.back(), "z not compared no_target");
  lines.pop_back();
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("not compared interrupted"));

  for (const bool checksum : {false, true}) {
    dumps.checksum = checksum;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    RunContext later;
    int left = 5;
    later.progress = [&](int64_t) {
      if (--left == 0) later.cancelled = true;
    };
    int passed = 0, interrupted = 0;
    for (const Row& row : dumps.compare(later)) {
      passed += row.verdict == Verdict::kPass;
      interrupted += row.reasons == std::vector<std::string>{"interrupted"};
    }
    EXPECT_GE(passed, 4);
    EXPECT_EQ(passed + interrupted, 20);
  }
}

// --- records without data

Entry recorded(std::string name, Statistics statistics) {
  Entry entry;
  entry.operator_name = std::move(name);
  entry.statistics.emplace(std::move(statistics));
  entry.statistics->dtype = "torch.float32";
  entry.statistics->shape = Shape{4};
  entry.record = "dump.json";
  return entry;
}
Statistics statistics(double min, double max, double mean, double l2) {
  Statistics made;
  made.min = min;
  made.max = max;
  made.mean = mean;
  made.l2 = l2;
  return made;
}

TEST(Stream, StatisticsAgainstData) {
  struct Case {
    const char* what;
    std::vector<float> data;
    Statistics statistics;
    const char* line;
  };
  // What torch records of such data: min, max, mean, norm.
  const Case cases[] = {
      {"agree", {1, -2, 3, 4}, statistics(-2, 4, 1.5, std::sqrt(30.0)), "statistics_only"},
      {"one value", {2, 2, 2, 2}, statistics(2, 2, 2, 4), "a pass statistics_only"},
      {"norms differ", {1, -2, 3, 4}, statistics(-2, 5, 1.75, 6.2), "limit:norm_ratio"},
      {"nan", {1, kNan, 3, 4}, statistics(kNan, kNan, kNan, kNan), "inconclusive"},
      {"nan in data only", {1, kNan, 3, 4}, statistics(1, 4, 2, 5), "a fail nan_only_in"},
      {"inf", {1, kInf, 3, 4}, statistics(1, kInf, kInf, kInf), "inconclusive"},
      {"-inf", {1, -kInf, 3, 4}, statistics(-kInf, 4, -kInf, kInf), "inconclusive"},
      {"both", {1, -kInf, kInf, 4}, statistics(-kInf, kInf, kNan, kInf), "inconclusive"},
      {"all inf", {kInf, kInf, kInf, kInf}, statistics(kInf, kInf, kInf, kInf), "inconclusive"},
      {"inf in record only", {1, 2, 3, 4}, statistics(1, kInf, kInf, kInf), "a fail inf_mismatch"},
  };
  for (const Case& c : cases)
    for (const bool swapped : {false, true}) {
      SCOPED_TRACE(c.what);
      Dumps dumps;
      dumps.target.npy("a.npy", c.data);
      const DumpSet data = or_throw(dump::open_dump(dumps.target.path()));
      DumpSet records;
      records.entries.push_back(recorded("a", c.statistics));
      const auto rows = swapped ? dumps.compare(records, data) : dumps.compare(data, records);
      ASSERT_EQ(rows.size(), 1u);
      EXPECT_THAT(line_of(rows[0]), HasSubstr(c.line));
      EXPECT_EQ((swapped ? rows[0].golden : rows[0].target)->dtype, "float32");
      EXPECT_EQ((swapped ? rows[0].target : rows[0].golden)->file, "dump.json");
      EXPECT_EQ(rows[0].golden->shape, Shape{4});
      EXPECT_THAT(rows[0].values, IsEmpty());
    }
}

TEST(Stream, StatisticsAgainstWhatCannotBeRead) {
  Dumps dumps;
  dumps.target.npy("a.npy", {1, 2, 3, 4});
  dumps.target.npy("b.npy", {1, 2, 3, 4});
  dumps.target.opaque("c.npy", 4);
  dumps.target.npy("d.npy", {1, 2, 3});
  const DumpSet data = or_throw(dump::open_dump(dumps.target.path()));
  DumpSet records;
  for (const char* name : {"a", "b", "c", "d"})
    records.entries.push_back(recorded(name, statistics(1, 4, 2.5, std::sqrt(30.0))));
  records.entries[0].statistics.reset();  // not even these
  std::filesystem::resize_file(dumps.target.path() / "b.npy", 140);
  const auto rows = dumps.compare(data, records);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a inconclusive statistics_only", "b not compared damaged_file",
                          "c not compared dtype_unsupported", "d fail shape_mismatch"));
  RunContext cancelled;
  cancelled.cancelled = true;
  for (const Row& row : dumps.compare(data, records, nullptr, cancelled))
    EXPECT_THAT(row.reasons, ElementsAre("interrupted"));
}

// What the extremes of golden say is what its data would: see RecordedBounds.
TEST(Stream, ExtremesAloneFailARow) {
  Dumps dumps;
  DumpSet target, golden;
  const auto add = [&](const char* name, const char* dtype, double target_max) {
    for (DumpSet* side : {&target, &golden}) {
      Statistics extremes;
      extremes.min = -1;
      extremes.max = side == &target ? target_max : 2;
      side->entries.push_back(recorded(name, extremes));
      side->entries.back().statistics->dtype = dtype;
    }
  };
  add("a", "float16", 2.06);  // 0.06 over a range of 3
  add("b", "float16", 2.5);
  add("c", "int64", 3);  // right or wrong
  add("d", "int8", 2.06);
  const auto rows = dumps.compare(target, golden);
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a inconclusive statistics_only", "b fail limit:max_err_to_range",
                          "c fail limit:equal_share", "d inconclusive statistics_only"));
  EXPECT_EQ(rows[1].message,
            "max_err_to_range is at least 0.167, which is above 0.05; max is 2.5 in target, 2 in "
            "golden");
}

// Records of integers say nothing about the numbers they stand for.
TEST(Stream, RecordsOfQuantizedTensors) {
  DumpSet target, golden;
  for (DumpSet* side : {&target, &golden})
    for (const char* name : {"a", "b"})
      side->entries.push_back(recorded(name, statistics(-1, 2, 0, 2)));
  target.entries[0].statistics->dtype = "int8";
  target.entries[0].statistics->max = 127;
  std::vector<pair::PlannedRow> plan = pair::make_plan(target, golden);
  for (pair::PlannedRow& row : plan) row.is_quantized = true;
  const judge::LimitRules rules = or_throw(judge::load_rules("standard", ""));
  const Sides sides{target, golden, nullptr, {}, {}};
  const StreamOptions options{rules, {}, {}, false};
  const auto rows = stream(Streamer(sides, options), plan, {});
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a not compared quantized_interior", "b inconclusive statistics_only"));
}

// Integers of up to 32 bits inside a quantized model stand for other numbers; those of 64 bits are
// indices, which are compared as they are.
TEST(Stream, IntegersOfQuantizedModels) {
  struct Case {
    DType dtype;
    size_t bytes;
    const char* line;
  };
  const Case cases[] = {
      {DType::kInt8, 1, "a not compared quantized_interior"},
      {DType::kUint8, 1, "a not compared quantized_interior"},
      {DType::kInt16, 2, "a not compared quantized_interior"},
      {DType::kInt32, 4, "a not compared quantized_interior"},
      {DType::kUint32, 4, "a not compared quantized_interior"},
      {DType::kInt64, 8, "a pass"},
  };
  for (const Case& each : cases) {
    Dumps dumps;
    std::vector<uint8_t> ones(4 * each.bytes);
    for (size_t i = 0; i < 4; ++i) ones[i * each.bytes] = 1;
    dumps.target.npy("a.npy", each.dtype, {4}, ones);
    dumps.golden.npy("a.npy", {1, 1, 1, 1});
    const DumpSet t = or_throw(dump::open_dump(dumps.target.path()));
    const DumpSet g = or_throw(dump::open_dump(dumps.golden.path()));
    std::vector<pair::PlannedRow> plan = pair::make_plan(t, g);
    plan[0].is_quantized = true;
    const judge::LimitRules rules = or_throw(judge::load_rules("quantized", ""));
    const std::vector<const metrics::Metric*> columns = rules.metrics();
    const Sides sides{t, g, nullptr, {}, {}};
    const StreamOptions options{rules, columns, metrics::request_for(columns), false};
    EXPECT_THAT(lines_of(stream(Streamer(sides, options), plan, {})), ElementsAre(each.line))
        << name_of(each.dtype);
    // Where the model is not quantized they are numbers like any other.
    plan[0].is_quantized = false;
    EXPECT_THAT(lines_of(stream(Streamer(sides, options), plan, {})), ElementsAre("a pass"))
        << name_of(each.dtype);
  }
}

TEST(Stream, RecordedChecksums) {
  constexpr const char* kOfData = "8ba71454";  // zlib.crc32 of 1, 2, 3, 4 in float32
  struct Case {
    const char* what;
    std::vector<std::string> checksums;  // of target and golden; "data" for data
    const char* dtype;
    const char* line;
  };
  const Case cases[] = {
      {"equal", {"12345678", "12345678"}, "float32", "a pass checksum_only"},
      {"different", {"12345678", "12345679"}, "float32", "a fail limit:equal_share"},
      {"of two kinds", {"12345678", "123456789a"}, "float32", "a inconclusive statistics_only"},
      {"data against their checksum", {"data", kOfData}, "torch.float32", "a pass checksum_only"},
      {"checksum of data", {kOfData, "data"}, "torch.float32", "a pass checksum_only"},
      {"data against another", {"data", "12345679"}, "float32", "a fail limit:equal_share"},
      {"data of another type", {"data", kOfData}, "int32", "a fail limit:equal_share"},
      {"data against none", {"data", ""}, "float32", "a inconclusive statistics_only"},
      {"none", {"", ""}, "float32", "a inconclusive statistics_only"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Dumps dumps;
    dumps.checksum = true;
    dumps.target.npy("a.npy", {1, 2, 3, 4});
    const DumpSet data = or_throw(dump::open_dump(dumps.target.path()));
    DumpSet records[2];
    for (size_t i : {size_t{0}, size_t{1}}) {
      Statistics made = statistics(1, 4, 2.5, std::sqrt(30.0));
      made.checksum = c.checksums[i];
      records[i].root = i == 0 ? "target" : "golden";
      records[i].entries.push_back(recorded("a", made));
      records[i].entries.back().statistics->dtype = c.dtype;
    }
    const auto rows = dumps.compare(c.checksums[0] == "data" ? data : records[0],
                                    c.checksums[1] == "data" ? data : records[1]);
    EXPECT_THAT(lines_of(rows), ElementsAre(c.line));
    EXPECT_THAT(rows[0].values, IsEmpty());
  }
}

// --- a second golden run

TEST(Stream, TheFloorIsTheNoiseOfASecondRun) {
  Dumps dumps;
  dumps.has_floor = true;
  const auto add = [&](const std::string& name, float target, float floor) {
    dumps.golden.npy(name, {1, -2, 3, -4});
    dumps.target.npy(name, {1, -2, 3, -4 + target});
    dumps.floor.npy(name, {1, -2, 3, -4 + floor});
  };
  add("a.npy", 0.15f, 0.1f);  // within twice the noise, far above the profile's limits
  add("b.npy", 0.25f, 0.1f);
  add("c.npy", 0, 0);
  dumps.golden.npy("d.npy", {1, 2});
  dumps.target.npy("d.npy", {1, 2});
  add("e.npy", 0, 0);
  dumps.floor.npy("e.npy", {1, 2});
  add("f.npy", 0, 0);
  dumps.floor.opaque("f.npy", 4);
  add("g.npy", 0, 0);
  std::filesystem::resize_file(dumps.floor.path() / "g.npy", 140);
  add("h.npy", 0, 0);
  dumps.floor.npy("h.npy", DType::kComplex64, {4}, std::vector<float>(8, 1.0f));
  const auto rows = dumps.compare();
  EXPECT_THAT(lines_of(rows),
              ElementsAre("a pass", HasSubstr("b fail limit:rel_euclid"), "c pass", "d pass",
                          "e not compared size_mismatch", "f not compared dtype_unsupported",
                          "g not compared damaged_file", "h not compared dtype_unsupported"));
  EXPECT_EQ(rows[3].message, "the second golden run has no such tensor: judged by the profile");
  EXPECT_THAT(rows[4].message, HasSubstr("the second golden run against the first"));
}

// --- both sides in device layouts and archives

TEST(Stream, SidesAsTheyAreStored) {
  Dumps dumps;
  const std::string name = "Conv2D.conv1.5.7.1700000000000003";
  std::filesystem::copy(sample("ascend-dump/dumps/" + name), dumps.target.path() / name);
  std::filesystem::copy(
      sample("ascend-dump/expect/03-conv-5hd/f-NCHW/" + name + ".output.0.1x8x3x4.npy"),
      dumps.golden.path() / "conv1.0.1700000000000003.npy");
  const auto rows = dumps.compare();
  const auto paired = std::find_if(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.target && row.golden; });
  ASSERT_NE(paired, rows.end());
  EXPECT_EQ(line_of(*paired), "conv1 pass");
  EXPECT_EQ(paired->target->layout, "NC1HWC0");
  EXPECT_EQ(paired->target->shape, (Shape{1, 8, 3, 4}));
  EXPECT_EQ(paired->target->type, "Conv2D");
  EXPECT_EQ(paired->target->dtype, "float16");
}

TEST(Stream, AnArchiveOfManyTensorsIsOpenedOnce) {
  Dumps dumps;
  for (const Tensors* side : {&dumps.target, &dumps.golden}) {
    auto sink = or_throw(FileSink::create(side->path() / "all.npz"));
    std::vector<io::WriteItem> items;
    for (int i = 0; i < 300; ++i)
      items.push_back({fmt::format("op{}", i), DType::kFloat32, {2}, [i] {
                         const float x[] = {static_cast<float>(i), 1};
                         const Bytes bytes = std::as_bytes(std::span(x));
                         return Result(io::TensorReader::from_memory(DType::kFloat32, {2},
                                                                     {bytes.begin(), bytes.end()}));
                       }});
    ASSERT_TRUE(io::format_by_name("npz")->write(sink, items));
    ASSERT_TRUE(sink.commit(false));
  }
  const DumpSet t = or_throw(dump::open_dump(dumps.target.path()));
  dump::FileCache cache;
  const auto first = or_throw(cache.open(t, t.entries[0].parts[0], {}));
  EXPECT_EQ(or_throw(cache.open(t, t.entries[299].parts[0], {})), first);
  const auto rows = dumps.compare();
  ASSERT_EQ(rows.size(), 300u);
  for (const Row& row : rows) EXPECT_EQ(row.verdict, Verdict::kPass) << row.message;
}

TEST(Stream, ThreadsChangeNoDigit) {
  Dumps dumps;
  for (int i = 0; i < 40; ++i) {
    std::vector<float> values;
    for (int k = 0; k < 1000 * (i % 3); ++k) values.push_back(static_cast<float>(k * i % 17) / 7);
    dumps.golden.npy(fmt::format("a{}.npy", i), values);
    for (float& x : values) x *= 1.001f;
    dumps.target.npy(fmt::format("a{}.npy", i), values);
  }
  const auto text = [&] {
    std::string all;
    for (const Row& row : dumps.compare()) {
      all += line_of(row) + " " + row.message;
      for (const metrics::Value& value : row.values)
        all += value.is_defined() ? fmt::format(" {:a}", value.number()) : value.reason();
    }
    return all;
  };
  const std::string many = text();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(text(), many);
}

}  // namespace
}  // namespace plumb::compare
