// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_sums.h"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "metrics/bulk_candidates.h"
#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

double bulk_of(const Tensor& target, const Tensor& golden) {
  BulkSums sums(sums_of(target, golden), target.dtype, golden.dtype);
  sums.add(piece_of(target, golden));
  return sums.rel_euclid();
}

Tensor floats(const std::vector<float>& values) { return tensor_of(DType::kFloat32, values); }

Tensor halves(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float x : values) bits.push_back(half_from_float(x));
  return tensor_of(DType::kFloat16, bits);
}

TEST(BulkSums, OneOutlierDoesNotMaskTheRest) {
  std::vector<float> golden = normal_values(11, 10000), target(golden.size(), 0.0f);
  golden[4321] = target[4321] = 1e4f;
  EXPECT_LT(metric_by_name("rel_euclid")->finish(facts_of(floats(target), floats(golden))).number(),
            0.011);
  EXPECT_NEAR(bulk_of(floats(target), floats(golden)), 1, 0.01);
  EXPECT_NEAR(bulk_of(halves(target), halves(golden)), 1, 0.01);
  EXPECT_NEAR(bulk_of(halves(target), floats(golden)), 1, 0.01);
  // The same with the outlier among negative values, and with noise instead of zeros.
  golden[4321] = target[4321] = -1e4f;
  EXPECT_NEAR(bulk_of(floats(target), floats(golden)), 1, 0.01);
  std::vector<float> noise = normal_values(12, 10000);
  noise[4321] = -1e4f;
  EXPECT_NEAR(bulk_of(floats(noise), floats(golden)), std::sqrt(2.0), 0.05);
}

// Rows of 1000 classes; all but a few probabilities lie below what float16 holds well.
TEST(BulkSums, FlushedTailsOfSoftmaxAreNoDifference) {
  for (const double temperature : {3.0, 6.0, 10.0}) {
    SCOPED_TRACE(temperature);
    std::vector<float> golden;
    Random random{21};
    for (int row = 0; row < 10; ++row) {
      std::vector<double> powers;
      double sum = 0;
      for (int i = 0; i < 1000; ++i) {
        powers.push_back(std::exp(temperature * random.normal()));
        sum += powers.back();
      }
      for (const double power : powers) golden.push_back(static_cast<float>(power / sum));
    }
    std::vector<float> target;
    for (const float x : golden) target.push_back(x < 0x1p-14f ? 0.0f : x);
    EXPECT_LE(bulk_of(halves(target), floats(golden)), 0.1);
    EXPECT_LE(bulk_of(halves(target), halves(golden)), 0.1);
    // As dump tools widen it.
    std::vector<float> widened;
    for (const float x : target) widened.push_back(float_from_half(half_from_float(x)));
    EXPECT_LE(bulk_of(floats(widened), floats(golden)), 0.1);
    // Between float32 and float32 it is one.
    target[0] = 0.1f;  // fits no smaller type
    EXPECT_GT(bulk_of(floats(target), floats(golden)), 0.1);
  }
}

TEST(BulkSums, ZerosShowNoSmallerType) {
  std::vector<float> golden = normal_values(5, 1000);
  for (float& x : golden) x *= 1e-6f;
  EXPECT_NEAR(bulk_of(floats(std::vector<float>(1000)), floats(golden)), 1, 1e-6);
}

// x + a + b - a - b in float32, where x is zero or not: what golden has instead of zeros is what
// its operands left, and large values show errors of the same size.
TEST(BulkSums, WhatOperandsLeaveBehindIsNoValue) {
  std::vector<float> exact = normal_values(3, 20000), golden;
  Random random{4};
  for (size_t i = 0; i < exact.size(); ++i) {
    if (i % 5 < 3) exact[i] = 0;
    const auto a = static_cast<float>(700 * random.uniform());
    const auto b = static_cast<float>(700 * random.uniform());
    golden.push_back(exact[i] + a + b - a - b);
  }
  const auto share = [&](const std::vector<float>& target) {
    BulkSums sums(sums_of(floats(target), floats(golden)), DType::kFloat32, DType::kFloat32);
    sums.add(piece_of(floats(target), floats(golden)));
    return static_cast<double>(sums.off_by_half()) / static_cast<double>(golden.size());
  };
  EXPECT_LT(share(exact), 0.05);
  EXPECT_LT(bulk_of(floats(exact), floats(golden)), 0.01);
  // Small values that are lost, be they a thousand times as large as the errors of the others.
  std::vector<float> lost = exact;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (i % 5 >= 3) continue;
    golden[i] = 0.05F * (1 + static_cast<float>(i % 7));
    lost[i] = 0;
  }
  EXPECT_GT(share(lost), 0.5);
}

