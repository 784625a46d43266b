// SPDX-License-Identifier: Apache-2.0
#include "compare/gather.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "compare/tensors.h"
#include "metrics/bulk_sums.h"
#include "metrics/centred_sums.h"
#include "metrics/kl_sums.h"

namespace plumb::compare {
namespace {

using dump::EntryReader;
using metrics::kPairPiece;
using metrics::PairFacts;
using metrics::Request;
using testing::HasSubstr;

constexpr int64_t kChunk = kPairPiece * kPiecesPerChunk;

Request request_for(const std::vector<std::string_view>& names, bool exactly = false) {
  std::vector<const metrics::Metric*> wanted;
  for (std::string_view name : names) wanted.push_back(metrics::metric_by_name(name));
  return metrics::request_for(wanted, exactly ? wanted : std::vector<const metrics::Metric*>());
}
const Request kAll = [] {
  std::vector<std::string_view> names;
  for (const metrics::Metric& metric : metrics::metrics()) names.push_back(metric.name);
  return request_for(names, true);
}();

PairFacts facts_of(EntryReader& target, EntryReader& golden, const Request& request = kAll) {
  auto facts = or_throw(gather(target, golden, request, RunContext{}));
  if (!facts) throw std::runtime_error("cancelled");
  return *facts;
}
PairFacts facts_of(const std::filesystem::path& target, const std::filesystem::path& golden,
                   const Request& request = kAll) {
  EntryReader t = open_tensor(target), g = open_tensor(golden);
  return facts_of(t, g, request);
}

// -1 if it was not computed.
double value_of(const PairFacts& facts, std::string_view name) {
  const metrics::Value value = metrics::metric_by_name(name)->finish(facts);
  return value.is_defined() ? value.number() : -1;
}

// Every bit of the facts, as text.
std::string exact_text_of(const PairFacts& facts) {
  const metrics::PairSums& s = facts.sums;
  std::string text = fmt::format("{} {} {} {}\n", name_of(facts.target_dtype),
                                 name_of(facts.golden_dtype), s.has_relative, s.exponent);
  text += fmt::format("{} {}\n", s.has_shares, s.first_beyond.value_or(-1));
  for (int64_t n :
       {s.count, s.finite, s.same_nan, s.same_inf, s.nan_only_in_target, s.nan_only_in_golden,
        s.inf_mismatch, s.off_at_zero, s.equal, s.t_zeros, s.g_zeros, s.t_nan, s.t_inf, s.g_nan,
        s.g_inf, s.rel_below_1e3, s.rel_below_5e3})
    text += fmt::format("{} ", n);
  for (bool b : {s.t_fits_half, s.g_fits_half, s.t_fits_bfloat16, s.g_fits_bfloat16})
    text += fmt::format("{} ", b);
  for (double x : {s.t_sum, s.g_sum, s.tt, s.gg, s.tg, s.dd, s.abs_sum, s.abs_max, s.rel_max,
                   s.rel_sum, s.t_min, s.t_max, s.g_min, s.g_max})
    text += fmt::format("{:a} ", x);
  if (const auto* c = facts.find<metrics::CentredSums>())
    text += fmt::format("\ncentred {:a} {:a} {:a} {:a} {:a} {:a} {:a}", c->t_mean, c->g_mean,
                        c->t_sum, c->g_sum, c->tt, c->gg, c->tg);
  if (const auto* k = facts.find<metrics::KlSums>())
    text += fmt::format("\nkl {:a} {:a} {:a}", k->t_sum, k->g_sum, k->log_sum);
  for (const metrics::Metric& metric : metrics::metrics())
    if (facts.second_pass.is_needed() && !metric.is_free())
      text += fmt::format("\n{} {:a}", metric.name, value_of(facts, metric.name));
  return text;
}

template <class T>
struct PairOf {
  DType dtype;
  std::vector<T> target, golden;
  std::filesystem::path save(const Tensors& dir, const std::string& name, bool is_target) const {
    const std::vector<T>& values = is_target ? target : golden;
    return dir.npy(name, dtype, {std::ssize(values)}, values);
  }
};

PairOf<uint16_t> halves(int64_t count) {
  std::mt19937 engine(static_cast<unsigned>(count));
  PairOf<uint16_t> made{DType::kFloat16, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint16_t>(engine() & 0xBBFF);  // below 2
    made.golden.push_back(bits);
    made.target.push_back(static_cast<uint16_t>(bits ^ (engine() % 16 == 0)));
  }
  if (count > 3) made.target[3] = 0x7C00;  // infinite
  return made;
}

// What one thread finds in one go, with the scalar reference.
PairFacts plain_facts(const metrics::PairPiece& whole) {
  PairFacts facts;
  facts.has_slices = true;  // of which a tensor with one axis has none
  facts.target_dtype = whole.target_dtype;
  facts.golden_dtype = whole.golden_dtype;
  const int64_t t_item = bits_of(whole.target_dtype) / 8, g_item = bits_of(whole.golden_dtype) / 8;
  for (int64_t first = 0; first < whole.count; first += kPairPiece) {
    facts.sums.append(metrics::pair_sums_scalar(
        {whole.target_dtype, whole.target + first * t_item, whole.golden_dtype,
         whole.golden + first * g_item, std::min(kPairPiece, whole.count - first)},
        {.relative = true, .shares = true}));
  }
  facts.second_pass = {kAll, facts};
  facts.second_pass.add(whole, whole);
  return facts;
}

TEST(Gather, ChunkBordersLoseNothing) {
  const Tensors dir;
  for (int64_t count : {int64_t{1}, kPairPiece - 1, kPairPiece, kPairPiece + 1, kChunk - 1, kChunk,
                        kChunk + 1, 2 * kChunk + 1}) {
    SCOPED_TRACE(count);
    const PairOf<uint16_t> pair = halves(count);
    const auto t = pair.save(dir, "t.npy", true), g = pair.save(dir, "g.npy", false);
    const PairFacts found = facts_of(t, g);
    const PairFacts plain =
        plain_facts({pair.dtype, reinterpret_cast<const std::byte*>(pair.target.data()), pair.dtype,
                     reinterpret_cast<const std::byte*>(pair.golden.data()), count});
    const auto first_lines = [](PairFacts facts) {
      facts.second_pass = {};
      return exact_text_of(facts);
    };
    EXPECT_EQ(first_lines(found), first_lines(plain));
    for (const metrics::Metric& metric : metrics::metrics()) {
      const double value = value_of(found, metric.name), expected = value_of(plain, metric.name);
      if (metric.print == metrics::Print::kNumber && std::isfinite(expected))
        EXPECT_NEAR(value, expected, 1e-12) << metric.name;
      else
        EXPECT_EQ(value, expected) << metric.name;
    }
    const auto *k = found.find<metrics::KlSums>(), *p = plain.find<metrics::KlSums>();
    EXPECT_NEAR(k->t_sum, p->t_sum, 1e-12 * p->t_sum);
  }
}

// Two windows of chunks. All zeros but at the borders: the sums are known without computing them.
TEST(Gather, WindowBordersLoseNothing) {
  const Tensors dir;
  const int64_t window = kWindow * kChunk, count = window + 1;
  std::filesystem::path paths[2];
  for (const bool is_target : {true, false}) {
    auto& path = paths[is_target ? 0 : 1];
    const std::string header = io::npy_header(DType::kInt8, {count});
    path = dir.write(is_target ? "t.npy" : "g.npy", header);
    std::filesystem::resize_file(path, header.size() + static_cast<size_t>(count));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (int64_t at : {int64_t{0}, kChunk, window - 1, window}) {
      file.seekp(static_cast<int64_t>(header.size()) + at);
      file.put(static_cast<char>(is_target ? 3 : at == window ? 5 : 3));
    }
  }
  const PairFacts facts = facts_of(paths[0], paths[1], request_for({"max_ulp"}));
  EXPECT_EQ(facts.sums.count, count);
  EXPECT_EQ(facts.sums.equal, count - 1);
  EXPECT_EQ(facts.sums.t_sum, 12);
  EXPECT_EQ(facts.sums.g_sum, 14);
  EXPECT_EQ(facts.sums.dd, 4);
  EXPECT_EQ(facts.sums.g_max, 5);
  EXPECT_EQ(value_of(facts, "max_ulp"), 2);
}

// A pair for each kind of second pass: far from zero, float64 whose squares overflow, complex.
using Paths = std::vector<std::pair<std::filesystem::path, std::filesystem::path>>;
Paths pairs(const Tensors& dir) {
  Paths made;
  const auto add = [&](const auto& pair) {
    const std::string n = std::to_string(made.size());
    made.emplace_back(pair.save(dir, "t" + n + ".npy", true),
                      pair.save(dir, "g" + n + ".npy", false));
  };
  const int64_t count = kChunk + 17;
  add(halves(kChunk + 3));
  std::mt19937_64 engine(5);
  PairOf<float> far{DType::kFloat32, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    far.golden.push_back(10000 + static_cast<float>(engine() % 1000) / 1024);
    far.target.push_back(far.golden.back() + static_cast<float>(engine() % 8) / 1024);
  }
  add(far);
  PairOf<float> wrong{DType::kFloat32, {}, {}};  // which shows from the start
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    wrong.golden.push_back(normal(engine));
    wrong.target.push_back(wrong.golden.back() * (1 + 0.3F * normal(engine)));
  }
  add(wrong);
  PairOf<double> huge{DType::kFloat64, {}, {}};
  for (int64_t i = 0; i < kChunk + 3; ++i) {
    huge.golden.push_back(std::ldexp(static_cast<double>(engine() % 1000) - 500, 900));
    huge.target.push_back(huge.golden.back() * (1 + static_cast<double>(engine() % 7) * 0x1p-40));
  }
  add(huge);
  PairOf<float> complex{DType::kComplex64, {}, {}};
  for (int64_t i = 0; i < 2 * (kChunk + 9); ++i) {
    complex.golden.push_back(static_cast<float>(engine() % 2001) - 1000);
    complex.target.push_back(complex.golden.back() + static_cast<float>(engine() % 3));
  }
  const Shape shape{kChunk + 9};
  made.emplace_back(dir.npy("tc.npy", complex.dtype, shape, complex.target),
                    dir.npy("gc.npy", complex.dtype, shape, complex.golden));
  return made;
}

std::string bits_of_all(const Paths& paths) {
  std::string text;
  for (const auto& [t, g] : paths) text += exact_text_of(facts_of(t, g)) + "\n";
  return text;
}

// Which kernels run is settled once for a process: another one of this very test runs the scalar
// ones, with a single thread.
TEST(Gather, ThreadsAndKernelsChangeNoBit) {
  const Tensors dir;
  const Paths paths = pairs(dir);
  if (const char* result = std::getenv("PLUMB_TEST_RESULT")) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    std::ofstream(result) << bits_of_all(paths);
    return;
  }
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 5);
  const std::string bits = bits_of_all(paths);
  EXPECT_THAT(bits, HasSubstr("centred"));
  EXPECT_THAT(bits, HasSubstr("float64 float64 true 90"));  // an exponent
  const auto own = std::filesystem::read_symlink("/proc/self/exe"), result = dir.path() / "result";
  const std::string command = fmt::format(
      "PLUMB_SIMD=scalar PLUMB_TEST_RESULT='{}' '{}' "
      "--gtest_filter=Gather.ThreadsAndKernelsChangeNoBit >/dev/null",
      result.string(), own.string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(result);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), bits);
}

