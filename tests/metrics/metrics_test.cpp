// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/checksums.h"
#include "metrics/close_share.h"
#include "metrics/metric.h"
#include "metrics/non_finite_testing.h"
#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

double number_of(const nlohmann::json& json) {
  if (json.is_string()) return json == "inf" ? kInf : -kInf;
  return json.get<double>();
}

class EachMetric : public testing::TestWithParam<const Metric*> {};

// The expected values are exact up to the last digit; see make_expected.py.
TEST_P(EachMetric, AgreesWithExactArithmetic) {
  const Metric& metric = *GetParam();
  // A divergence is a difference of two logarithms, good to their last digit; a transport counts in
  // steps of golden's range.
  const double absolute = metric.name == "kl"            ? 1e-15
                          : metric.name == "wasserstein" ? 1.0 / 2048
                                                         : 0;
  static const nlohmann::json table = read_json(PLUMB_TEST_DATA "/metrics/expected.json");
  for (const nlohmann::json& c : table["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const PairFacts facts = facts_of(tensor_of(c["target"]), tensor_of(c["golden"]));
    const Value value = metric.finish(facts);
    const nlohmann::json& expected = c["expected"][std::string(metric.name)];
    if (expected.is_object()) {
      ASSERT_FALSE(value.is_defined()) << value.number();
      EXPECT_EQ(value.reason(), expected["undefined"].get<std::string>());
      continue;
    }
    ASSERT_TRUE(value.is_defined()) << value.reason();
    const double number = number_of(expected);
    if (std::isinf(number) || number == 0 || metric.print == Print::kCount)
      EXPECT_EQ(value.number(), number);
    else
      EXPECT_NEAR(value.number(), number, 2e-13 * std::fabs(number) + absolute);
  }
}

std::vector<const Metric*> computed_metrics() {
  std::vector<const Metric*> computed;
  for (const Metric& metric : metrics())
    if (metric.print != Print::kHex && !metric.slices && metric.name != kCloseShare)
      computed.push_back(&metric);
  return computed;
}
INSTANTIATE_TEST_SUITE_P(Metrics, EachMetric, testing::ValuesIn(computed_metrics()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Metrics, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(metric_by_name(metric.name), &metric);
    EXPECT_FALSE(metric.summary.empty());
    EXPECT_NE(metric.finish, nullptr);
  }
  EXPECT_EQ(metric_by_name("cosin"), nullptr);
  EXPECT_EQ(metric_by_name(""), nullptr);
}

TEST(Metrics, EachIsExplained) {
  std::ifstream file(PLUMB_TEST_DATA "/../../docs/metrics.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const Metric& metric : metrics()) {
    std::string_view name = metric.name;
    if (metric.better == Better::kNeither) name.remove_prefix(name.find('_') + 1);
    EXPECT_THAT(text, testing::HasSubstr("`" + std::string(name) + "`")) << metric.name;
  }
}

double value(const PairFacts& facts, std::string_view name) {
  const Value found = metric_by_name(name)->finish(facts);
  EXPECT_TRUE(found.is_defined()) << name << ": " << found.reason();
  return found.number();
}

// Only sums, without the division: the rest was not asked for. What they settle is known anyway.
TEST(Metrics, WhatWasNotGatheredIsNotComputed) {
  PairFacts small, large;
  small.sums = sums_of({1, 2, 30}, {1, 3, 1});
  large.sums = sums_of({1001, 1002, FLT_MAX}, {FLT_MAX, 1000, FLT_MAX});
  for (PairFacts* facts : {&small, &large}) {
    facts->sums.has_relative = facts->sums.has_shares = false;
    for (const Metric& metric : metrics()) {
      const bool is_settled = metric.needs == nullptr || !metric.needs->start(*facts, false);
      const Value found = metric.finish(*facts);
      EXPECT_EQ(found.is_defined(), is_settled && !metric.relative && !metric.shares &&
                                        !metric.slices && metric.name != kCloseShare)
          << metric.name;
      EXPECT_STREQ(found.reason(), found.is_defined() ? nullptr : "not computed") << metric.name;
    }
  }
}

// Python: zlib.crc32(b"abc")
TEST(Metrics, ChecksumsAreHandedThrough) {
  PairFacts facts;
  Checksums crc32;  // empty tensors have one, too
  crc32.target.add(as_bytes("abc"));
  facts.second_pass.hold(accumulated(crc32));
  EXPECT_EQ(value(facts, "target_crc32"), 0x352441c2);
  EXPECT_EQ(value(facts, "golden_crc32"), 0);
  EXPECT_EQ(metric_by_name("target_crc32")->print, Print::kHex);
}

// A metric and its accumulator need not be in the table.
struct Sum {
  double sum = 0;
  void add(const double* target, const double*, int64_t count) {
    sum = std::accumulate(target, target + count, sum);
  }
  void append(const Sum& later) { sum += later.sum; }
};
constexpr Accumulator kSum{[](const PairFacts&, bool) { return accumulated(Sum()); }};

TEST(Request, TakesEachAccumulatorOnce) {
  const Metric own{.name = "own", .summary = "", .needs = &kSum};
  const Metric* bulk = metric_by_name("bulk_rel_euclid");
  const Metric* off = metric_by_name("off_share");
  const std::vector<const Metric*> wanted{metric_by_name("cosine"), bulk, off, &own};
  const Request request = request_for(wanted);
  EXPECT_FALSE(request.relative);
  ASSERT_EQ(request.second_pass.size(), 2);
  EXPECT_EQ(request.second_pass[0].accumulator, bulk->needs);
  EXPECT_FALSE(request.second_pass[0].exactly);
  EXPECT_EQ(request.second_pass[1].accumulator, &kSum);
  EXPECT_TRUE(request_for(wanted, std::vector{off}).second_pass[0].exactly);
  EXPECT_TRUE(request_for(std::vector{metric_by_name("mean_rel")}).relative);
  const Request shares = request_for(std::vector{metric_by_name("rel_below_1e3")});
  EXPECT_TRUE(shares.shares);
  EXPECT_FALSE(shares.relative);
}

TEST(SecondPass, CopiesAreIndependentAndAppended) {
  const Tensor tensor = tensor_of(DType::kFloat32, std::vector<float>{1, 2, 4});
  SecondPass front({.second_pass = {{&kSum, false}}}, PairFacts()), back = front;
  front.add(piece_of(tensor, tensor), piece_of(tensor, tensor));
  EXPECT_EQ(back.find<Sum>()->sum, 0);
  back.add(piece_of(tensor, tensor), piece_of(tensor, tensor));
  front.append(back);
  EXPECT_EQ(front.find<Sum>()->sum, 14);
  EXPECT_EQ(front.find<Checksums>(), nullptr);
}

// Where one side's squares vanish beside the other's there is no number, or an infinite one; never
// a NaN, never agreement.
TEST(Metrics, SidesTooFarApartForFloat64) {
  for (const double exponent : {300.0, -300.0}) {
    const double size = std::pow(10.0, exponent);
    const Tensor target = tensor_of(DType::kFloat64, std::vector<double>{size, 2 * size});
    const Tensor golden = tensor_of(DType::kFloat64, std::vector<double>{1 / size, 2 / size});
    const PairFacts facts = facts_of(target, golden);
    for (const Metric& metric : metrics()) {
      EXPECT_FALSE(std::isnan(metric.finish(facts).number())) << metric.name;
    }
    EXPECT_FALSE(metric_by_name("cosine")->finish(facts).is_defined());
    EXPECT_EQ(value(facts, "rel_euclid"), exponent > 0 ? kInf : 1);
    EXPECT_EQ(value(facts, "norm_ratio"), exponent > 0 ? kInf : 0);
    EXPECT_GE(value(facts, "golden_l2"), 2 / size);
  }
}

Tensor random_tensor(DType dtype, uint64_t seed, int64_t count, double shift) {
  Random random{seed};
  std::vector<float> floats;
  for (int64_t i = 0; i < count; ++i) floats.push_back(static_cast<float>(random.normal() + shift));
  if (dtype == DType::kFloat32) return tensor_of(dtype, floats);
  std::vector<uint16_t> halves;
  for (const float x : floats) halves.push_back(half_from_float(x));
  return tensor_of(dtype, halves);
}

TEST(Metrics, TensorAgreesWithItself) {
  for (const double shift : {0.0, 1000.0, -3e-5}) {
    const Tensor tensor = random_tensor(DType::kFloat32, 7, 3001, shift);
    const PairFacts facts = facts_of(tensor, tensor);
    for (const char* one :
         {"cosine", "pearson", "norm_ratio", "equal_share", "rel_below_1e3", "rel_below_5e3"})
      EXPECT_EQ(value(facts, one), 1) << one;
    for (const char* zero :
         {"max_abs", "mean_abs", "rmse", "max_rel", "mean_rel", "acc_rel", "euclid", "rel_euclid",
          "kl", "max_ulp", "max_err_to_range", "bulk_rel_euclid", "off_share"})
      EXPECT_EQ(value(facts, zero), 0) << zero;
    EXPECT_EQ(value(facts, "sqnr_db"), kInf);
  }
}

TEST(Metrics, SwappingSidesLeavesSymmetricOnesAlone) {
  for (const double shift : {0.0, 1000.0}) {
    const Tensor a = random_tensor(DType::kFloat32, 1, 2000, shift);
    const Tensor b = random_tensor(DType::kFloat16, 2, 2000, shift);
    const PairFacts there = facts_of(a, b), back = facts_of(b, a);
    for (const char* name :
         {"cosine", "pearson", "max_abs", "mean_abs", "rmse", "euclid", "max_ulp", "equal_share"})
      EXPECT_DOUBLE_EQ(value(there, name), value(back, name)) << name;
    EXPECT_DOUBLE_EQ(value(there, "norm_ratio"), 1 / value(back, "norm_ratio"));
    for (const char* name : {"min", "max", "mean", "std", "l2", "nan", "inf", "zeros"}) {
      const std::string target = std::string("target_") + name;
      const std::string golden = std::string("golden_") + name;
      EXPECT_EQ(value(there, target), value(back, golden)) << name;
    }
  }
}

}  // namespace
}  // namespace plumb::metrics
