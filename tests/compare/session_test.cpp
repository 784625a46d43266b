// SPDX-License-Identifier: Apache-2.0
//
// The laws of a session: rows do not depend on how they are asked for, and arrays in memory are
// compared like files.
#include "plumb/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "compare/json_testing.h"
#include "compare/session_state.h"
#include "compare/tensors.h"
#include "dump/memory.h"

namespace plumb {
namespace {

using compare::json_of;
using compare::or_throw;
using compare::Tensors;
using result::Row;
using result::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Tensors of all fates: equal, off, not a number, another shape, without a partner, of 16 bits and
// behind them, empty.
struct SessionDumps {
  Tensors target, golden;

  SessionDumps() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 40; ++i) {
      std::vector<float> values(100 + 37 * i);
      for (float& value : values) value = normal(random);
      golden.npy(name("op" + std::to_string(i), 10 * i), values);
      if (i % 5 == 1) values[3] += 0.5F;
      if (i % 7 == 2) values.pop_back();
      if (i % 11 == 3) values[5] = std::numeric_limits<float>::quiet_NaN();
      for (float& value : values)
        if (i > 20) value *= 1.0015F;
      if (i % 13 != 4) target.npy(name("op" + std::to_string(i), 10 * i), values);
    }
    target.npy(name("op20b", 205), DType::kFloat16, {2}, std::vector<uint16_t>{0x3C00, 0x4000});
    golden.npy(name("op20b", 205), {1, 2});
    target.npy(name("none", 0), {});
    golden.npy(name("none", 0), {});
  }

  // With the time at which it ran.
  static std::string name(const std::string& op, int time) {
    return op + ".0." + std::to_string(1700000000000000 + time) + ".npy";
  }

  Spec spec() const {
    Spec spec;
    spec.target.path = target.path().string();
    spec.golden.path = golden.path().string();
    return spec;
  }
};

std::vector<RowId> ids_of(const Session& session) {
  std::vector<RowId> ids(static_cast<size_t>(session.plan().size()));
  std::iota(ids.begin(), ids.end(), RowId{0});
  return ids;
}

std::string finished(const Session& session, RunInMemory& memory) {
  EXPECT_TRUE(session.finish(memory, memory));
  return json_of(memory.run);
}

TEST(Session, RowsDoNotDependOnHowTheyAreAskedFor) {
  const SessionDumps dumps;
  RunContext context;
  const Session session = or_throw(Session::open(dumps.spec(), context));
  const std::string whole = json_of(or_throw(compare_all(session, context)));
  EXPECT_THAT(whole, HasSubstr("judged as float16"));

  std::vector<RowId> ids = ids_of(session);
  std::reverse(ids.begin(), ids.end());
  RunInMemory reversed(session.plan());
  ASSERT_TRUE(session.stream(ids, reversed, context));
  EXPECT_EQ(finished(session, reversed), whole);

  // Three shares in another order, one of them twice, by other sessions and other threads.
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  RunInMemory shared(session.plan());
  const size_t third = ids.size() / 3;
  const std::span<const RowId> all(ids);
  for (const auto share :
       {all.subspan(2 * third), all.first(third), all.subspan(third, third), all.first(third)}) {
    context.jobs = context.jobs == 1 ? 3 : 1;
    const Session other = or_throw(Session::open(dumps.spec(), context));
    ASSERT_TRUE(other.stream(share, shared, context));
  }
  EXPECT_EQ(finished(session, shared), whole);
}

TEST(Session, FinishWantsAllRows) {
  struct Some : RowSource {
    explicit Some(std::vector<Row>& all) : rows(all) {}
    Result<void> each(const Use& use) override {
      for (size_t i = 0; i < rows.size(); i += 2)
        if (auto used = use(static_cast<RowId>(i), rows[i]); !used) return used;
      return {};
    }
    std::vector<Row>& rows;
  };
  const SessionDumps dumps;
  RunContext context;
  const Session session = or_throw(Session::open(dumps.spec(), context));
  RunInMemory memory(session.plan());
  ASSERT_TRUE(session.stream(ids_of(session), memory, context));
  Some some(memory.run.rows.all());
  const auto finished = session.finish(some, memory);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().what, "rows of the plan are missing");
  memory.run.rows.pop_back();
  EXPECT_FALSE(session.finish(memory, memory));
}

