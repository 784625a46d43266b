// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/text.h"
#include "report/xml_text.h"

namespace plumb::report {
namespace {

constexpr double kPlotWidth = 900, kEdge = 24;

std::string begin(double height, std::string_view title, std::string_view subtitle) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n"
      "<style>text{{font:12px system-ui,sans-serif;fill:#1b2733}}.title{{font-size:18px;"
      "font-weight:600}}.paper{{fill:#fff}}.bar{{fill:#2f8f83}}.grid{{stroke:#c4ccd4}}"
      ".front{{stroke:#2f8f83;fill:none}}.goal{{stroke:#b07a00;stroke-dasharray:6 4}}"
      ".mark{{fill:#9aa4ae}}.mark.front{{fill:#2f8f83}}.mark.best{{fill:#c2183c;stroke:none}}"
      "@media (prefers-color-scheme:dark){{text{{fill:#e4e9ee}}.paper{{fill:#14191f}}"
      ".grid{{stroke:#3a4550}}}}</style>\n"
      "<rect class=\"paper\" width=\"{0}\" height=\"{1:.0f}\"/>\n"
      "<text class=\"title\" x=\"{3}\" y=\"32\">{2}</text>\n"
      "<text x=\"{3}\" y=\"52\">{4}</text>\n",
      kPlotWidth, height, xml_text(printable(title)), kEdge, xml_text(printable(subtitle)));
}

// From a number to a place, with room at both ends.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;

  double at(double value) const { return from + (to - from) * (value - low) / (high - low); }
};

Scale scale_over(std::span<const double> values, double from, double to) {
  Scale scale{values.front(), values.front(), from, to};
  for (const double value : values) {
    scale.low = std::min(scale.low, value);
    scale.high = std::max(scale.high, value);
  }
  const double room = scale.high > scale.low ? 0.06 * (scale.high - scale.low) : 1;
  scale.low -= room;
  scale.high += room;
  return scale;
}

// 1, 2 or 5 times a power of ten: about six of them.
double step_of(const Scale& scale) {
  const double rough = (scale.high - scale.low) / 6;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= rough) return factor * decade;
  return 10 * decade;
}

}  // namespace

std::string bar_plot(std::string_view title, std::string_view subtitle, std::span<const Bar> bars) {
  constexpr double kTop = 72, kRow = 20, kNames = 300, kLong = kPlotWidth - kNames - 110;
  std::string svg = begin(kTop + kRow * static_cast<double>(bars.size()) + kEdge, title, subtitle);
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kTop + kRow * static_cast<double>(i);
    const double length = kLong * std::clamp(bar.share, 0.0, 1.0);
    const std::string name = printable(bar.name);
    const bool is_long = display_width(name) > 44;
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text><rect class=\"bar\" "
        "x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\"><title>{}</title></rect><text "
        "x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        kNames - 8, y + 12, xml_text(is_long ? std::string(starting(name, 43)) + "…" : name),
        kNames, y, length, xml_text(name), kNames + length + 6, y + 12, xml_text(bar.text));
  }
  return svg + "</svg>\n";
}

std::string point_plot(std::string_view title, const PlotAxis& x, const PlotAxis& y,
                       std::vector<PlotPoint> points) {
  constexpr double kTop = 72, kHeight = 520, kLeft = 80;
  std::erase_if(points, [](const PlotPoint& point) {
    return !std::isfinite(point.x) || !std::isfinite(point.y);
  });
  std::string svg = begin(kHeight, title, fmt::format("{} over {}", y.title, x.title));
  if (points.empty()) return svg + "</svg>\n";
  std::vector<double> xs, ys;
  for (const PlotPoint& point : points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  if (x.line) xs.push_back(*x.line);
  if (y.line) ys.push_back(*y.line);
  const Scale across = scale_over(xs, kLeft, kPlotWidth - kEdge),
              up = scale_over(ys, kHeight - 48, kTop);
  for (double step = step_of(up), at = std::ceil(up.low / step); at * step <= up.high; ++at)
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.6g}</text>\n",
        kLeft, up.at(at * step), kPlotWidth - kEdge, kLeft - 8, up.at(at * step) + 4, at * step);
  for (double step = step_of(across), at = std::ceil(across.low / step); at * step <= across.high;
       ++at)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.6g}</text>\n",
                       across.at(at * step), kHeight - 28, at * step);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kPlotWidth - kEdge,
                     kHeight - 10, xml_text(x.title));
  if (y.line)
    svg += fmt::format("<path class=\"goal\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, up.at(*y.line),
                       kPlotWidth - kEdge);
  std::stable_sort(points.begin(), points.end(),
                   [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
  std::string line;
  for (const PlotPoint& point : points)
    if (point.is_front)
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", across.at(point.x),
                          up.at(point.y));
  if (!line.empty()) svg += fmt::format("<path class=\"front\" d=\"{}\"/>\n", line);
  for (const PlotPoint& point : points) {
    const std::string name = xml_text(printable(point.name));
    svg += fmt::format(
        "<circle class=\"mark{}{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title>"
        "</circle>\n",
        point.is_front ? " front" : "", point.is_best ? " best" : "", across.at(point.x),
        up.at(point.y), point.is_best ? 6 : 4, name);
    if (!point.is_best) continue;
    const bool is_right = across.at(point.x) > kPlotWidth / 2;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                       across.at(point.x) + (is_right ? -10 : 10), up.at(point.y) - 10,
                       is_right ? "end" : "start", xml_text(starting(printable(point.name), 60)));
  }
  return svg + "</svg>\n";
}

std::string plot_page(std::string_view title, std::span<const std::string> plots,
                      const Table& table) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><style>:root{{color-scheme:light "
      "dark}}body{{font:14px system-ui,sans-serif;margin:24px}}svg{{max-width:100%;height:auto}}"
      "h1{{font-size:1.3em}}table{{border-collapse:collapse}}td,th{{padding:2px "
      "10px;text-align:left}}"
      ".n{{text-align:right}}</style>\n<h1>{0}</h1>\n",
      xml_text(printable(title)));
  for (const std::string& plot : plots) page += plot;
  const auto add_row = [&](const std::vector<std::string>& cells, std::string_view tag) {
    page += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      page += fmt::format("<{0}{1}>{2}</{0}>", tag, table.columns[i].right ? " class=\"n\"" : "",
                          xml_text(cells[i]));
    page += "</tr>\n";
  };
  page += "<table>\n";
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  add_row(titles, "th");
  for (const auto& row : table.rows) add_row(row, "td");
  return page + "</table>\n</html>\n";
}

}  // namespace plumb::report