// Errors that grow with the values say nothing about small ones.
TEST(BulkSums, RelativeErrorsAreNotCommon) {
  const std::vector<float> values = normal_values(8, 20000), noise = normal_values(9, 20000);
  for (const float size : {1e-4F, 1e-3F}) {
    std::vector<float> target, golden;
    for (size_t i = 0; i < values.size(); ++i) {
      golden.push_back(i % 2 == 0 ? 200 + 20 * values[i] : 0.02F * values[i]);
      target.push_back(i % 2 == 0 ? golden[i] * (1 + size * noise[i]) : 0);
    }
    BulkSums sums(sums_of(floats(target), floats(golden)), DType::kFloat32, DType::kFloat32);
    sums.add(piece_of(floats(target), floats(golden)));
    EXPECT_EQ(sums.common_error(), 0);
    EXPECT_GT(sums.off_by_half(), 9000);
  }
}

TEST(BulkSums, PiecesAddUp) {
  const std::vector<float> g = normal_values(1, 5000), t = normal_values(2, 5000);
  const Tensor target = floats(t), golden = floats(g);
  const PairSums first = sums_of(target, golden);
  const auto sums = [&] { return BulkSums(first, target.dtype, golden.dtype); };
  BulkSums whole = sums(), front = sums(), back = sums();
  PairPiece piece = piece_of(target, golden);
  whole.add(piece);
  piece.count = 999;
  front.add(piece);
  piece.target += 4 * 999;
  piece.golden += 4 * 999;
  piece.count = 5000 - 999;
  back.add(piece);
  front.append(back);
  EXPECT_NEAR(front.rel_euclid(), whole.rel_euclid(), 1e-13);
}

// What is put aside during the first pass, if that was foreseen, gives the same bits as another
// reading, or says that it does not.
void expect_same_by_candidates(const Tensor& target, const Tensor& golden,
                               const std::vector<float>& values, const BulkSums& all,
                               const BulkSums& by_reading) {
  const std::vector<double> drawn(values.begin(), values.end());
  PairFacts look;
  look.target_dtype = target.dtype;
  look.golden_dtype = golden.dtype;
  PairPiece piece = piece_of(target, golden);
  const int64_t count = piece.count;
  piece.count = std::min<int64_t>(count, 1024);
  look.sums = pair_sums(piece, {});
  piece.count = count;
  auto candidates = BulkCandidates::foreseen(look, drawn);
  if (!candidates) return;
  pair_sums(piece, {}, nullptr, 0, &*candidates);
  BulkSums settled(sums_of(target, golden), target.dtype, golden.dtype);
  settled.expect(drawn);
  if (settled.settle({&*candidates, 1})) {
    EXPECT_EQ(settled.rel_euclid(), by_reading.rel_euclid());
    EXPECT_EQ(settled.off_by_half(), by_reading.off_by_half());
  } else {
    settled.restart();
    settled.add(piece);
    EXPECT_EQ(settled.rel_euclid(), all.rel_euclid());
  }
}