int64_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// A row in memory takes more than a thousand bytes.
TEST(Session, LargeRunsHoldFewBytesForARow) {
  constexpr size_t kCount = 20'000;
  constexpr int64_t kFixed = 8 << 20, kEach = 100;
  const std::vector<float> values(16, 1.5F);
  Spec spec;
  for (size_t i = 0; i < kCount; ++i) {
    NamedTensor tensor;
    tensor.op = "layers." + std::to_string(i) + ".attention.projection";
    tensor.shape = {16};
    tensor.bytes = std::as_bytes(std::span(values));
    spec.target.tensors.push_back(tensor);
    spec.golden.tensors.push_back(std::move(tensor));
  }
  RunContext context;
  const Session session = or_throw(Session::open(std::move(spec), context));
  const int64_t before = heap_bytes();
  const result::Run run = or_throw(compare_all(session, context));
  EXPECT_LT(heap_bytes() - before, kFixed + kEach * int64_t{kCount});
  EXPECT_EQ(run.summary().pass, int64_t{kCount});
}

TEST(Session, RefusesRowsThatAreNotThere) {
  const SessionDumps dumps;
  RunContext context;
  const Session session = or_throw(Session::open(dumps.spec(), context));
  RunInMemory memory(session.plan());
  for (const RowId id : {RowId{-1}, session.plan().size()})
    EXPECT_FALSE(session.stream(std::vector<RowId>{id}, memory, context));
}

// What is selected changes no row, no id and no verdict.
TEST(Session, SelectionOnlyHides) {
  const SessionDumps dumps;
  RunContext context;
  const result::Run all =
      or_throw(compare_all(or_throw(Session::open(dumps.spec(), context)), context));
  Spec spec = dumps.spec();
  spec.selection.ops = {"op3*"};
  const Session session = or_throw(Session::open(spec, context));
  const result::Run some = or_throw(compare_all(session, context));
  ASSERT_EQ(some.rows.size(), all.rows.size());
  for (size_t i = 0; i < all.rows.size(); ++i) {
    const Row &own = some.rows[i], &other = all.rows[i];
    EXPECT_EQ(own.any_side().operator_name, other.any_side().operator_name);
    EXPECT_EQ(own.index, other.index);
    const std::string& name = own.any_side().operator_name;
    EXPECT_EQ(own.is_filtered(), !name.starts_with("op3")) << name;
    // The 16-bit operator, by which others are judged, is hidden, and counts all the same.
    if (!own.is_filtered()) {
      EXPECT_EQ(own.verdict, other.verdict) << name;
      EXPECT_EQ(own.message, other.message) << name;
    }
  }
}

TEST(Session, CancelledRowsAreInterrupted) {
  const SessionDumps dumps;
  RunContext context;
  const Session session = or_throw(Session::open(dumps.spec(), context));
  context.cancelled = true;
  const result::Run run = or_throw(compare_all(session, context));
  EXPECT_TRUE(run.interrupted);
  for (const Row& row : run.rows) EXPECT_EQ(row.verdict, Verdict::kNotCompared);
}

// A set of tensors in memory, as a model gives them for one sample.
dump::DumpSet sample_of(std::vector<dump::MemoryTensor> tensors) {
  return or_throw(dump::dump_of_tensors(std::move(tensors)));
}

dump::MemoryTensor tensor_of(const std::string& op, const std::vector<float>& values) {
  dump::MemoryTensor tensor;
  tensor.op = op;
  tensor.shape = {std::ssize(values)};
  tensor.bytes = std::as_bytes(std::span(values));
  return tensor;
}

