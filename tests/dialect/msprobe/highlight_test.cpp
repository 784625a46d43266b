// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/highlight.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace plumb::msprobe {
namespace {

using Number = std::optional<double>;

HighlightRow statistics(bool is_output, Number max_diff, Number max_relative) {
  HighlightRow row;
  row.is_output = is_output;
  row.is_input = !is_output;
  row.max_diff = max_diff;
  row.max_relative = max_relative;
  return row;
}

HighlightRow tensor(bool is_output, Number cosine, Number below_1e3, Number max_abs = {}) {
  HighlightRow row = statistics(is_output, max_abs, {});
  row.cosine = cosine;
  row.below_1e3 = below_1e3;
  return row;
}

// "- R": a letter for each row.
std::string colours(const std::vector<HighlightRow>& api) {
  std::string text;
  for (const report::Fill fill : legacy_fills(api))
    text += fill == report::Fill::kRed ? 'R' : fill == report::Fill::kYellow ? 'Y' : '-';
  return text;
}

TEST(Highlight, RowsByThemselves) {
  HighlightRow row = statistics(false, 0.0, 0.0);
  EXPECT_EQ(colours({row}), "-");
  row.requires_grad_agrees = false;
  EXPECT_EQ(colours({row}), "Y");
  row.is_finite = false;
  EXPECT_EQ(colours({row}), "R");
  EXPECT_EQ(colours({statistics(false, -2e10, 0.0)}), "R");
  EXPECT_EQ(colours({statistics(false, 1e10, 9.0)}), "-");  // an input may differ
  EXPECT_EQ(colours({}), "");
}

TEST(Highlight, OutputsOfStatistics) {
  const HighlightRow same = statistics(false, 0.0, 0.0);
  EXPECT_EQ(colours({same, statistics(true, 0.1, 0.51)}), "-R");
  EXPECT_EQ(colours({same, statistics(true, 0.1, 0.5)}), "-Y");
  EXPECT_EQ(colours({same, statistics(true, 0.1, 0.1)}), "--");
  EXPECT_EQ(colours({statistics(false, 0.1, 0.01), statistics(true, 0.1, 0.5)}), "--");
  EXPECT_EQ(colours({statistics(false, 2.0, 0.02), statistics(true, -20.0, 0.02)}), "-Y");
  EXPECT_EQ(colours({statistics(false, 2.0, 0.02), statistics(true, 19.0, 0.02)}), "--");
  EXPECT_EQ(colours({statistics(false, 0.5, 0.02), statistics(true, 19.0, 0.02)}), "--");
  EXPECT_EQ(colours({statistics(false, {}, {}), statistics(true, {}, {})}), "--");
  EXPECT_EQ(colours({statistics(true, 0.1, INFINITY)}), "R");
}

TEST(Highlight, OutputsOfTensors) {
  const HighlightRow good = tensor(false, 1.0, 0.95), fair = tensor(false, 0.95, 0.85);
  EXPECT_EQ(colours({good, tensor(true, 1.0, 0.59)}), "-R");
  EXPECT_EQ(colours({fair, tensor(true, 0.95, 0.59)}), "-Y");
  EXPECT_EQ(colours({fair, tensor(true, 0.95, 0.8)}), "--");
  EXPECT_EQ(colours({fair, tensor(true, 0.84, 0.85)}), "-Y");
  EXPECT_EQ(colours({fair, tensor(true, NAN, NAN)}), "--");
  EXPECT_EQ(colours({fair, good, tensor(true, 0.95, 0.8)}), "--Y");  // any input
  EXPECT_EQ(colours({tensor(false, 1.0, 1.0, 2.0), tensor(true, 1.0, 1.0, 40.0)}), "-Y");
}

}  // namespace
}  // namespace plumb::msprobe
