// SPDX-License-Identifier: Apache-2.0
#include "metrics/measure.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "base/crc32.h"

namespace plumb::metrics {
namespace {

std::vector<float> noise(int64_t count) {
  std::mt19937 engine(5);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = static_cast<float>(engine()) / 65536 - 30000;
  return values;
}

// `has_more`: it may be read by several threads.
PieceSource source_of(const std::vector<float>& values, bool has_more) {
  PieceSource source{DType::kFloat32, {std::ssize(values)}, std::ssize(values)};
  source.read = [&values](int64_t first, int64_t count) -> Result<Bytes> {
    return std::as_bytes(std::span(values))
        .subspan(static_cast<size_t>(4 * first), static_cast<size_t>(4 * count));
  };
  if (has_more)
    source.again = [&values]() -> Result<PieceSource> { return source_of(values, true); };
  return source;
}

Measured measured(const PieceSource& source, const Extras& extras) {
  auto done = measure(source, extras, RunContext{});
  if (done && *done) return std::move(**done);
  ADD_FAILURE();
  return {};
}

TEST(Measure, OneWayOfReadingIsAsGoodAsTheOther) {
  for (int64_t count : {int64_t{0}, int64_t{1}, kStatsPiece, 33 * kStatsPiece + 5}) {
    const auto values = noise(count);
    const Measured plain = measured(source_of(values, false), {});
    const Measured shared = measured(source_of(values, true), {});
    const Measured all = measured(source_of(values, true), {true, true, true});
    EXPECT_EQ(plain.stats.count, count);
    for (const Measured* other : {&shared, &all}) {
      FullStatistics statistics = full_statistics(*other);
      statistics.crc32.reset();
      EXPECT_EQ(statistics, full_statistics(plain)) << count;
    }
    EXPECT_FALSE(plain.crc32 || shared.crc32 || plain.sketch);
    EXPECT_EQ(all.crc32, crc32(0, std::as_bytes(std::span(values))));
    EXPECT_EQ(all.sketch->crc32, all.crc32);
    EXPECT_EQ(all.sketch->count, count);
    EXPECT_EQ(all.histogram.counted > 0, count > 0);
    EXPECT_EQ(plain.histogram.counted, 0);
  }
}

TEST(Measure, OnlyRealNumbersHaveASketch) {
  const auto values = noise(8);
  PieceSource source = source_of(values, false);
  source.dtype = DType::kComplex64;
  source.count = 4;
  const PieceSource floats = source;
  source.read = [&floats](int64_t first, int64_t count) {
    return floats.read(2 * first, 2 * count);
  };
  const Measured complex = measured(source, {.sketch = true});
  EXPECT_FALSE(complex.sketch);
  EXPECT_TRUE(complex.crc32);
}

TEST(Measure, ErrorsOfTheSourceComeBack) {
  const auto values = noise(40 * kStatsPiece);
  for (bool has_more : {false, true}) {
    PieceSource source = source_of(values, has_more);
    const auto fails = [](int64_t, int64_t) -> Result<Bytes> { return Error{"gone", "", ""}; };
    source.read = fails;
    if (has_more)
      source.again = [&]() -> Result<PieceSource> {
        PieceSource other = source_of(values, true);
        other.read = fails;
        return other;
      };
    auto done = measure(source, {}, RunContext{});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().what, "gone");

    PieceSource shrank = source_of(values, false);
    shrank.check = [] { return Result<void>(Error{"it shrank", "", ""}); };
    if (has_more) shrank.again = [&]() -> Result<PieceSource> { return shrank; };
    done = measure(shrank, {}, RunContext{});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().what, "it shrank");
  }
}

}  // namespace
}  // namespace plumb::metrics