TEST(Session, TensorsOfTheNextSampleTakeThePlaceOfThoseBefore) {
  const std::vector<float> first{1, 2, 3, 4}, second{5, 6, 7, 8}, wrong{5, 6, 7, 9};
  const auto sample = [](const std::vector<float>& values) {
    return sample_of({tensor_of("a", values), tensor_of("b", values)});
  };
  const auto spec_of = [&](const std::vector<float>& target, const std::vector<float>& golden) {
    Spec spec;
    spec.target.dump = std::make_shared<const dump::DumpSet>(sample(target));
    spec.golden.dump = std::make_shared<const dump::DumpSet>(sample(golden));
    return spec;
  };
  RunContext context;
  Session session = or_throw(Session::open(spec_of(first, first), context));
  const result::Run before = or_throw(compare_all(session, context));
  EXPECT_EQ(before.summary().pass, 2);

  ASSERT_TRUE(session.exchange_tensors(sample(wrong), sample(second)));
  const result::Run exchanged = or_throw(compare_all(session, context));
  EXPECT_EQ(exchanged.summary().fail, 2);
  const Session anew = or_throw(Session::open(spec_of(wrong, second), context));
  EXPECT_EQ(json_of(exchanged), json_of(or_throw(compare_all(anew, context))));

  const std::vector<float> longer{1, 2, 3, 4, 5};
  dump::MemoryTensor integers = tensor_of("b", first), folded = tensor_of("b", first),
                     later = tensor_of("b", first), elsewhere = tensor_of("b", first);
  integers.dtype = DType::kInt32;
  folded.shape = {2, 2};
  later.step = 1;
  elsewhere.file = "b.npy";
  dump::DumpSet with_problem = sample(second);
  with_problem.skipped.push_back({"c.npy", "the engine could not give it", {}});
  const struct {
    const char* what;
    dump::DumpSet set;
  } kRefused[] = {
      {"one is missing", sample_of({tensor_of("a", first)})},
      {"one more",
       sample_of({tensor_of("a", first), tensor_of("b", first), tensor_of("c", first)})},
      {"another name", sample_of({tensor_of("a", first), tensor_of("c", first)})},
      {"another length", sample_of({tensor_of("a", first), tensor_of("b", longer)})},
      {"another shape", sample_of({tensor_of("a", first), folded})},
      {"another type", sample_of({tensor_of("a", first), integers})},
      {"another step", sample_of({tensor_of("a", first), later})},
      {"another file", sample_of({tensor_of("a", first), elsewhere})},
      {"a problem", with_problem},
  };
  for (const auto& c : kRefused) {
    EXPECT_FALSE(session.exchange_tensors(c.set, sample(second))) << c.what;
    EXPECT_FALSE(session.exchange_tensors(sample(wrong), c.set)) << c.what;
  }
  // Nothing has changed, and files are never taken for what is in memory.
  EXPECT_EQ(json_of(or_throw(compare_all(session, context))), json_of(exchanged));
  const SessionDumps dumps;
  Session of_files = or_throw(Session::open(dumps.spec(), context));
  const dump::DumpSet &target = of_files.state().target, &golden = of_files.state().golden;
  EXPECT_FALSE(of_files.exchange_tensors(target, golden));
}

TEST(Session, ArraysInMemoryAreComparedLikeFiles) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensors target_files, golden_files;
  Spec in_memory;
  std::vector<std::vector<float>> kept;  // what the tensors borrow
  kept.reserve(200);
  const auto add = [&](SideSpec& side, Tensors& files, const std::string& name, Shape shape,
                       std::vector<float> values) {
    files.npy(name + ".npy", DType::kFloat32, shape, values);
    const auto& own = kept.emplace_back(std::move(values));
    NamedTensor tensor;
    tensor.op = name;
    tensor.shape = shape;
    tensor.bytes = std::as_bytes(std::span(own));
    side.tensors.push_back(std::move(tensor));
  };
  for (int i = 0; i < 30; ++i) {
    std::vector<float> values(24);
    for (float& value : values) value = normal(random);
    const std::string name = "op" + std::to_string(i);
    add(in_memory.golden, golden_files, name, {2, 3, 4}, values);
    if (i % 4 == 1) values[7] += 0.3F;
    if (i % 9 == 2) values[0] = -std::numeric_limits<float>::infinity();
    if (i % 6 != 3) add(in_memory.target, target_files, name, {2, 3, 4}, values);
  }
  add(in_memory.target, target_files, "reshaped", {4}, {1, 2, 3, 4});
  add(in_memory.golden, golden_files, "reshaped", {2, 2}, {1, 2, 3, 4});
  Spec in_files;
  in_files.target.path = target_files.path().string();
  in_files.golden.path = golden_files.path().string();

  RunContext context;
  const result::Run memory =
      or_throw(compare_all(or_throw(Session::open(in_memory, context)), context));
  const result::Run files =
      or_throw(compare_all(or_throw(Session::open(in_files, context)), context));
  ASSERT_EQ(memory.rows.size(), files.rows.size());
  ASSERT_EQ(memory.metrics, files.metrics);
  const auto summary = files.summary(), other = memory.summary();
  EXPECT_EQ(summary.pass, other.pass);
  EXPECT_GT(summary.pass, 0);
  EXPECT_GT(summary.fail, 0);
  EXPECT_EQ(memory.bytes, files.bytes);
  for (size_t i = 0; i < files.rows.size(); ++i) {
    const Row &a = memory.rows[i], &b = files.rows[i];
    SCOPED_TRACE(b.any_side().operator_name);
    EXPECT_EQ(a.any_side().operator_name, b.any_side().operator_name);
    EXPECT_EQ(a.any_side().slot, b.any_side().slot);
    if (b.verdict != Verdict::kNotCompared) {
      EXPECT_EQ(a.any_side().shape, b.any_side().shape);
    }
    EXPECT_EQ(a.verdict, b.verdict);
    EXPECT_EQ(a.reasons, b.reasons);
    EXPECT_EQ(a.message, b.message);
    ASSERT_EQ(a.values.size(), b.values.size());
    for (size_t k = 0; k < a.values.size(); ++k) {
      EXPECT_EQ(a.values[k].is_defined(), b.values[k].is_defined());
      const double x = a.values[k].number(), y = b.values[k].number();
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)));
    }
  }
}

