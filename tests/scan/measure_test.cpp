// SPDX-License-Identifier: Apache-2.0
#include "scan/measure.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "scratch.h"

namespace plumb::scan {
namespace {

using metrics::kHistogramSample;

std::vector<std::byte> noise(int64_t count) {
  std::mt19937 engine(3);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = static_cast<float>(static_cast<double>(engine()) / 65536 - 30000);
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void save_npy(const std::filesystem::path& path, const std::vector<std::byte>& elements) {
  auto sink = FileSink::create(path);
  ASSERT_TRUE(sink);
  const Shape shape{std::ssize(elements) / 4};
  const io::WriteItem item{"", DType::kFloat32, shape, [&]() -> Result<io::TensorReader> {
                             return io::TensorReader::from_memory(DType::kFloat32, shape, elements);
                           }};
  ASSERT_TRUE(io::format_by_name("npy")->write(*sink, {&item, 1}));
  ASSERT_TRUE(sink->commit(false));
}

bool same_digits(const metrics::TensorStats& a, const metrics::TensorStats& b) {
  return a.count == b.count && a.zeros == b.zeros && a.min == b.min && a.max == b.max &&
         std::memcmp(&a.mean, &b.mean, sizeof a.mean) == 0 &&
         std::memcmp(&a.sum_squares, &b.sum_squares, sizeof a.sum_squares) == 0 &&
         std::memcmp(&a.squared_deviations, &b.squared_deviations, sizeof a.mean) == 0;
}

// Large enough for several tasks: the number of threads must not show in any digit.
TEST(Measure, ThreadsChangeNoDigit) {
  const Scratch scratch;
  const int64_t count = 40 * metrics::kStatsPiece + 17;
  const auto elements = noise(count);
  save_npy(scratch.path() / "noise.npy", elements);
  auto set = dump::open_dump(scratch.path() / "noise.npy");
  ASSERT_TRUE(set);
  RunContext context;
  int64_t seen = 0;
  context.progress = [&](int64_t bytes) { __atomic_fetch_add(&seen, bytes, __ATOMIC_RELAXED); };

  metrics::TensorStats expected;
  for (int64_t first = 0; first < count; first += metrics::kStatsPiece)
    expected.append(metrics::stats_of(DType::kFloat32, elements.data() + 4 * first,
                                      std::min(metrics::kStatsPiece, count - first)));
  for (size_t threads : {1, 2, 5}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    seen = 0;
    auto measured = measure(*set, set->entries[0], {}, context);
    ASSERT_TRUE(measured);
    ASSERT_TRUE(measured->has_value());
    EXPECT_TRUE(same_digits((*measured)->stats, expected)) << threads;
    EXPECT_EQ(seen, 4 * count);
    EXPECT_LE((*measured)->histogram.counted, kHistogramSample);
    EXPECT_GT((*measured)->histogram.counted, kHistogramSample / 2);
  }
}

TEST(Measure, StopsWhenAsked) {
  const Scratch scratch;
  save_npy(scratch.path() / "small.npy", noise(100));
  auto set = dump::open_dump(scratch.path() / "small.npy");
  ASSERT_TRUE(set);
  RunContext context;
  context.cancelled = true;
  auto measured = measure(*set, set->entries[0], {}, context);
  ASSERT_TRUE(measured);
  EXPECT_FALSE(measured->has_value());
}

TEST(Measure, NamesTheFileInItsErrors) {
  const Scratch scratch;
  const auto path = scratch.path() / "gone.npy";
  save_npy(path, noise(100));
  auto set = dump::open_dump(path);
  ASSERT_TRUE(set);
  std::filesystem::remove(path);
  auto measured = measure(*set, set->entries[0], {}, RunContext{});
  ASSERT_FALSE(measured);
  EXPECT_NE(measured.error().where.find("gone.npy"), std::string::npos);
}

}  // namespace
}  // namespace plumb::scan
