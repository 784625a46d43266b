// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "metrics/metric.h"
#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

constexpr double kStep = 1.0 / 2048;

double distance(const Tensor& target, const Tensor& golden) {
  const Value value = metric_by_name("wasserstein")->finish(facts_of(target, golden));
  EXPECT_TRUE(value.is_defined()) << value.reason();
  return value.number();
}

// By sorting, in numpy; see make_wasserstein.py.
TEST(Wasserstein, IsWithinAStepOfTheDistanceOfSortedValues) {
  const nlohmann::json table = read_json(PLUMB_TEST_DATA "/metrics/wasserstein.json");
  for (const nlohmann::json& c : table["cases"]) {
    const double expected = c["distance"];
    EXPECT_NEAR(distance(tensor_of(c["target"]), tensor_of(c["golden"])), expected,
                kStep + 1e-12 * expected)
        << c["name"];
  }
}

TEST(Wasserstein, LooksAtValuesNotAtPlaces) {
  const std::vector<float> golden = normal_values(1, 3000, 5), other = normal_values(2, 3000, 5.5);
  const std::vector<float> reversed(golden.rbegin(), golden.rend());
  const auto tensor = [](const std::vector<float>& values) {
    return tensor_of(DType::kFloat32, values);
  };
  EXPECT_EQ(distance(tensor(reversed), tensor(golden)), 0);
  EXPECT_NEAR(distance(tensor(other), tensor(reversed)), distance(tensor(other), tensor(golden)),
              1e-15);
}

// One way to move the values is each to its own partner.
TEST(Wasserstein, IsNeverMoreThanTheMeanErrorOverTheRange) {
  const std::vector<float> golden = normal_values(3, 999, 0), noise = normal_values(4, 999, 0);
  for (const float error : {1e-6f, 1e-4f, 0.01f, 1.0f, 1000.0f}) {
    std::vector<float> target = golden;
    for (size_t i = 0; i < target.size(); ++i) target[i] += error * noise[i];
    const Tensor t = tensor_of(DType::kFloat32, target), g = tensor_of(DType::kFloat32, golden);
    const PairSums s = sums_of(t, g);
    const double most = s.abs_sum / static_cast<double>(s.finite) / (s.g_max - s.g_min);
    EXPECT_LE(distance(t, g), most * (1 + 1e-15));
    EXPECT_GT(distance(t, g), 0);
  }
}

TEST(Wasserstein, FirstPassSettlesConstantsAndEqualTensors) {
  const Accumulator& accumulator = *metric_by_name("wasserstein")->needs;
  const struct {
    const char* name;
    std::vector<double> target, golden;
    bool is_settled;
  } cases[] = {
      {"empty", {}, {}, true},
      {"no finite pair", {NAN}, {1}, true},
      {"equal", {1, 2}, {1, 2}, true},
      {"golden constant", {1, 2}, {3, 3}, true},
      {"golden zero", {1, 2}, {0, 0}, true},
      {"target constant", {1, 1}, {1, 2}, false},
      {"different", {1, 2}, {2, 1}, false},
  };
  for (const auto& c : cases) {
    PairFacts facts;
    facts.sums = sums_of(c.target, c.golden);
    EXPECT_EQ(accumulator.start(facts, true) == nullptr, c.is_settled) << c.name;
  }
}

}  // namespace
}  // namespace plumb::metrics
