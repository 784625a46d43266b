// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/real_data.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "compare/gather.h"
#include "compare/tensors.h"
#include "json_file.h"

namespace plumb::msprobe {
namespace {

using nlohmann::json;

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const json& each : list)
    values.push_back(std::strtod(each.get<std::string>().c_str(), nullptr));
  return values;
}

RealData data_of(const std::vector<double>& target, const std::vector<double>& golden) {
  const compare::Tensors files;
  auto t = compare::open_tensor(files.npy("t.npy", DType::kFloat64, {std::ssize(target)}, target));
  auto g = compare::open_tensor(files.npy("g.npy", DType::kFloat64, {std::ssize(golden)}, golden));
  const auto facts = compare::or_throw(compare::gather(
      t, g, metrics::Request{.relative = true, .shares = true, .second_pass = {}}, RunContext{}));
  return real_data(*facts);
}

void expect_number(const std::string& what, std::optional<double> got, const std::string& want) {
  const std::string text = text_of(got);
  if (want == "N/A" || want == "NaN" || want.ends_with("inf") || text == "N/A" || text == "NaN") {
    EXPECT_EQ(text, want) << what;
    return;
  }
  const double number = std::stod(want);
  EXPECT_NEAR(*got, number, std::max(1e-12, 1e-9 * std::fabs(number))) << what;
}

// Vectors of an independent reference.
TEST(RealData, EdgeCases) {
  const json cases = read_json(PLUMB_TEST_DATA "/msprobe/metrics_edge.json");
  ASSERT_EQ(cases.size(), 28U);
  for (const json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    // Different sizes never get this far; tests/dialect/msprobe/run_cases has such a row.
    if (c["target"].size() != c["golden"].size()) continue;
    const RealData data = data_of(numbers(c["target"]), numbers(c["golden"]));
    expect_number("Cosine", data.cosine, c["Cosine"]);
    expect_number("EucDist", data.euclid, c["EucDist"]);
    expect_number("MaxAbsErr", data.max_abs, c["MaxAbsErr"]);
    expect_number("MaxRelativeErr", data.max_rel, c["MaxRelativeErr"]);
    expect_number("OneThousandth", data.below_1e3, c["OneThousandth"]);
    expect_number("FiveThousandth", data.below_5e3, c["FiveThousandth"]);
    const Judged judged = judge(data);
    EXPECT_EQ(judged.result, c["Result"].get<std::string>());
    EXPECT_EQ(judged.accuracy, c["Accuracy"].get<std::string>());
    EXPECT_EQ(!judged.clauses.empty(), c["HasMessage"].get<bool>());
  }
}

TEST(RealData, WhatPassesIsNeverNotReached) {
  for (double error : {0.0, 1e-9, 0.001, 0.0099, 0.01, 0.5, 1e6}) {
    const Judged judged = judge(data_of({1e6 * (1 + error), 5, 3}, {1e6, 5, 3}));
    EXPECT_FALSE(judged.result == "PASS" && judged.accuracy == "No") << error;
    EXPECT_EQ(judged.result == "FAIL", judged.level == "error") << error;
  }
}

TEST(RealData, NothingFiniteThatAgreesIsEqual) {
  const RealData data = data_of({NAN, INFINITY}, {NAN, INFINITY});
  EXPECT_EQ(judge(data).result, "PASS");
  EXPECT_EQ(text_of(data.cosine), "1");
}

// Who has what the other has not; NaN against an infinity is both.
TEST(RealData, MessagesNameTheSideThatIsNotFinite) {
  struct Case {
    std::vector<double> target, golden;
    const char* message;
  };
  const char* const in_target = "target has NaN or inf that golden has not";
  const char* const in_golden = "golden has NaN or inf that target has not";
  const char* const in_both = "target has other NaN or inf than golden";
  const Case cases[] = {
      {{1, NAN, 3}, {1, 2, 3}, in_target},
      {{1, INFINITY, 3}, {1, 2, 3}, in_target},
      {{1, 2, 3}, {1, NAN, 3}, in_golden},
      {{1, 2, 3}, {1, -INFINITY, 3}, in_golden},
      {{1, NAN, 3}, {1, -INFINITY, 3}, in_both},
      {{1, -INFINITY, 3}, {1, NAN, 3}, in_both},
      {{1, INFINITY, 3}, {1, -INFINITY, 3}, in_both},
      {{NAN, 2, 3}, {1, INFINITY, 3}, in_both},
      {{NAN, INFINITY, NAN}, {NAN, INFINITY, 3}, in_target},
      {{NAN, INFINITY, 3}, {NAN, INFINITY, -INFINITY}, in_golden},
  };
  for (const Case& c : cases) EXPECT_STREQ(data_of(c.target, c.golden).remark, c.message);
}

}  // namespace
}  // namespace plumb::msprobe