// Python: (np.arange(1000) * 0.5 - 250).astype("f4"), see tests/data/compare/make_deflated.py
TEST(Gather, ChecksumIsThatOfZlib) {
  const Tensors dir;
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i) * 0.5f - 250);
  EntryReader tensor = open_tensor(dir.npy("halves.npy", values));
  EXPECT_EQ(or_throw(checksum(tensor, RunContext{})), 0x4dc5c9f4u);
  EntryReader empty = open_tensor(dir.npy("empty.npy", {}));
  EXPECT_EQ(or_throw(checksum(empty, RunContext{})), 0u);
}

// Deflated data has one reader only, which starts over for each pass.
TEST(Gather, DeflatedArchive) {
  const Tensors dir;
  const int64_t count = 2 * kChunk + 5;
  std::vector<int8_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int8_t>(i % 251 - 125 + (i % 1000 == 0)));
  const PairFacts facts =
      facts_of(sample("compare/deflated.npz"), dir.npy("g.npy", DType::kInt8, {count}, values));
  // numpy, in int64: t = np.arange(n) % 251 - 125; g = t.copy(); g[::1000] += 1
  EXPECT_EQ(facts.sums.count, 4194309);
  EXPECT_EQ(facts.sums.tt, 22020255174);
  EXPECT_EQ(facts.sums.gg, 22020261365);
  EXPECT_EQ(facts.sums.tg, 22020256172);
  EXPECT_EQ(facts.sums.t_sum, -7524);
  EXPECT_EQ(facts.sums.g_sum, -3329);
  EXPECT_EQ(facts.sums.dd, 4195);
  EXPECT_EQ(facts.sums.equal, 4190114);
  EXPECT_EQ(value_of(facts, "target_crc32"), 0xb9b902e6u);
  EXPECT_EQ(value_of(facts, "max_ulp"), 1);
  EXPECT_GT(value_of(facts, "kl"), 0);
}