TEST(Session, WarningsTravelInTheContext) {
  Tensors target, golden;
  target.npy("a.npy", {1});
  golden.npy("a.npy", {1});
  Spec spec;
  spec.target.path = target.path().string();
  spec.golden.path = target.path().string();
  RunContext context;
  const result::Run run = or_throw(compare_all(or_throw(Session::open(spec, context)), context));
  EXPECT_THAT(run.warnings, ElementsAre("target and golden are the same directory"));
}

// The verdict of a pair of large files, when `meanwhile` is called as soon as the first bytes of
// both have been read.
Row row_while(const Tensors& dir, bool map, const std::function<void()>& meanwhile) {
  Spec spec;
  spec.target.path = dir.path() / "target.npy";
  spec.golden.path = dir.path() / "golden.npy";
  spec.map = map;
  RunContext context;
  context.jobs = 1;
  context.progress = [&, is_first = true](int64_t) mutable {
    if (std::exchange(is_first, false)) meanwhile();
  };
  const Session session = or_throw(Session::open(spec, context));
  return or_throw(compare_all(session, context)).rows.at(0);
}

TEST(Session, AFileThatIsWrittenToWhileItIsReadIsDamaged) {
  const Tensors dir;
  const std::vector<float> values(400000, 1.0F);
  for (const char* side : {"target.npy", "golden.npy"}) {
    dir.npy("target.npy", values);
    dir.npy("golden.npy", values);
    // The clock that stamps files goes in steps of some milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(row_while(dir, true, [] {}).verdict, Verdict::kPass);
    const Row row = row_while(dir, true, [&] {
      std::fstream file(dir.path() / side, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(200).write("\0\0\x80\x3f", 4);  // the same number again
    });
    EXPECT_EQ(row.verdict, Verdict::kNotCompared);
    EXPECT_THAT(row.reasons, ElementsAre("damaged_file"));
    EXPECT_THAT(row.message, HasSubstr("the file changed while it was read"));
    EXPECT_THAT(row.message, HasSubstr(side));
  }
}

// The kernel knows what is mapped.
TEST(Session, MapsLargeFilesUnlessTheHostSaysNo) {
  const Tensors dir;
  const std::vector<float> values(400000, 1.0F);
  const std::string target = dir.npy("target.npy", values);
  dir.npy("golden.npy", values);
  for (const bool map : {true, false}) {
    bool is_mapped = !map;
    const Row row = row_while(dir, map, [&] {
      std::ifstream maps("/proc/self/maps");
      const std::string text{std::istreambuf_iterator<char>(maps), {}};
      is_mapped = text.find(target) != std::string::npos;
    });
    EXPECT_EQ(is_mapped, map);
    EXPECT_EQ(row.verdict, Verdict::kPass);
  }
}

// One tensor in memory against another.
Spec tolerance_spec(const std::vector<float>& target, const std::vector<float>& golden) {
  Spec spec;
  for (const auto& [side, values] : {std::pair{&spec.target, &target}, {&spec.golden, &golden}}) {
    const auto kept = std::make_shared<const std::vector<float>>(*values);
    NamedTensor tensor;
    tensor.op = "y";
    tensor.shape = {std::ssize(*kept)};
    tensor.bytes = std::as_bytes(std::span(*kept));
    tensor.owner = kept;
    side->tensors.push_back(std::move(tensor));
  }
  return spec;
}

TEST(Tolerance, JudgesEveryElement) {
  RunContext context;
  const std::vector<float> golden{1, 2, 4, 100}, near{1.009F, 1.99F, 4, 100.9F};
  const auto compared = [&](const Spec& spec) {
    return or_throw(compare_all(or_throw(Session::open(spec, context)), context));
  };
  Spec spec = tolerance_spec(near, golden);
  spec.atol = 0.01;
  spec.rtol = 0.01;
  result::Run run = compared(spec);
  EXPECT_EQ(run.rows[0].verdict, Verdict::kPass) << run.rows[0].message;
  EXPECT_EQ(run.profile, "tolerance");
  EXPECT_THAT(json_of(run), HasSubstr("\"atol\": 0.01"));
  spec.rtol = 0.001;  // 100.9 is 0.9 off, 0.11 are allowed
  run = compared(spec);
  EXPECT_THAT(run.rows[0].reasons, ElementsAre("limit:close_share"));
  EXPECT_THAT(run.rows[0].message, HasSubstr("1 of 4 elements"));
  // Beside a profile, both must hold.
  spec.rtol = 0.01;
  spec.profile = "exact";
  run = compared(spec);
  EXPECT_EQ(run.rows[0].verdict, Verdict::kFail);
}

// The same values in a type of 16 bits that holds them exactly.
void narrow(NamedTensor& tensor, DType type) {
  if (type == DType::kFloat32) return;
  std::vector<uint16_t> values;
  for (size_t i = 0; i < tensor.bytes.size(); i += 4) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i, 4);
    const uint32_t half = (bits >> 13) - ((127 - 15) << 10);  // of a positive normal number
    values.push_back(static_cast<uint16_t>(type == DType::kFloat16 ? half : bits >> 16));
  }
  const auto kept = std::make_shared<const std::vector<uint16_t>>(std::move(values));
  tensor.dtype = type;
  tensor.bytes = std::as_bytes(std::span(*kept));
  tensor.owner = kept;
}

