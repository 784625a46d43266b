// SPDX-License-Identifier: Apache-2.0
#include "metrics/detail_block.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "metrics/bulk_block.h"
#include "metrics/kl_block.h"
#include "metrics/non_finite_testing.h"

namespace plumb::metrics {
namespace {

TEST(LogRatio, AgreesWithLongDouble) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-24, 24);
  for (int i = 0; i < 1'000'000; ++i) {
    const double p = std::exp2(exponent(random));
    // Also where the two are close, and near the factor at which the series changes.
    const double factor = i % 3 == 0   ? exponent(random)
                          : i % 3 == 1 ? exponent(random) * 1e-6
                                       : 0.5;
    const double q = p * std::exp2(factor);
    // The difference of two close numbers is exact.
    const auto p_long = static_cast<long double>(p), q_long = static_cast<long double>(q);
    const long double exact = std::abs(p - q) < q * 0.4 ? std::log1p((p_long - q_long) / q_long)
                                                        : std::log(p_long / q_long);
    const double ours = log_ratio(p, q);
    ASSERT_NEAR(ours, static_cast<double>(exact), 6e-16 * std::fabs(static_cast<double>(exact)))
        << p << " " << q;
    if (std::abs(p - q) < p * 0.4) {
      ASSERT_EQ(ours, -log_ratio(q, p));
    }
  }
  EXPECT_EQ(log_ratio(0.3, 0.3), 0);
  EXPECT_EQ(log_ratio(8, 1), 3 * std::log(2.0));
}

struct Pairs {
  std::vector<double> target, golden;
};

// Ordinary numbers and every kind of odd one.
Pairs make_pairs(size_t count, unsigned seed) {
  const double odd[] = {0, -0.0, kInf, -kInf, std::nan(""), 1e308, -1e308, 5e-324, 1e-40, 65504};
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Pairs pairs;
  for (size_t i = 0; i < count; ++i) {
    const double g = random() % 8 == 0 ? odd[random() % std::size(odd)] : normal(random);
    const double t = random() % 8 == 0 ? odd[random() % std::size(odd)]
                                       : g * (1 + normal(random) * (random() % 4 == 0 ? 1 : 1e-4));
    pairs.golden.push_back(g);
    pairs.target.push_back(t);
  }
  return pairs;
}

template <class Struct>
void expect_same_bits(const Struct& ours, const Struct& expected) {
  EXPECT_EQ(std::memcmp(&ours, &expected, sizeof ours), 0);
}

struct Tables {
  std::vector<BulkBucket> first{kBulkBuckets + 1}, second{kBulkBuckets + 1};
};

// Those that matter are found and summed alike, one after the other and by vectors.
void expect_same_exceptions(const std::vector<float>& target, const std::vector<float>& golden,
                            float from) {
  const auto n = static_cast<int64_t>(target.size());
  const BulkFilter filter{from, 0x1p-10F, 1e-3F};
  BulkRoom found, expected;
  const int64_t count = bulk_exceptions(target.data(), golden.data(), n, filter, found);
  ASSERT_EQ(count, reference::bulk_exceptions(target.data(), golden.data(), n, filter, expected));
  EXPECT_EQ(std::memcmp(found.target, expected.target, 4 * static_cast<size_t>(count)), 0);
  EXPECT_EQ(std::memcmp(found.golden, expected.golden, 4 * static_cast<size_t>(count)), 0);
  const BulkScale scale{1, 0x1p-10, 1e-3, 1e-3};
  const uint32_t first = from > 1e-40F ? bulk_bucket(static_cast<double>(from)) : 0;
  // Others than exceptions add nothing.
  for (const bool all : {false, true}) {
    std::vector<BulkBucket> ours(kBulkBuckets + 1), theirs(kBulkBuckets + 1);
    BulkExceptions our_sums, their_sums;
    if (all)
      add_exceptions(target.data(), golden.data(), n, scale, from, first, ours.data(), our_sums);
    else
      add_exceptions(found.target, found.golden, count, scale, from, first, ours.data(), our_sums);
    reference::add_exceptions(expected.target, expected.golden, count, scale, from, first,
                              theirs.data(), their_sums);
    expect_same_bits(our_sums.ignored, their_sums.ignored);
    EXPECT_EQ(our_sums.differing, their_sums.differing);
    EXPECT_EQ(our_sums.not_off, their_sums.not_off);
    for (uint32_t i = 0; i < kBulkBuckets; ++i) expect_same_bits(ours[i], theirs[i]);
  }
}