TEST(Gather, DeviceLayoutsAreReadInPlainOrder) {
  const auto conv = sample("ascend-dump/dumps/Conv2D.conv1.5.7.1700000000000003");
  const std::string expect =
      "ascend-dump/expect/03-conv-5hd/f-NCHW/Conv2D.conv1.5.7.1700000000000003";
  struct Case {
    const char *slot, *file;
  };
  for (const Case& c : {Case{"input:0", ".input.0.1x20x3x4.npy"},
                        {"input:1", ".input.1.8x20x3x3.npy"},
                        {"output:0", ".output.0.1x8x3x4.npy"}}) {
    SCOPED_TRACE(c.slot);
    EntryReader target = open_tensor(conv, c.slot), golden = open_tensor(sample(expect + c.file));
    const PairFacts facts = facts_of(target, golden);
    EXPECT_EQ(facts.sums.count, *element_count(golden.reader().shape()));
    EXPECT_EQ(facts.sums.equal, facts.sums.count);
    EXPECT_GT(facts.sums.tt, 0);
    EXPECT_EQ(value_of(facts, "target_crc32"), value_of(facts, "golden_crc32"));
  }
}

// Slices of an operator in several files, joined in memory; the checksum reads them once more.
TEST(Gather, JoinedSlices) {
  const dump::DumpSet set = or_throw(dump::open_dump(sample("dump/ffts_blocked")));
  const auto joined = std::find_if(set.entries.begin(), set.entries.end(),
                                   [](const dump::Entry& e) { return e.parts.size() > 1; });
  ASSERT_NE(joined, set.entries.end());
  EntryReader target = or_throw(EntryReader::open(set, *joined));
  EntryReader golden = open_tensor(sample("dump/ffts_blocked/expected.npy"));
  const PairFacts facts = facts_of(target, golden);
  EXPECT_GT(facts.sums.count, 0);
  EXPECT_EQ(facts.sums.equal, facts.sums.count);
  EXPECT_EQ(value_of(facts, "target_crc32"), value_of(facts, "golden_crc32"));
}