// A profile that has limits of their own for some types still leaves the tolerance to all of them.
TEST(Tolerance, HoldsForEveryTypeBesideAProfile) {
  RunContext context;
  std::vector<float> golden(1000), near;
  for (size_t i = 0; i < golden.size(); ++i) golden[i] = 0.5F + static_cast<float>(i % 97) / 64;
  near = golden;
  near[7] += 1.0F / 64;  // within every profile, beyond the tolerance
  for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    Spec spec = tolerance_spec(near, golden);
    for (auto* side : {&spec.target, &spec.golden}) narrow(side->tensors[0], type);
    spec.profile = "standard";
    spec.atol = 0.001;
    const auto run = or_throw(compare_all(or_throw(Session::open(spec, context)), context));
    EXPECT_EQ(run.rows[0].verdict, Verdict::kFail) << static_cast<int>(type);
    EXPECT_THAT(run.rows[0].reasons, Contains("limit:close_share")) << static_cast<int>(type);
  }
}

TEST(Tolerance, NonFiniteValuesMustAgree) {
  RunContext context;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Spec spec = tolerance_spec({1, nan}, {1, 2});
  spec.atol = 1e9;
  auto run = or_throw(compare_all(or_throw(Session::open(spec, context)), context));
  EXPECT_EQ(run.rows[0].verdict, Verdict::kFail);
  EXPECT_EQ(run.rows[0].reasons.front(), "nan_only_in_target");
}

// Anything would hold it.
TEST(Tolerance, LargerThanTheSignalSaysNothing) {
  RunContext context;
  Spec spec = tolerance_spec({0, 0, 0}, {1, 2, 3});
  spec.atol = 100000;
  auto run = or_throw(compare_all(or_throw(Session::open(spec, context)), context));
  EXPECT_EQ(run.rows[0].verdict, Verdict::kInconclusive);
  EXPECT_THAT(run.rows[0].reasons, ElementsAre("undefined:close_share"));
}

TEST(Tolerance, LargerThanTheSignalIsSuspiciousBesideAProfile) {
  RunContext context;
  Spec spec = tolerance_spec({1, 2, 3.0001F}, {1, 2, 3});
  spec.profile = "standard";
  spec.atol = 100000;
  auto run = or_throw(compare_all(or_throw(Session::open(spec, context)), context));
  EXPECT_EQ(run.rows[0].verdict, Verdict::kPass);
  EXPECT_TRUE(run.rows[0].suspicious);
  EXPECT_THAT(run.rows[0].reasons, ElementsAre("warning:close_share"));
}

TEST(Tolerance, IsANumberFromZeroOn) {
  RunContext context;
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    Spec spec = tolerance_spec({1}, {1});
    spec.rtol = bad;
    EXPECT_FALSE(Session::open(spec, context)) << bad;
  }
}

}  // namespace
}  // namespace plumb
