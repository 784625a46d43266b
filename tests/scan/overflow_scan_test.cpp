// SPDX-License-Identifier: Apache-2.0
#include "scan/overflow_scan.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/tensors.h"
#include "tensor/encode.h"

namespace plumb::scan {
namespace {

using compare::kInf;
using compare::kNan;
using compare::or_throw;
using compare::sample;
using compare::Tensors;

using testing::ElementsAre;
using testing::IsEmpty;

// FX dumps: every tensor a file, with its order of execution, inputs and outputs.
class Network : public Tensors {
 public:
  void add(int time, const std::string& op, const std::string& slot, const std::vector<float>& v) {
    std::vector<uint16_t> halves;
    for (float x : v) halves.push_back(half_from_float(x));
    npy(fmt::format("1/{}.{}.0.170000000000{:04}.npy", op, slot, time), DType::kFloat16,
        {std::ssize(v)}, halves);
  }
  OverflowScan scan() const {
    set_ = or_throw(dump::open_dump(path()));
    std::vector<const dump::Entry*> entries;
    for (const dump::Entry& entry : set_.entries) entries.push_back(&entry);
    return scan_overflow(set_, entries, {}, RunContext{});
  }

 private:
  mutable dump::DumpSet set_;  // the scan's entries are in it
};

// "operator origin: slot nan+inf+at_limit, ... from slot"
std::vector<std::string> lines_of(const OverflowScan& scan) {
  std::vector<std::string> lines;
  for (const OverflowedOperator& op : scan.operators) {
    std::string line = fmt::format("{} {}:", scan.tensors[op.tensors.front()].entry->operator_name,
                                   name_of(op.origin));
    for (size_t i : op.tensors) {
      const ScannedTensor& t = scan.tensors[i];
      line += fmt::format(" {} {}+{}+{}", to_string(t.entry->slot), t.nan,
                          t.positive_inf + t.negative_inf, t.saturates ? t.at_limit : 0);
    }
    for (size_t i : op.from) line += " from " + to_string(scan.tensors[i].entry->slot);
    lines.push_back(line);
  }
  return lines;
}

TEST(OverflowScan, IntroducedThenInherited) {
  Network network;
  network.add(1, "conv-aten.conv", "INPUT", {1, 2});
  network.add(2, "conv-aten.conv", "OUTPUT", {60000, -3});
  network.add(3, "b_mul-aten.mul", "INPUT", {60000, -3});
  network.add(4, "b_mul-aten.mul", "OUTPUT", {kInf, -6});
  network.add(5, "a_sub-aten.sub", "INPUT", {kInf, -6});
  network.add(6, "a_sub-aten.sub", "OUTPUT", {kNan, -6});
  network.add(7, "gt-aten.gt", "INPUT", {kNan, -6});
  network.add(8, "gt-aten.gt", "OUTPUT", {0, 1});
  const OverflowScan scan = network.scan();
  EXPECT_TRUE(scan.is_ordered);
  EXPECT_EQ(scan.executions, 4u);
  EXPECT_THAT(lines_of(scan), ElementsAre("b_mul-aten.mul introduced: output:0 0+1+0",
                                          "a_sub-aten.sub inherited: output:0 1+0+0 from input:0"));
}

TEST(OverflowScan, ReceivedFromOutside) {
  Network network;
  network.add(1, "relu-aten.relu", "INPUT", {-kInf, 2});
  network.add(2, "relu-aten.relu", "OUTPUT", {0, 2});
  network.add(3, "exp-aten.exp", "INPUT", {0, 12});
  network.add(4, "exp-aten.exp", "OUTPUT", {1, kInf});
  EXPECT_THAT(lines_of(network.scan()),
              ElementsAre("relu-aten.relu received: input:0 0+1+0 from input:0",
                          "exp-aten.exp introduced: output:0 0+1+0"));
}

TEST(OverflowScan, UnknownWithoutInputs) {
  Network network;
  network.add(1, "a-aten.a", "OUTPUT", {1, 2});
  network.add(2, "b-aten.b", "OUTPUT", {kNan, 2});
  network.add(3, "c-aten.c", "OUTPUT", {kNan, kNan});
  EXPECT_THAT(lines_of(network.scan()),
              ElementsAre("b-aten.b unknown: output:0 1+0+0", "c-aten.c unknown: output:0 2+0+0"));
}

// A mask of -65504 overflows nothing as long as outputs are clean; what follows from saturation is
// saturation, but not an infinity.
TEST(OverflowScan, ValuesAtTheLimit) {
  Network network;
  network.add(1, "mask-aten.add", "INPUT", {-65504, 2});
  network.add(2, "mask-aten.add", "OUTPUT", {-65472, 2});
  network.add(3, "mul-aten.mul", "INPUT", {40000, 2});
  network.add(4, "mul-aten.mul", "OUTPUT", {65504, 2});
  network.add(5, "neg-aten.neg", "INPUT", {65504, 2});
  network.add(6, "neg-aten.neg", "OUTPUT", {-65504, -2});
  network.add(7, "sum-aten.sum", "INPUT", {-65504, -2});
  network.add(8, "sum-aten.sum", "OUTPUT", {-kInf});
  const OverflowScan scan = network.scan();
  EXPECT_THAT(lines_of(scan), ElementsAre("mul-aten.mul introduced: output:0 0+0+1",
                                          "neg-aten.neg inherited: output:0 0+0+1 from input:0",
                                          "sum-aten.sum introduced: output:0 0+1+0"));
  EXPECT_TRUE(scan.operators[0].is_finite);
  EXPECT_FALSE(scan.operators[2].is_finite);
}

// 8 bits: more than one in a hundred. Types whose limit is an ordinary number: never.
TEST(OverflowScan, SharesOfIntegers) {
  struct Case {
    const char* name;
    DType dtype;
    int8_t value;
    int count;  // of 1000
    bool saturates;
  };
  for (const Case& c : {Case{"ten of a thousand", DType::kInt8, 127, 10, false},
                        {"eleven of a thousand", DType::kInt8, 127, 11, true},
                        {"at the lower end", DType::kInt8, -128, 500, true},
                        {"one off the limit", DType::kInt8, 126, 500, false},
                        {"black and white", DType::kUint8, -1, 500, false}}) {
    SCOPED_TRACE(c.name);
    const Tensors dir;
    std::vector<int8_t> values(1000, 5);
    std::fill_n(values.begin(), c.count, c.value);
    const auto path = dir.npy("q.npy", c.dtype, {1000}, values);
    const dump::DumpSet set = or_throw(dump::open_dump(path));
    const OverflowScan scan = scan_overflow(set, {&set.entries.at(0)}, {}, RunContext{});
    EXPECT_EQ(scan.tensors[0].saturates, c.saturates);
    EXPECT_EQ(scan.operators.size(), c.saturates ? 1u : 0u);
    if (c.saturates) {
      EXPECT_EQ(scan.tensors[0].at_limit, c.count);
    }
  }
}

// Infinities are counted once, not among the finite values at the limit, too.
TEST(OverflowScan, InfinitiesAreNotSaturation) {
  Network network;
  network.add(1, "a-aten.a", "OUTPUT", {kInf, -kInf, 65504, kNan, 1});
  const OverflowScan scan = network.scan();
  EXPECT_THAT(lines_of(scan), ElementsAre("a-aten.a unknown: output:0 1+2+1"));
}

TEST(OverflowScan, PlantedOverflow) {
  const dump::DumpSet set = or_throw(dump::open_dump(sample("cli/overflow")));
  std::vector<const dump::Entry*> entries;
  for (const dump::Entry& entry : set.entries) entries.push_back(&entry);
  const OverflowScan scan = scan_overflow(set, entries, {}, RunContext{});
  ASSERT_FALSE(scan.operators.empty());
  EXPECT_EQ(lines_of(scan).front(), "scale5 introduced: output:0 0+11+0");
  for (size_t i = 1; i < scan.operators.size(); ++i)
    EXPECT_EQ(scan.operators[i].origin, Origin::kInherited);
}

// Recorded statistics serve where there is no data; a checksum alone shows nothing.
TEST(OverflowScan, Statistics) {
  dump::DumpSet set;
  const auto add = [&](const char* dtype, std::optional<double> min, std::optional<double> max,
                       std::string checksum = {}) {
    dump::Entry& entry = set.entries.emplace_back();
    entry.operator_name = fmt::format("op{}", set.entries.size());
    entry.timestamp = std::ssize(set.entries);
    entry.statistics = Statistics{};
    entry.statistics->dtype = dtype;
    entry.statistics->min = min;
    entry.statistics->max = max;
    entry.statistics->checksum = std::move(checksum);
  };
  add("torch.float16", -1, 2);
  add("torch.float16", -65504, 2);
  add("torch.bfloat16", -65504, 2);
  add("torch.float32", -kInf, 2);
  add("torch.float32", kNan, kNan);
  add("torch.float32", {}, {}, "1234abcd");
  std::vector<const dump::Entry*> entries;
  for (const dump::Entry& entry : set.entries) entries.push_back(&entry);
  const OverflowScan scan = scan_overflow(set, entries, {}, RunContext{});
  EXPECT_THAT(lines_of(scan),
              ElementsAre("op2 unknown: output:0 0+0+1", "op4 unknown: output:0 0+1+0",
                          "op5 unknown: output:0 1+0+0"));
  EXPECT_FALSE(scan.tensors[4].is_blind);
  EXPECT_TRUE(scan.tensors[5].is_blind);
}

// A tensor of which nothing was recorded is not clean; of integers and of nothing there is nothing
// to see.
TEST(OverflowScan, NothingRecorded) {
  const struct {
    const char* dtype;
    std::optional<Shape> shape;
    bool is_blind;
  } cases[] = {
      {"torch.float16", Shape{2, 3}, true}, {"torch.float16", Shape{0, 3}, false},
      {"torch.bool", Shape{2}, false},      {"UInt8", Shape{2}, false},
      {"NoneType", std::nullopt, false},
  };
  for (const auto& [dtype, shape, is_blind] : cases) {
    dump::DumpSet set;
    dump::Entry& input = set.entries.emplace_back();
    input.slot.kind = dump::SlotKind::kInput;
    input.statistics = Statistics{};
    input.statistics->dtype = dtype;
    input.statistics->shape = shape;
    dump::Entry& output = set.entries.emplace_back();
    output.statistics = Statistics{};
    output.statistics->dtype = "torch.float32";
    output.statistics->max = kInf;
    const OverflowScan scan =
        scan_overflow(set, {&set.entries[0], &set.entries[1]}, {}, RunContext{});
    EXPECT_EQ(scan.tensors[0].is_blind, is_blind) << dtype;
    ASSERT_EQ(scan.operators.size(), 1u);
    EXPECT_EQ(scan.operators[0].origin, is_blind ? Origin::kUnknown : Origin::kIntroduced) << dtype;
  }
}

// How many values are at the limit, or NaN, extremes alone do not tell.
TEST(OverflowScan, ExtremesThatDoNotTell) {
  struct Case {
    const char* name;
    const char* dtype;
    double min, max;
    bool has_mean, has_counts;
    bool is_unsure, saturates;
  };
  constexpr Case kCases[] = {
      {"int8 within", "int8", -127, 126, true, true, false, false},
      {"int8 low", "int8", -128, 3, true, true, true, false},
      {"int8 high", "torch.int8", -3, 127, true, false, true, false},
      {"int16 high", "Int16", -3, 32767, true, true, true, false},
      {"uint8 is full of 255", "uint8", 0, 255, true, true, false, false},
      {"int32 needs no counts", "int32", -5, 5, false, false, false, false},
      {"8-bit float", "float8_e4m3fn", -448, 1, true, true, true, false},
      {"half at the limit", "torch.float16", -65504, 1, true, true, false, true},
      {"extremes only", "", -5, 5, false, false, true, false},
      {"extremes only, typed", "float32", -5, 5, false, false, true, false},
      {"counts", "float32", -5, 5, false, true, false, false},
      {"a mean lets NaN through", "float32", -5, 5, true, false, false, false},
      {"known already", "float32", -5, kInf, false, false, false, false},
  };
  for (const Case& c : kCases) {
    dump::DumpSet set;
    dump::Entry& entry = set.entries.emplace_back();
    entry.operator_name = "op";
    Statistics& statistics = entry.statistics.emplace();
    statistics.dtype = c.dtype;
    statistics.min = c.min;
    statistics.max = c.max;
    if (c.has_mean) statistics.mean = 1;
    if (c.has_counts) statistics.nan_count = statistics.inf_count = 0;
    const OverflowScan scan = scan_overflow(set, {&entry}, {}, RunContext{});
    EXPECT_EQ(scan.tensors[0].is_unsure, c.is_unsure) << c.name;
    EXPECT_EQ(scan.tensors[0].saturates, c.saturates) << c.name;
  }
}

// Ranks share a clock: the earlier one is the first, whatever its number; steps come one by one.
TEST(OverflowScan, OrderOfStepsAndRanks) {
  dump::DumpSet set;
  const auto add = [&](int64_t rank, int64_t step, int64_t time) {  // in the order of a set
    dump::Entry& entry = set.entries.emplace_back();
    entry.operator_name = fmt::format("rank{} step{}", rank, step);
    entry.put_at({step, rank});
    entry.timestamp = time;
    entry.statistics = Statistics{};
    entry.statistics->max = kInf;
  };
  add(0, 0, 20);
  add(0, 1, 5);
  add(1, 0, 10);
  add(1, 1, 5);
  std::vector<const dump::Entry*> entries;
  for (const dump::Entry& entry : set.entries) entries.push_back(&entry);
  EXPECT_THAT(
      lines_of(scan_overflow(set, entries, {}, RunContext{})),
      ElementsAre("rank1 step0 unknown: output:0 0+1+0", "rank0 step0 unknown: output:0 0+1+0",
                  "rank0 step1 unknown: output:0 0+1+0", "rank1 step1 unknown: output:0 0+1+0"));
}

TEST(OverflowScan, DamagedTensorsAndNamesWithoutOrder) {
  const Tensors dir;
  dir.npy("b.npy", {1, 2});
  dir.npy("a.npy", {1, kInf});
  const auto path = dir.npy("c.npy", {1, 2});
  const dump::DumpSet set = or_throw(dump::open_dump(dir.path()));
  std::filesystem::remove(path);
  std::vector<const dump::Entry*> entries;
  for (const dump::Entry& entry : set.entries) entries.push_back(&entry);
  const OverflowScan scan = scan_overflow(set, entries, {}, RunContext{});
  EXPECT_FALSE(scan.is_ordered);
  EXPECT_EQ(scan.operators.size(), 1u);
  EXPECT_TRUE(scan.tensors.back().error);
  const OverflowScan none = scan_overflow(set, {}, {}, RunContext{});
  EXPECT_THAT(none.operators, IsEmpty());
}

}  // namespace
}  // namespace plumb::scan