// The first, although later chunks may be done before its own.
TEST(Gather, FirstElementBeyondTheLimit) {
  const Tensors dir;
  const int64_t size = 3 * kChunk + 5;
  const std::vector<int8_t> golden(static_cast<size_t>(size), 1);
  std::vector<int8_t> target = golden;
  const auto g = dir.npy("g.npy", DType::kInt8, {size}, golden);
  const auto found = [&] {
    const auto t = dir.npy("t.npy", DType::kInt8, {size}, target);
    return facts_of(t, g, request_for({"rel_below_1e3"})).sums.first_beyond;
  };
  EXPECT_EQ(found(), std::nullopt);
  for (int64_t at : {size - 1, 2 * kChunk, 2 * kChunk - 1, int64_t{7}}) {
    target[static_cast<size_t>(at)] = 2;
    EXPECT_EQ(found(), at);
  }
}

TEST(Gather, OnlyWhatIsWanted) {
  const Tensors dir;
  const auto t = dir.npy("t.npy", {1, 2, 3}), g = dir.npy("g.npy", {1, 2, 4});
  const PairFacts facts = facts_of(t, g, {});
  EXPECT_FALSE(facts.second_pass.is_needed());
  EXPECT_FALSE(facts.sums.has_relative);
  // A difference the sums bound is not worth a pass, unless its number is wanted.
  const auto near = dir.npy("near.npy", {1, 2, 4.00001f});
  const Request judged = request_for({"bulk_rel_euclid"});
  EXPECT_FALSE(facts_of(near, g, judged).find<metrics::BulkSums>());
  EXPECT_TRUE(facts_of(near, g, request_for({"off_share"}, true)).find<metrics::BulkSums>());
  EXPECT_TRUE(facts_of(t, g, judged).find<metrics::BulkSums>());
}

