// SPDX-License-Identifier: Apache-2.0
//
// Plots of the laboratory, as SVG that loads nothing and brings a background in two themes: bars by
// layer, and what is gained for what it costs. A page has them above a table of all numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/table.h"

namespace plumb::report {

struct Bar {
  std::string name, text;  // beside it: its layer and its value
  double share = 0;        // of the longest, 0..1
};
std::string bar_plot(std::string_view title, std::string_view subtitle, std::span<const Bar> bars);

struct PlotPoint {
  double x = 0, y = 0;
  std::string name;
  bool is_front = false;  // joined by a line, in the order of x
  bool is_best = false;   // named
};
struct PlotAxis {
  std::string_view title;
  std::optional<double> line;  // drawn across
};
// Points that are not finite are left out.
std::string point_plot(std::string_view title, const PlotAxis& x, const PlotAxis& y,
                       std::vector<PlotPoint> points);

// HTML that opens from disk.
std::string plot_page(std::string_view title, std::span<const std::string> plots,
                      const Table& table);

}  // namespace plumb::report
