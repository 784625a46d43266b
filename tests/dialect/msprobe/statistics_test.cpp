// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/statistics.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dialect/msprobe/cells.h"

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

// A row with what it borrows.
struct Row {
  Statistics target, golden;
  std::optional<Shape> target_shape, golden_shape;
  bool is_output = false, is_argument = false, is_matched = true, is_empty = false;

  StatisticRow view() const {
    StatisticRow row;
    row.target = &target;
    row.golden = &golden;
    row.is_output = is_output;
    row.is_argument = is_argument;
    row.is_matched = is_matched;
    row.is_empty = is_empty;
    if (target_shape) row.target_shape = &*target_shape;
    if (golden_shape) row.golden_shape = &*golden_shape;
    return row;
  }
};

std::vector<StatisticRow> views(const std::vector<Row>& rows) {
  std::vector<StatisticRow> views;
  for (const Row& each : rows) views.push_back(each.view());
  return views;
}

Row row(bool is_output, double target, double golden) {
  Row row;
  row.is_output = is_output;
  row.target.max = row.target.min = row.target.mean = row.target.l2 = target;
  row.golden.max = row.golden.min = row.golden.mean = row.golden.l2 = golden;
  return row;
}

std::vector<Judged> judge_api(const std::vector<Row>& api, std::string_view function) {
  std::vector<Differences> differences;
  for (const StatisticRow& each : views(api)) differences.push_back(differences_of(each));
  const std::vector<StatisticRow> rows = views(api);
  return judge_statistics({rows, function}, differences);
}

std::string levels(const std::vector<Row>& api, std::string_view function = "add") {
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
  EXPECT_EQ(levels({row(false, 1.09, 1), row(true, 1.09, 1)}), "pass pass");
  // Nobody is to blame for what came in, and yet it is no accuracy.
  EXPECT_EQ(levels({row(false, 1.2, 1), row(true, 1.6, 1)}), "warning warning");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.6, 1)}, "empty_like"), "pass pass");
  EXPECT_EQ(levels({row(false, 1, 1), row(true, 1.6, 1)}, "_all_gather_base"), "pass warning");
}

TEST(Statistics, ExtremesStandInForNorms) {
  Row input = row(false, 1, 1), output = row(true, 1.6, 1);
  for (Row* each : {&input, &output})
    for (auto* side : {&each->target, &each->golden}) {
      side->mean.reset();
      side->l2.reset();
    }
  EXPECT_EQ(levels({input, output}), "pass error");
}

std::string judged_as(const Row& output, std::string_view function = "add") {
  const Judged judged = judge_api(std::vector{row(false, 1, 1), output}, function).back();
  return fmt::format("{} {} {}: {}", judged.result, judged.accuracy, judged.level,
                     judged.message());
}

TEST(Statistics, AMessageNamesWhatDecided) {
  EXPECT_EQ(
      judged_as(row(true, 1.6, 1)),
      "FAIL No error: output norm relative error above 0.5 while input below 0.1; output norm "
      "relative error is more than 10 times that of input");
  Row output = row(true, 1.6, 1);
  output.golden.mean.reset();
  output.golden.l2.reset();
  output.target.mean.reset();
  output.target.l2.reset();
  EXPECT_EQ(
      judged_as(output),
      "FAIL No error: output max or min relative error above 0.5 while input below 0.1; output "
      "max or min relative error is more than 10 times that of input");
}