// Elements at the limit on both sides of every border, and some that only a second reading finds.
TEST(Gather, CountsValuesAtTheLimit) {
  const Tensors dir;
  const int64_t count = 2 * kChunk + 1;
  std::vector<uint16_t> target(static_cast<size_t>(count), 0x3C00), golden = target;
  for (int64_t at : {int64_t{0}, kPairPiece - 1, kPairPiece, kChunk - 1, kChunk, count - 1})
    target[static_cast<size_t>(at)] = 0xFBFF;  // -65504
  target[7] = 0x7C00;                          // infinite
  target[8] = 0x7E00;                          // NaN
  golden[9] = 0x7E00, golden[11] = 0x7BFF;     // NaN, 65504
  target[9] = 0x7BFF;                          // seen by no extreme: golden is NaN there
  const auto t = dir.npy("t.npy", DType::kFloat16, {count}, target);
  const auto g = dir.npy("g.npy", DType::kFloat16, {count}, golden);
  const PairFacts facts = facts_of(t, g, request_for({"target_at_limit"}));
  EXPECT_EQ(value_of(facts, "target_at_limit"), 8);
  EXPECT_EQ(value_of(facts, "golden_at_limit"), 1);
  EXPECT_EQ(value_of(facts_of(t, g, {}), "target_at_limit"), -1);
}

// int4 is read as int8, but ends at -8 and 7. Low nibble first.
TEST(Gather, LimitsAreThoseOfTheStoredType) {
  const Tensors dir;
  const auto open = [&](const std::string& name, std::string_view bytes) {
    const auto path = dir.write(name, bytes);
    io::ReadHints hints;
    hints.dtype = DType::kInt4;
    const dump::DumpSet set = or_throw(dump::open_dump(path, hints));
    return or_throw(EntryReader::open(set, set.entries.at(0), hints));
  };
  EntryReader target = open("t.bin", "\x78\x16\x87"), golden = open("g.bin", "\x11\x11\x11");
  const PairFacts facts = facts_of(target, golden, request_for({"target_at_limit"}));
  EXPECT_EQ(facts.sums.count, 6);
  EXPECT_EQ(value_of(facts, "target_at_limit"), 4);
  EXPECT_EQ(value_of(facts, "golden_at_limit"), 0);
}

TEST(Gather, EmptyTensors) {
  const Tensors dir;
  const PairFacts facts = facts_of(dir.npy("t.npy", {}), dir.npy("g.npy", {}));
  EXPECT_EQ(facts.sums.count, 0);
  EXPECT_EQ(value_of(facts, "target_crc32"), 0);
}