// Far more pairs than foreseen are too many to keep, and values elsewhere may be larger.
TEST(BulkSums, CandidatesKnowWhatTheyLack) {
  const std::vector<float> g = normal_values(1, 40000), noise = normal_values(2, 40000);
  std::vector<float> t;
  for (size_t i = 0; i < g.size(); ++i) t.push_back(g[i] * (1 + 0.3F * noise[i]));
  PairFacts look;
  look.sums = pair_sums(
      piece_of(floats({t.begin(), t.begin() + 1024}), floats({g.begin(), g.begin() + 1024})), {});
  ASSERT_TRUE(BulkCandidates::may_be_needed(look.sums));
  const std::vector<double> drawn(g.begin(), g.begin() + 4096);
  auto candidates = BulkCandidates::foreseen(look, drawn);
  ASSERT_TRUE(candidates);
  auto too_many = candidates;
  for (size_t i = 0; i + 1000 <= g.size(); i += 1000) candidates->add(&t[i], &g[i], 1000);
  for (size_t i = 0; i + 1000 <= g.size(); i += 1000) too_many->add(&g[i], &t[i], 1000);
  const BulkScale scale = bulk_scale(look.sums, DType::kFloat32, DType::kFloat32);
  const uint32_t end = *expected_end_of_bulk(drawn, 40000);
  EXPECT_TRUE(candidates->hold(bulk_filter(scale, end)));
  EXPECT_TRUE(candidates->hold(bulk_filter(scale, end + 1)));
  EXPECT_FALSE(candidates->hold(bulk_filter(scale, end - 1)));
  BulkScale coarser = scale;
  coarser.relative = 0x1p-10;
  EXPECT_FALSE(candidates->hold(bulk_filter(coarser, end)));
  EXPECT_NEAR(static_cast<double>(candidates->target().size()), 0.02 * 40000, 0.02 * 40000);
  const std::vector<float> large(1000, 9.0F);
  for (int i = 0; i < 20; ++i) too_many->add(large.data(), large.data(), 1000);
  EXPECT_FALSE(too_many->hold(bulk_filter(scale, end)));
  EXPECT_TRUE(too_many->target().empty());
  // Pairs that agree are not foreseen.
  look.sums = pair_sums(piece_of(floats(g), floats(g)), {});
  EXPECT_FALSE(BulkCandidates::foreseen(look, drawn));
}

// Looking at golden's values first saves most of the work, and changes nothing.
TEST(BulkSums, ExpectationsChangeNothing) {
  constexpr float kFloatInf = std::numeric_limits<float>::infinity();
  struct Case {
    const char* name;
    float (*golden)(float x, size_t i);
    float (*target)(float g, float noise, size_t i);
  };
  const auto same = [](float x, size_t) { return x; };
  const auto noisy = [](float g, float noise, size_t) { return g * (1 + 0.3F * noise); };
  const Case cases[] = {
      {"noise", same, noisy},
      {"unlike", same, [](float, float noise, size_t) { return noise; }},
      {"zeros", [](float x, size_t) { return std::max(x, 0.0F); },
       [](float, float, size_t) { return 0.0F; }},
      {"sparse", [](float x, size_t i) { return i % 200 == 0 ? x : 0.0F; }, noisy},
      {"sparse, not so target", [](float x, size_t i) { return i % 200 == 0 ? x : 0.0F; },
       [](float g, float noise, size_t) { return g + noise; }},
      {"only the largest are off", same, [](float g, float, size_t) { return std::min(g, 2.5F); }},
      {"hardly any is off by more than rounding", same,
       [](float g, float noise, size_t i) { return i % 3 == 0 ? g * 2 : g + 1e-8F * noise; }},
      {"outliers", [](float x, size_t i) { return i % 1000 == 7 ? 1e4F : x; },
       [](float g, float, size_t) { return g > 1e3F ? g : 0; }},
      {"not finite", [](float x, size_t i) { return i % 100 == 3 ? kFloatInf : x; },
       [](float g, float noise, size_t i) { return i % 70 == 9 ? kFloatInf : g * (1 + noise); }},
  };
  for (const auto& [name, golden_of, target_of] : cases) {
    for (const size_t count : {5, 100, 20000}) {
      SCOPED_TRACE(fmt::format("{} {}", name, count));
      std::vector<float> g = normal_values(41, static_cast<int64_t>(count)), t;
      const std::vector<float> noise = normal_values(42, static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i) {
        g[i] = golden_of(g[i], i);
        t.push_back(target_of(g[i], noise[i], i));
      }
      for (const Tensor& target : {floats(t), halves(t)}) {
        const Tensor golden = floats(g);
        BulkSums all(sums_of(target, golden), target.dtype, golden.dtype), some = all, lost = all;
        all.add(piece_of(target, golden));
        some.expect(std::vector<double>(g.begin(), g.end()));
        some.add(piece_of(target, golden));
        if (!some.is_settled()) {
          some.restart();
          some.add(piece_of(target, golden));
        }
        EXPECT_NEAR(some.rel_euclid(), all.rel_euclid(), 1e-9 * all.rel_euclid());
        EXPECT_EQ(some.off_by_half(), all.off_by_half());
        expect_same_by_candidates(target, golden, g, all, some);
        // A wrong look is noticed.
        lost.expect(std::vector<double>(100, 1e6));
        lost.add(piece_of(target, golden));
        if (count == 20000 && lost.is_settled()) {
          EXPECT_NEAR(lost.rel_euclid(), all.rel_euclid(), 1e-9 * all.rel_euclid());
        }
      }
    }
  }
}

