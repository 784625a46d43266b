// SPDX-License-Identifier: Apache-2.0
//
// Laws of the closer look: however a tensor is cut into parts, it is the same. What its numbers are
// is checked against numpy, see tests/compare/check_details.py.
#include "metrics/detail_sums.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "metrics/non_finite_testing.h"

namespace plumb::metrics {
namespace {

PairPiece piece_between(const std::vector<double>& target, const std::vector<double>& golden,
                        size_t first, size_t count) {
  return {DType::kFloat64, reinterpret_cast<const std::byte*>(target.data() + first),
          DType::kFloat64, reinterpret_cast<const std::byte*>(golden.data() + first),
          static_cast<int64_t>(count)};
}

Details details_of(const Shape& shape, const std::vector<double>& target,
                   const std::vector<double>& golden, const std::vector<size_t>& cuts = {}) {
  const DetailSums fresh(shape, channel_axis(shape, false));
  DetailSums all = fresh;
  size_t first = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t end = i < cuts.size() ? cuts[i] : target.size();
    DetailSums part = fresh;
    part.add(piece_between(target, golden, first, end - first), static_cast<int64_t>(first));
    all.append(part);
    first = end;
  }
  return all.finish();
}

// Sums of floating point numbers depend on how they are cut; in fixed chunks they do not.
void expect_same_details(const Details& a, const Details& b) {
  EXPECT_EQ(a.histogram, b.histogram);
  EXPECT_EQ(a.heat, b.heat);
  ASSERT_EQ(a.worst.size(), b.worst.size());
  for (size_t i = 0; i < a.worst.size(); ++i) EXPECT_EQ(a.worst[i].index, b.worst[i].index);
  ASSERT_EQ(a.channels.has_value(), b.channels.has_value());
  if (!a.channels) return;
  for (size_t i = 0; i < a.channels->error.size(); ++i)
    EXPECT_NEAR(a.channels->error[i], b.channels->error[i], 0.006 * b.channels->error[i]);
}

TEST(DetailSums, PartsChangeNothing) {
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random()) % n; };
  const Shape kShapes[] = {{1, 3, 8, 8},   {7},     {2, 5, 300}, {40, 1, 1, 50},
                           {1, 1, 33, 35}, {600, 3}};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Shape& shape = kShapes[static_cast<size_t>(round) % std::size(kShapes)];
    size_t count = 1;
    for (const int64_t length : shape) count *= static_cast<size_t>(length);
    std::vector<double> target(count), golden(count);
    for (size_t i = 0; i < count; ++i) {
      golden[i] =
          std::ldexp(static_cast<double>(below(1000)) - 500, static_cast<int>(below(30)) - 40);
      target[i] = below(3) == 0 ? golden[i] : golden[i] * (1 + 0.001 * below(9));
      if (below(200) == 0) target[i] = below(2) == 0 ? kNan : kInf;
      if (below(200) == 0) golden[i] = kNan;
    }
    std::vector<size_t> cuts;
    for (size_t at = below(50); at < count; at += 1 + below(static_cast<unsigned>(count)))
      cuts.push_back(at);
    expect_same_details(details_of(shape, target, golden, cuts), details_of(shape, target, golden));
  }
}

// Whatever comes first: zeros, tiny values, huge ones.
TEST(DetailSums, BinsFollowFromTheRangeAlone) {
  const std::vector<double> values{0, 0, 1e-300, -1e-300, 3, -2, 1e5, 5e-324, 1e300};
  for (size_t n = 1; n <= values.size(); ++n)
    for (size_t cut = 0; cut <= n; ++cut) {
      std::vector<double> some(values.begin(), values.begin() + static_cast<int64_t>(n));
      const Details whole = details_of({static_cast<int64_t>(n)}, some, some);
      std::vector<size_t> cuts;
      if (cut > 0 && cut < n) cuts.push_back(cut);
      EXPECT_EQ(details_of({static_cast<int64_t>(n)}, some, some, cuts).histogram, whole.histogram);
      int64_t counted = 0;
      for (const int64_t bin : whole.histogram->target) counted += bin;
      EXPECT_EQ(counted, static_cast<int64_t>(n));
    }
}

TEST(DetailSums, OddOnes) {
  const Details empty = details_of({0, 3}, {}, {});
  EXPECT_FALSE(empty.histogram || empty.heat || !empty.worst.empty());
  const Details nothing_finite = details_of({2}, {kNan, kInf}, {kNan, -kInf});
  EXPECT_FALSE(nothing_finite.histogram);
  ASSERT_EQ(nothing_finite.worst.size(), 1U);  // two NaN agree
  EXPECT_EQ(nothing_finite.worst[0].index, std::vector<int64_t>{1});
  EXPECT_EQ(nothing_finite.heat->largest, kInf);
  const Details zeros = details_of({3}, {0, 0, 0}, {0, 0, 0});
  EXPECT_EQ(*zeros.histogram, (PairHistogram{0, 1, {3}, {3}}));
  EXPECT_FALSE(zeros.heat);
  const Details scalar = details_of({}, {1.5}, {1});
  EXPECT_EQ(scalar.worst.at(0).target, 1.5);
  EXPECT_TRUE(scalar.worst.at(0).index.empty());
}

}  // namespace
}  // namespace plumb::metrics