// Lengths around every vector width, so that the tail loop is always exercised.
TEST(DetailBlock, EveryInstructionSetGivesTheSameBits) {
  const int64_t all = hwy::SupportedTargets();
  for (int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (size_t count : {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 511, 512}) {
      const Pairs pairs = make_pairs(count, static_cast<unsigned>(count));
      const double *t = pairs.target.data(), *g = pairs.golden.data();
      const auto n = static_cast<int64_t>(count);
      for (const double scale : {1.0, 0x1p-900}) {
        const ShareMap t_map{-4 * scale, 0.125 / scale}, g_map{-3.7 * scale, 0.1 / scale};
        expect_same_bits(kl_block(t, g, n, scale, t_map, g_map),
                         reference::kl_block(t, g, n, scale, t_map, g_map));
        expect_same_bits(centred_block(t, g, n, scale, 0.1, 0.2),
                         reference::centred_block(t, g, n, scale, 0.1, 0.2));
        const BulkScale bulk{scale, 1e-5, 1e-6 * scale, 1e-4 * scale};
        Tables ours, expected;
        BulkTables our_tables = {ours.first.data(), ours.second.data()};
        BulkTables expected_tables = {expected.first.data(), expected.second.data()};
        bulk_block(t, g, n, bulk, our_tables);
        reference::bulk_block(t, g, n, bulk, expected_tables);
        for (uint32_t i = 0; i < kBulkBuckets; ++i) {
          expect_same_bits(ours.first[i], expected.first[i]);
          expect_same_bits(ours.second[i], expected.second[i]);
        }
      }
      std::vector<float> float_t, float_g;  // finite, sometimes far apart
      for (size_t i = 0; i < count; ++i) {
        const auto as_float = [](double value) {
          return std::fabs(value) < 100 ? static_cast<float>(value) : 0.5F;
        };
        float_t.push_back(as_float(t[i]));
        float_g.push_back(as_float(g[i]));
      }
      const ShareMap t_map{-4, 0.125}, g_map{-3.7, 0.1};
      expect_same_bits(rough_kl_block(float_t.data(), float_g.data(), n, t_map, g_map),
                       reference::rough_kl_block(float_t.data(), float_g.data(), n, t_map, g_map));
      expect_same_bits(kl_block(float_t.data(), float_g.data(), n, t_map, g_map),
                       reference::kl_block(float_t.data(), float_g.data(), n, 1, t_map, g_map));
      // Alike, as they mostly are: everywhere, and everywhere but at one place.
      std::vector<float> alike;
      for (size_t i = 0; i < count; ++i)
        alike.push_back(float_g[i] * (1 + 1e-3F * static_cast<float>(i % 7)) + 0.05F);
      for (int other = 0; other < 2; ++other) {
        if (other == 1) alike[count / 2] = -3.5F;
        expect_same_bits(kl_block(alike.data(), float_g.data(), n, t_map, t_map),
                         reference::kl_block(alike.data(), float_g.data(), n, 1, t_map, t_map));
      }
      EXPECT_EQ(float_steps_block(t, g, n), reference::float_steps_block(t, g, n));
      std::vector<float> t_floats, g_floats;
      for (size_t i = 0; i < count; ++i) {
        t_floats.push_back(static_cast<float>(t[i]));
        g_floats.push_back(static_cast<float>(g[i]));
      }
      EXPECT_EQ(float_steps_block(t_floats.data(), g_floats.data(), n),
                reference::float_steps_block(t_floats.data(), g_floats.data(), n));
      expect_same_bits(kl_block(t_floats.data(), g_floats.data(), n, 1, t_map, g_map),
                       reference::kl_block(t_floats.data(), g_floats.data(), n, 1, t_map, g_map));
      for (const float from : {1e-45F, 1.5F, 100.0F})
        expect_same_exceptions(t_floats, g_floats, from);
      const StepMap steps{0x1p-900, -8 * 0x1p-900, 128 * 0x1p900, 2048};
      Pairs inside = pairs;  // golden's own range is all of it
      for (double& x : inside.golden)
        if (std::fabs(x) > 7) x = 7;
      std::vector<int64_t> surplus(2049), expected_surplus(2049);
      EXPECT_EQ(
          transport_block(t, inside.golden.data(), n, steps, surplus.data()),
          reference::transport_block(t, inside.golden.data(), n, steps, expected_surplus.data()));
      EXPECT_EQ(surplus, expected_surplus);
      std::vector<float> inside_floats;
      for (const double x : inside.golden) inside_floats.push_back(static_cast<float>(x));
      const StepMap float_steps{0.125, -1, 1024, 2048};
      EXPECT_EQ(
          transport_block(t_floats.data(), inside_floats.data(), n, float_steps, surplus.data()),
          reference::transport_block(t_floats.data(), inside_floats.data(), n, float_steps,
                                     expected_surplus.data()));
      EXPECT_EQ(surplus, expected_surplus);
      for (const double limit : {0.5, 65504.0, 1e308})
        EXPECT_EQ(at_limit_block(t, n, -limit, limit),
                  reference::at_limit_block(t, n, -limit, limit));
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(DetailBlock, StepsOfFloat32) {
  const auto steps = [](double t, double g) { return float_steps_block(&t, &g, 1); };
  EXPECT_EQ(steps(1, 1), 0);
  EXPECT_EQ(steps(1, static_cast<double>(std::nextafter(1.0F, 2.0F))), 1);
  EXPECT_EQ(steps(static_cast<double>(1e-45F), static_cast<double>(-1e-45F)), 2);
  EXPECT_EQ(steps(0, -0.0), 0);
  EXPECT_EQ(steps(kInf, 1), 0);  // counts as nothing
  const double top = std::numeric_limits<float>::max();
  EXPECT_EQ(steps(top, -top), 2 * int64_t{0x7F7FFFFF});
}

}  // namespace
}  // namespace plumb::metrics