// What settles most pairs that are plainly wrong.
TEST(BulkSums, NoiseIsSettledByALook) {
  const std::vector<float> g = normal_values(51, 20000), noise = normal_values(52, 20000);
  std::vector<float> t;
  for (size_t i = 0; i < g.size(); ++i) t.push_back(g[i] + 0.2f * noise[i]);
  const Tensor target = floats(t), golden = floats(g);
  BulkSums sums(sums_of(target, golden), target.dtype, golden.dtype);
  sums.expect(std::vector<double>(g.begin(), g.begin() + 4000));
  sums.add(piece_of(target, golden));
  EXPECT_TRUE(sums.is_settled());
  sums.restart();
  sums.expect(std::vector<double>(1000, 5.0));
  sums.add(piece_of(target, golden));
  EXPECT_FALSE(sums.is_settled());
}

// Sorting instead of sorting into buckets: the 1 % that is left out differs by part of a bucket.
TEST(BulkSums, BucketsComeCloseToTheSmallestNinetyNinePercent) {
  const std::vector<float> g = normal_values(31, 20000), noise = normal_values(32, 20000);
  std::vector<float> t;
  for (size_t i = 0; i < g.size(); ++i) t.push_back(g[i] + 0.2f * noise[i]);
  std::vector<size_t> order(g.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::fabs(g[a]) < std::fabs(g[b]); });
  double gg = 0, dd = 0;
  for (size_t k = 0; k < 19800; ++k) {
    const double y = g[order[k]], d = t[order[k]] - y;
    gg += y * y;
    dd += d * d;
  }
  EXPECT_NEAR(bulk_of(floats(t), floats(g)), std::sqrt(dd / gg), 0.01 * std::sqrt(dd / gg));
}

TEST(BulkBound, HoldsWheneverItIsGiven) {
  int given = 0;
  for (const int64_t count : {1, 2, 7, 8, 50, 99, 100, 101, 1000}) {
    for (const double error : {1e-6, 0.003, 0.03, 0.06, 0.09, 0.2, 1.0}) {
      for (const float outlier : {0.0f, 3.0f, 20.0f, 1e4f}) {
        std::vector<float> g = normal_values(static_cast<uint64_t>(count), count), t;
        const std::vector<float> noise = normal_values(77, count);
        if (outlier != 0) g[0] = outlier;
        for (size_t i = 0; i < g.size(); ++i)
          t.push_back(g[i] + static_cast<float>(error) * noise[i]);
        const auto bound = bulk_bound(sums_of(floats(t), floats(g)));
        if (!bound) continue;
        ++given;
        EXPECT_LE(*bound, 0.1);
        EXPECT_LE(bulk_of(floats(t), floats(g)), *bound * (1 + 1e-12))
            << count << " " << error << " " << outlier;
      }
    }
  }
  EXPECT_GT(given, 50);
}

TEST(BulkBound, NotGivenWhereItCannotBeKnown) {
  EXPECT_EQ(bulk_bound(sums_of({1, 2}, {1, 2})), 0.0);
  EXPECT_EQ(bulk_bound(sums_of({1, 2}, {0, 0})), std::nullopt);
  EXPECT_EQ(bulk_bound(sums_of({1, 2}, {1, 3})), std::nullopt);
  // The squares of the errors vanish, and all of golden's energy may lie in what is left out.
  std::vector<double> t(200, 0.0), g(200, 1e-200);
  t[0] = g[0] = 1;
  EXPECT_EQ(bulk_bound(sums_of(t, g)), std::nullopt);
}

TEST(BulkRelEuclid, SaysSoIfItIsOnlyABound) {
  PairFacts facts;
  facts.sums = sums_of({1, 2, 3.01}, {1, 2, 3});
  const Value value = metric_by_name("bulk_rel_euclid")->finish(facts);
  EXPECT_TRUE(value.is_bound());
  EXPECT_NEAR(value.number(), 0.01 / std::sqrt(14.0), 1e-12);
}

}  // namespace
}  // namespace plumb::metrics