// A pass says that something was compared.
TEST(Statistics, WhatWasNotRecordedIsNoPass) {
  const auto without = [](Row output, bool target, bool golden) {
    for (auto* side : {&output.target, &output.golden}) {
      if (!(side == &output.target ? target : golden)) continue;
      side->min.reset();
      side->max.reset();
      side->mean.reset();
      side->l2.reset();
    }
    return output;
  };
  const char* const kNothing = "N/A N/A warning: nothing recorded can be compared";
  const Row good = row(true, 1, 1);
  EXPECT_EQ(judged_as(good), "PASS Yes pass: ");
  EXPECT_EQ(judged_as(without(good, true, true)), kNothing);
  EXPECT_EQ(judged_as(without(good, true, false)), kNothing);
  EXPECT_EQ(judged_as(without(good, false, true)), kNothing);
  EXPECT_EQ(judged_as(without(good, true, true), "empty_like"), "PASS N/A pass: ");
  Row other = without(good, true, true);
  other.target_shape = Shape{2};
  other.golden_shape = Shape{3};
  EXPECT_EQ(judged_as(other), "FAIL No error: shape differs");
  Row empty = without(good, true, true);
  empty.is_empty = true;
  EXPECT_EQ(judged_as(empty), "PASS Yes pass: ");
  Row argument = without(good, true, true);
  argument.is_argument = true;
  argument.target.text = argument.golden.text = "cpu";
  EXPECT_EQ(judged_as(argument), "PASS Yes pass: ");
  Row flags = without(good, true, true);
  flags.target.text = flags.golden.text = "max=True, min=False";
  EXPECT_EQ(judged_as(flags), "PASS Yes pass: ");
  flags.target.text = "max=True, min=True";
  EXPECT_EQ(judged_as(flags), "PASS No warning: accuracy is not reached; max or min differs");
}

TEST(Statistics, ANormOnOneSideOnlyIsDoubtful) {
  Row output = row(true, 1, 1);
  output.golden.l2.reset();
  EXPECT_EQ(judged_as(output), "PASS Yes warning: golden has no norm");
  output = row(true, 1, 1);
  output.target.l2.reset();
  EXPECT_EQ(judged_as(output), "PASS Yes warning: target has no norm");
  output.golden.l2.reset();
  EXPECT_EQ(judged_as(output), "PASS Yes pass: ");
}

// Half a percent is where a margin is thin.
TEST(Statistics, ExtremesAreADoubtfulPass) {
  const auto extremes = [](double target) {
    Row output = row(true, target, 1);
    for (auto* side : {&output.target, &output.golden}) {
      side->mean.reset();
      side->l2.reset();
    }
    return output;
  };
  EXPECT_EQ(judged_as(extremes(1)), "PASS Yes pass: ");
  EXPECT_EQ(judged_as(extremes(1.004)), "PASS Yes pass: ");
  EXPECT_EQ(judged_as(extremes(1.0625)), "PASS Yes warning: judged by extremes only");
  EXPECT_EQ(judged_as(extremes(1.46875)),
            "PASS No warning: output max or min relative error is more than 10 times that of "
            "input; judged by extremes only");
}

// Yes says that the recorded numbers show it, whoever is to blame.
TEST(Statistics, AccuracyNeedsEvidence) {
  const auto accuracy = [](const Row& input, const Row& output) {
    return judge_api({input, output}, "add").back().accuracy;
  };
  const Row bad = row(false, 3, 1);
  EXPECT_EQ(accuracy(bad, row(true, 1, 1)), "Yes");
  EXPECT_EQ(accuracy(bad, row(true, 1.09, 1)), "Yes");
  EXPECT_EQ(accuracy(bad, row(true, 1.2, 1)), "No");
  EXPECT_EQ(accuracy(bad, row(true, 1.6, 1)), "No");
  EXPECT_EQ(accuracy(bad, row(true, 1, 0)), "No");
  EXPECT_EQ(accuracy(bad, row(true, NAN, NAN)), "Yes");
  Row peak = row(true, 1, 1);  // one value of many
  peak.target.max = 3;
  EXPECT_EQ(accuracy(bad, peak), "No");
  Row centred = row(true, 1, 1);  // of a mean near zero only its size counts
  centred.target.mean = 1e-6;
  centred.golden.mean = -1e-6;
  EXPECT_EQ(accuracy(bad, centred), "Yes");
  EXPECT_EQ(judge_api({bad, row(true, 1.6, 1)}, "add").back().level, "warning");
}

std::string tensors_as(const std::vector<Row>& api, const std::vector<TensorNumbers>& numbers,
                       bool as_original = false) {
  const std::vector<StatisticRow> rows = views(api);
  std::string text;
  for (const Judged& judged : judge_tensors({rows, "add", as_original}, numbers))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", judged.level, judged.accuracy);
  return text;
}

