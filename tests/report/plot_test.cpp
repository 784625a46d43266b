// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::report {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t times_in(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Plot, BarsAreAsLongAsTheirShare) {
  const Bar bars[] = {{"conv1", "12.5 dB", 1}, {"a<b&c", "60.0 dB", 0}, {"half", "30 dB", 0.5}};
  const std::string svg = bar_plot("model.onnx", "worst first", bars);
  EXPECT_EQ(times_in(svg, "class=\"bar\""), 3U);
  EXPECT_THAT(svg, HasSubstr("width=\"490.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"245.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"0.0\""));
  EXPECT_THAT(svg, HasSubstr("a&lt;b&amp;c"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
  EXPECT_THAT(bar_plot("none", "", {}), HasSubstr("</svg>"));
}

TEST(Plot, WhatIsNotFiniteHasNoPlace) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<PlotPoint> points{{1, 20, "all", true},
                                      {1.5, infinite, "float"},
                                      {1.2, 30, "mix", true, true},
                                      {1.3, 25, "worse"}};
  const std::string svg = point_plot("t", {"cost", {}}, {"dB", 28}, points);
  EXPECT_EQ(times_in(svg, "<circle"), 3U);
  EXPECT_EQ(times_in(svg, "class=\"goal\""), 1U);
  EXPECT_EQ(times_in(svg, "class=\"front\" d"), 1U);
  EXPECT_THAT(svg, HasSubstr(">mix</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  // One point, or none, has no width to be drawn in.
  for (const size_t count : {size_t{0}, size_t{1}}) {
    const std::string few =
        point_plot("t", {"x", {}}, {"y", {}}, {points.begin(), points.begin() + count});
    EXPECT_THAT(few, HasSubstr("</svg>"));
    EXPECT_THAT(few, Not(HasSubstr("nan")));
  }
}

TEST(Plot, APageHasThePlotsAndAllRows) {
  const std::string plot = bar_plot("t", "", {});
  const Table table{{{"layer"}, {"dB", true}}, {{"<conv1>", "1"}, {"fc", "2"}}, {}};
  const std::string page = plot_page("a & b", std::span(&plot, 1), table);
  EXPECT_THAT(page, HasSubstr("<h1>a &amp; b</h1>"));
  EXPECT_EQ(times_in(page, "<svg"), 1U);
  EXPECT_EQ(times_in(page, "<tr>"), 3U);
  EXPECT_THAT(page, HasSubstr("<td>&lt;conv1&gt;</td><td class=\"n\">1</td>"));
}

}  // namespace
}  // namespace plumb::report
