// SPDX-License-Identifier: Apache-2.0
#include "msprobe/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "msprobe/cells.h"

namespace plumb::msprobe {
namespace {

TEST(Statistics, DifferencesAreExact) {
  struct Case {
    const char* what;
    std::optional<double> target, golden;
    std::string difference, relative;
  };
  const Case cases[] = {
      {"nothing recorded", {}, 1.0, "N/A", "N/A"},
      {"equal", 2.0, 2.0, "0", "0%"},
      {"zeros of both signs", -0.0, 0.0, "0", "0%"},
      {"both NaN", NAN, NAN, "0", "0%"},
      {"same infinity", INFINITY, INFINITY, "0", "0%"},
      {"NaN in one", NAN, 1.0, "NaN", "NaN"},
      {"infinite", INFINITY, 1.0, "inf", "inf"},
      {"other infinity", -INFINITY, INFINITY, "-inf", "inf"},
      {"golden zero", 0.5, 0.0, "0.5", "inf"},
      {"a quarter", 0.75, 1.0, "-0.25", "25%"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Difference difference = difference_of(c.target, c.golden);
    Cells cells;
    cells.number(difference.difference);
    cells.percent(difference.relative);
    EXPECT_EQ(cells[0], c.difference);
    EXPECT_EQ(cells[1], c.relative);
  }
}

StatisticRow row(bool is_output, double target, double golden) {
  StatisticRow row;
  row.is_output = is_output;
  row.target.max = row.target.min = row.target.mean = row.target.l2 = target;
  row.golden.max = row.golden.min = row.golden.mean = row.golden.l2 = golden;
  return row;
}

std::vector<Judged> judge_api(const std::vector<StatisticRow>& api, std::string_view function) {
  std::vector<Differences> differences;
  for (const StatisticRow& each : api) differences.push_back(differences_of(each));
  return judge_statistics(api, differences, function);
}

std::string levels(const std::vector<StatisticRow>& api, std::string_view function = "add") {
  std::string text;
  for (const Judged& judged : judge_api(api, function))
    text += std::string(text.empty() ? "" : " ") + std::string(judged.level);
  return text;
}

TEST(Statistics, OutputsAreJudgedByWhatCameIn) {
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.05, 1)}), "pass pass");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.2, 1)}), "pass warning");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.6, 1)}), "pass error");
  EXPECT_EQ(levels({row(false, 1.01, 1), row(true, 1.2, 1)}), "pass warning");
  EXPECT_EQ(levels({row(false, 1.2, 1), row(true, 1.6, 1)}), "pass pass");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.6, 1)}, "empty_like"), "pass pass");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.6, 1)}, "_all_gather_base"), "pass pass");
}

TEST(Statistics, ExtremesStandInForNorms) {
  StatisticRow input = row(false, 1, 1), output = row(true, 1.6, 1);
  for (StatisticRow* each : {&input, &output}) {
    each->target.mean.reset();
    each->target.l2.reset();
  }
  EXPECT_EQ(levels({input, output}), "pass error");
}

TEST(Statistics, WhatGoldenLacksIsNotJudged) {
  StatisticRow lone = row(true, NAN, 1);
  lone.is_matched = false;
  const Judged judged = judge_api(std::vector{lone}, "add").front();
  EXPECT_EQ(judged.result, "N/A");
  EXPECT_EQ(judged.accuracy, "N/A");
  EXPECT_FALSE(judged.message.empty());
}

TEST(Statistics, ValuesOfPythonHaveChecksums) {
  dump::RecordedStatistics value;
  value.text = "False";
  EXPECT_EQ(checksum_of(value, true), "ea0c4734");  // zlib.crc32(b"False")
  EXPECT_EQ(checksum_of(value, false), "");
}

}  // namespace
}  // namespace plumb::msprobe