TensorNumbers numbers_of(const RealData& data) {
  return {&data, data.cosine, data.below_1e3, {}, false};
}

RealData data_with(double cosine, double max_abs, double max_rel, double below_1e3,
                   double norm_factor = 1) {
  RealData data;
  data.cosine = cosine;
  data.euclid = data.max_abs = max_abs;
  data.max_rel = max_rel;
  data.below_1e3 = data.below_5e3 = below_1e3;
  data.golden = SideNumbers{1, 0, 0.5, 1};
  data.target = SideNumbers{1, 0, 0.5, norm_factor};
  return data;
}

TEST(Statistics, TensorsAreJudgedByTheDocumentedRules) {
  const RealData same = data_with(1, 0, 0, 1), off = data_with(0.95, 0.3, 5, 0.5);
  const RealData bad = data_with(0.7, 0.5, 9, 0.95), small = data_with(0.995, 0.3, 5, 0.7);
  const RealData scaled = data_with(1, 0.02, 2, 0, 3);
  const Row in = row(false, 1, 1), out = row(true, 1, 1);
  const auto judged = [&](const RealData& input, const RealData& output, bool as_original = false) {
    return tensors_as({in, out}, {numbers_of(input), numbers_of(output)}, as_original);
  };
  EXPECT_EQ(judged(same, same), "pass Yes, pass Yes");
  EXPECT_EQ(judged(same, small), "pass Yes, pass Yes");
  EXPECT_EQ(judged(same, off), "pass Yes, error No");
  EXPECT_EQ(judged(same, bad), "pass Yes, warning No");
  EXPECT_EQ(judged(off, off), "warning No, warning No");
  EXPECT_EQ(judged(off, off, true), "pass No, pass No");
  EXPECT_EQ(judged(off, scaled), "warning No, warning No");  // small, and three times as large
}

TEST(Statistics, ArgumentsOfTensorDumpsAreCompared) {
  Row stride = row(false, 1, 2);
  stride.is_argument = true;
  stride.target.text = "1";
  stride.golden.text = "2";
  EXPECT_EQ(tensors_as({stride}, std::vector<TensorNumbers>(1)), "error No");
  stride.target.text = "2";
  EXPECT_EQ(tensors_as({stride}, std::vector<TensorNumbers>(1)), "pass Yes");
}

// What an operator read decides whether it is to blame; of what is not known nobody says that it is
// good.
TEST(Statistics, UnknownInputsBlameNobody) {
  const Row bad = row(true, 1.6, 1), good = row(false, 1, 1);
  EXPECT_EQ(levels({bad}), "error");  // there is nothing to inherit from
  EXPECT_EQ(levels({row(false, NAN, -INFINITY), bad}), "error warning");
  EXPECT_EQ(levels({row(false, NAN, -INFINITY), good, bad}), "error pass warning");
  Row lone = good;
  lone.is_matched = false;
  EXPECT_EQ(levels({lone, bad}), "warning warning");
  EXPECT_EQ(levels({lone, good, bad}), "warning pass error");
  Row empty = row(false, NAN, NAN);
  empty.is_empty = true;
  EXPECT_EQ(levels({empty, bad}), "pass error");

  const RealData same = data_with(1, 0, 0, 1), off = data_with(0.95, 0.3, 5, 0.5);
  const std::vector<Row> api{row(false, 1, 1), row(true, 1, 1)};
  TensorNumbers unread;
  unread.trouble = "no data file";
  EXPECT_EQ(tensors_as(api, {numbers_of(same), numbers_of(off)}), "pass Yes, error No");
  EXPECT_EQ(tensors_as(api, {unread, numbers_of(off)}), "warning N/A, warning No");
  EXPECT_EQ(tensors_as(api, {unread, numbers_of(off)}, true), "warning N/A, error No");
  RealData scalar = data_with(1, 3, 3, 0);
  scalar.is_single = true;
  scalar.cosine.reset();
  scalar.below_1e3.reset();
  EXPECT_EQ(tensors_as(api, {numbers_of(scalar), numbers_of(off)}), "warning No, warning No");
}