// The sides are told apart, and no kernel sees what it cannot take.
TEST(Gather, RefusesWhatIsNoPair) {
  const Tensors dir;
  EntryReader three = open_tensor(dir.npy("three.npy", {1, 2, 3}));
  EntryReader four = open_tensor(dir.npy("four.npy", {1, 2, 3, 4}));
  EntryReader complex = open_tensor(
      dir.npy("complex.npy", DType::kComplex64, {3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  EntryReader opaque = open_tensor(dir.opaque("opaque.npy", 3));
  for (EntryReader* other : {&four, &complex, &opaque})
    for (const bool swapped : {false, true}) {
      const auto facts = swapped ? gather(*other, three, kAll, RunContext{})
                                 : gather(three, *other, kAll, RunContext{});
      ASSERT_FALSE(facts);
      EXPECT_EQ(facts.error().what, "the tensors cannot be compared element by element");
      EXPECT_THAT(facts.error().where, HasSubstr("three.npy is float32 [3]"));
    }
}

TEST(Gather, DamageNamesTheFile) {
  const Tensors dir;
  const auto good = dir.npy("good.npy", {1, 2, 3, 4, 5, 6});
  const auto cut = dir.npy("cut.npy", {1, 2, 3, 4, 5, 6});
  std::filesystem::resize_file(cut, file_size(cut) - 4);
  const auto set = dump::open_dump(cut);
  const Error* error = !set ? &set.error() : nullptr;
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->where, HasSubstr("cut.npy"));

  // The checksum is found wrong only at the end.
  EntryReader bad = open_tensor(sample("npz/crc_deflated.npz"));
  for (const bool is_target : {true, false}) {
    EntryReader same = open_tensor(sample("npz/deflated.npz"));
    const auto facts =
        is_target ? gather(bad, same, kAll, RunContext{}) : gather(same, bad, kAll, RunContext{});
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().what, "checksum does not match");
    EXPECT_THAT(facts.error().where, HasSubstr("npz/crc_deflated.npz"));
  }
  const auto crc = checksum(bad, RunContext{});
  ASSERT_FALSE(crc);
  EXPECT_THAT(crc.error().where, HasSubstr("npz/crc_deflated.npz"));
}

// Large files are mapped: what is gone reads as zeros, which must not end up in a number. The small
// one of these is read in a single piece.
TEST(Gather, AFileThatShrinksIsAnError) {
  const Tensors dir;
  for (const int64_t count : {int64_t{100000}, 2 * kChunk + 1})
    for (const bool is_target : {true, false}) {
      SCOPED_TRACE(count);
      const std::vector<int16_t> values(static_cast<size_t>(count), 1);
      const auto good = dir.npy("good.npy", DType::kInt16, {count}, values);
      const auto shrinks = dir.npy("shrinks.npy", DType::kInt16, {count}, values);
      EntryReader whole = open_tensor(good), part = open_tensor(shrinks);
      std::filesystem::resize_file(shrinks, 8192);
      const auto facts =
          is_target ? gather(part, whole, {}, RunContext{}) : gather(whole, part, {}, RunContext{});
      ASSERT_FALSE(facts);
      EXPECT_EQ(facts.error().what, "the file changed while it was read");
      EXPECT_THAT(facts.error().where, HasSubstr("shrinks.npy"));
      const auto crc = checksum(part, RunContext{});
      ASSERT_FALSE(crc);
      EXPECT_THAT(crc.error().where, HasSubstr("shrinks.npy"));
    }
}

TEST(Gather, StopsWhenAsked) {
  const Tensors dir;
  const PairOf<uint16_t> pair = halves(2 * kChunk);
  const auto t = pair.save(dir, "t.npy", true), g = pair.save(dir, "g.npy", false);
  EntryReader target = open_tensor(t), golden = open_tensor(g);
  RunContext context;
  context.cancelled = true;
  EXPECT_FALSE(or_throw(gather(target, golden, kAll, context)).has_value());
  EXPECT_FALSE(or_throw(checksum(target, context)).has_value());

  // In the middle, too: of the first pass, and of the second ones.
  for (const int64_t pieces : {1, 5, 64}) {
    RunContext interrupted;
    std::atomic<int64_t> left = pieces;
    interrupted.progress = [&](int64_t) {
      if (--left == 0) interrupted.cancelled = true;
    };
    EXPECT_FALSE(or_throw(gather(target, golden, kAll, interrupted)).has_value());
  }
}

// Chunks that a cancelled pass never reached are not merged.
TEST(Gather, ACancelledWindowIsNotMerged) {
  const Tensors dir;
  const PairOf<uint16_t> pair = halves(kChunk + 1);
  const auto t = pair.save(dir, "t.npy", true), g = pair.save(dir, "g.npy", false);
  EntryReader target = open_tensor(t), golden = open_tensor(g);
  RunContext context;
  int merged = 0;
  const auto done = for_each_pair_piece(
      target, golden, context, false,
      [&](size_t, int64_t, const metrics::PairPiece&) { context.cancelled = true; },
      [&](size_t) { ++merged; });
  EXPECT_TRUE(done);
  EXPECT_EQ(merged, 0);
}

TEST(Gather, ProgressCountsEachByteOnce) {
  const Tensors dir;
  const PairOf<uint16_t> pair = halves(kChunk + 1);
  const auto t = pair.save(dir, "t.npy", true), g = pair.save(dir, "g.npy", false);
  EntryReader target = open_tensor(t), golden = open_tensor(g);
  RunContext context;
  std::atomic<int64_t> bytes = 0;
  context.progress = [&](int64_t more) { bytes += more; };
  ASSERT_TRUE(gather(target, golden, kAll, context));
  EXPECT_EQ(bytes, 2 * 2 * (kChunk + 1));
}

}  // namespace
}  // namespace plumb::compare