// Any NaN or infinity that golden does not have; the tool itself only looks where golden is finite.
TEST(Statistics, OtherValuesThatAreNotFiniteAreErrors) {
  const auto level = [](double target, double golden, bool as_original) {
    const std::vector<Row> api{row(false, target, golden)};
    const std::vector<StatisticRow> rows = views(api);
    const std::vector<Differences> differences{differences_of(rows[0])};
    return judge_statistics({rows, "add", as_original}, differences)[0].level;
  };
  for (const bool as_original : {false, true}) {
    EXPECT_EQ(level(NAN, 1, as_original), "error");
    EXPECT_EQ(level(INFINITY, INFINITY, as_original), "pass");
    EXPECT_EQ(level(NAN, NAN, as_original), "pass");
  }
  EXPECT_EQ(level(NAN, -INFINITY, false), "error");
  EXPECT_EQ(level(NAN, -INFINITY, true), "pass");
  EXPECT_EQ(level(INFINITY, -INFINITY, false), "error");
}

TEST(Statistics, ArgumentsThatDifferShowTheirValues) {
  Row mode = row(false, 1, 1);
  mode.is_argument = true;
  mode.target.text = "nearest";
  mode.golden.text = std::string(80, 'x');
  EXPECT_EQ(judge_api({mode}, "interpolate")[0].message(),
            "scalar argument differs: nearest instead of " + std::string(60, 'x') + "…");
}

// |target - golden| / (max(|target|, |golden|) + 1e-10) above the limit.
TEST(Statistics, MagnitudesAreOfTheLargerSide) {
  const auto warned = [](double target, double golden, double most) {
    Judged judged;
    judged.level = "pass";
    judge_magnitude(row(true, target, golden).view(), most, judged);
    return fmt::format("{}: {}", judged.level, judged.message());
  };
  const std::string half = "warning: max differs by more than 0.5 of its size";
  EXPECT_EQ(warned(1, 1, 0.5), "pass: ");
  EXPECT_EQ(warned(2, 1, 0.5), "pass: ");
  EXPECT_EQ(warned(1, 2, 0.5), "pass: ");
  EXPECT_EQ(warned(2.125, 1, 0.5), half);
  EXPECT_EQ(warned(1, 2.125, 0.5), half);
  EXPECT_EQ(warned(-1, 1, 0.5), half);
  EXPECT_EQ(warned(1e-11, 0, 0.5), "pass: ");
  EXPECT_EQ(warned(1e-9, 0, 0.5), half);
  EXPECT_EQ(warned(INFINITY, 1, 0.5), "pass: ");  // other rules see to it
  EXPECT_EQ(warned(1, 0.875, 0), "warning: max differs by more than 0 of its size");
}

TEST(Statistics, WhatGoldenLacksIsNotJudged) {
  Row lone = row(true, NAN, 1);
  lone.is_matched = false;
  const Judged judged = judge_api(std::vector{lone}, "add").front();
  EXPECT_EQ(judged.result, "N/A");
  EXPECT_EQ(judged.accuracy, "N/A");
  EXPECT_FALSE(judged.clauses.empty());
}

TEST(Statistics, WithoutChecksumsNothingPasses) {
  Row none = row(true, 1, 1), one = none, both = none;
  one.target.checksum = both.target.checksum = both.golden.checksum = "ea0c4734";
  const std::vector<Row> owned{none, one, both};
  const std::vector<StatisticRow> rows = views(owned);
  const auto judged = judge_checksums({rows, "add"});
  EXPECT_EQ(judged[0].result, "N/A");
  EXPECT_EQ(judged[1].level, "warning");
  EXPECT_EQ(judged[2].result, "PASS");
}

TEST(Statistics, ValuesOfPythonHaveChecksums) {
  Statistics value;
  value.text = "False";
  EXPECT_EQ(checksum_of(value, true), "ea0c4734");  // zlib.crc32(b"False")
  EXPECT_EQ(checksum_of(value, false), "");
}

}  // namespace
}  // namespace plumb::msprobe
