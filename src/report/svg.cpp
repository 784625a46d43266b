// SPDX-License-Identifier: Apache-2.0
//
// A picture of a run for documents and chats: the error along the network, operator by operator on
// a logarithmic scale, and below it the folded graph. Nothing in it moves or is loaded. It brings
// its own background in two themes, and marks verdicts by shape, too.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "report/findings_text.h"
#include "report/headline.h"
#include "report/shown_graph.h"
#include "report/text.h"
#include "report/usual_limits.h"
#include "report/writer.h"
#include "report/xml_text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

constexpr double kWidth = 1200, kMargin = 24, kPlotHeight = 240, kAxis = 64;
constexpr size_t kMostNodes = 6000;  // drawn: of more, groups
constexpr double kShape = 2.0;       // of the graph

// By verdict; then near a limit, and what nothing is known of.
struct Theme {
  std::string_view paper, ink, dim, line, pass, fail, open, none, near;
};
constexpr Theme kLight{"#ffffff", "#1b2733", "#6b7785", "#c4ccd4", "#2f8f83",
                       "#c2183c", "#7a5bb8", "#9aa4ae", "#b07a00"};
constexpr Theme kDark{"#14191f", "#e4e9ee", "#9aa7b4", "#3a4550", "#4fb3a5",
                      "#ff5d7a", "#b39ae6", "#6b7682", "#e0a92e"};

// Plain rules: not every program that shows pictures knows variables.
std::string rules(const Theme& theme) {
  std::string css = fmt::format(
      ".paper{{fill:{}}}text{{fill:{}}}.dim{{fill:{}}}.grid,.edge{{stroke:{}}}.limit{{stroke:{}}}"
      ".bad{{stroke:{}}}.box{{fill:{}}}",
      theme.paper, theme.ink, theme.dim, theme.line, theme.near, theme.fail, theme.paper);
  const std::pair<std::string_view, std::string_view> kinds[] = {
      {"n0", theme.pass}, {"n1", theme.fail}, {"n2", theme.open},
      {"n3", theme.none}, {"n4", theme.line}, {"near", theme.near}};
  for (const auto& [kind, colour] : kinds)
    css += fmt::format(".{0}.box,.{0}.cross{{stroke:{1}}}.{0}.mark{{fill:{1}}}", kind, colour);
  return css + fmt::format(
                   ".n1.box{{fill:{0};fill-opacity:.25}}.beyond,.culprit{{fill:{0}}}"
                   ".culprit{{stroke:{1}}}.spot{{stroke:{0}}}",
                   theme.fail, theme.paper);
}

std::string style() {
  return fmt::format(
      "<style>text{{font:12px system-ui,sans-serif}}.title{{font-size:18px;font-weight:600}}"
      ".grid{{stroke-width:1}}.limit{{stroke-dasharray:6 4}}.edge,.cross{{fill:none}}"
      ".stub{{stroke-dasharray:3 "
      "3}}.bad{{opacity:.6}}.box{{stroke-width:1.5}}.cross{{stroke-width:2}}"
      ".beyond{{opacity:.06}}.spot{{fill:none;stroke-width:2}}"
      ".culprit{{font-weight:600;paint-order:stroke;stroke-width:5px;stroke-linejoin:round}}"
      ".n1.box{{stroke-width:3}}.n3.box{{stroke-dasharray:4 "
      "3}}.n1.origin.box{{stroke-width:6;fill-opacity:.6}}{}"
      "@media (prefers-color-scheme:dark){{{}}}</style>\n",
      rules(kLight), rules(kDark));
}

std::string shown(std::string_view text, size_t width) {
  const std::string safe = printable(text);
  if (display_width(safe) <= width) return xml_text(safe);
  return xml_text(std::string(starting(safe, width - 1)) + "…");
}

// Verdicts as the style knows them.
std::string kind_of(const Row& row) {
  if (row.verdict == Verdict::kPass && row.suspicious) return "near";
  return fmt::format("n{}", static_cast<int>(row.verdict));
}

// Where errors begin to be too large: the limit on them, or what one on the ratio of signal to
// noise amounts to.
struct Bound {
  double error = 0;  // 0: there is none
  std::string words;

  explicit Bound(const Run& run) {
    const UsualLimits limits(run);
    if (const result::AppliedLimit* limit = limits.of("rel_euclid")) {
      error = limit->value;
      words = fmt::format("limit {}", error);
    } else if (const result::AppliedLimit* ratio = limits.of("sqnr_db")) {
      error = std::pow(10, -ratio->value / 20);
      words = fmt::format("limit SQNR {} dB", ratio->value);
    }
  }
};

struct Course {
  struct Point {
    const Row* row;
    double error;
  };
  std::vector<Point> points;  // of outputs, in order of execution
  double low = -6, high = 0;  // decades
  const Row* worst = nullptr;

  Course(const Run& run, const Bound& bound) {
    double most = 0, least = 1;
    for (const Row& row : run.rows.all()) {
      const double error = relative_error(run, row);
      if (!is_output_slot(row) || std::isnan(error)) continue;
      points.push_back({&row, error});
      if (error > 0 && error < 1e30) {
        least = std::min(least, error);
        if (error > most) worst = &row;
        most = std::max(most, error);
      }
    }
    if (bound.error > 0) {
      most = std::max(most, bound.error);
      least = std::min(least, 0.9 * bound.error);  // not on the ground, where zeros lie
    }
    if (most > 0) high = std::ceil(std::log10(most) + 0.1);
    low = std::clamp(std::floor(std::log10(least)), high - 9, high - 2);
  }
};

class Plot {
 public:
  Plot(const Run& run, const Put& put, double top)
      : run_(run), put_(put), top_(top), bound_(run), course_(run, bound_) {}

  void draw(std::string_view culprit) {
    put_(fmt::format(
        "<text class=\"dim\" x=\"{}\" y=\"{}\">relative error of each output, in {}</text>\n",
        kMargin, top_ - 10, run_.is_ordered ? "order of execution" : "order of names"));
    for (double decade = course_.low; decade <= course_.high; ++decade)
      put_(
          fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/><text class=\"dim\" x=\"{}\" y=\"{}\" "
                      "text-anchor=\"end\">1e{}</text>\n",
                      kAxis, y(decade), kWidth - kMargin, kAxis - 8, y(decade) + 4, decade));
    if (bound_.error > 0) {
      const double height = at(bound_.error);
      put_(fmt::format(
          "<rect class=\"beyond\" x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3:.1f}\"/>"
          "<path class=\"grid limit\" d=\"M{0} {4:.1f}H{5}\"/>"
          "<text x=\"{0}\" y=\"{6:.1f}\" dx=\"6\">{7}</text>\n",
          kAxis, top_, kWidth - kMargin - kAxis, std::max(0.0, height - top_), height,
          kWidth - kMargin, height - 5, bound_.words));
    }
    for (size_t i = 0; i < course_.points.size(); ++i) add_mark(i);
    if (const std::optional<size_t> i = place_to_name(culprit)) {
      const double left = x(*i);
      // Before it errors are small: the name hides nothing there.
      const bool is_left = left > kWidth / 4;
      const std::string name = shown(course_.points[*i].row->target->operator_name, 60);
      put_(fmt::format("<text class=\"culprit\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n",
                       left + (is_left ? 5 : -5),
                       std::max(top_ + 12, at(course_.points[*i].error) - 12),
                       is_left ? " text-anchor=\"end\"" : "", is_left ? name + " ▼" : "▼ " + name));
    }
    if (course_.points.empty())
      put_(fmt::format("<text class=\"dim\" x=\"{}\" y=\"{}\">no relative error is known</text>\n",
                       kAxis + 12, top_ + kPlotHeight / 2));
  }

 private:
  double x(size_t i) const {
    const auto count = static_cast<double>(std::max<size_t>(course_.points.size(), 2) - 1);
    return kAxis + 8 + (kWidth - kMargin - kAxis - 16) * static_cast<double>(i) / count;
  }
  // The culprit, of its steps and ranks the one where it is worst; without a culprit the worst of
  // all.
  std::optional<size_t> place_to_name(std::string_view culprit) const {
    std::optional<size_t> found;
    for (size_t i = 0; i < course_.points.size(); ++i) {
      const auto& [row, error] = course_.points[i];
      if (culprit.empty() ? row != course_.worst : row->target->operator_name != culprit) continue;
      if (!found || error > 2 * course_.points[*found].error) found = i;
    }
    return found;
  }
  double y(double decade) const {
    const double share = (decade - course_.low) / (course_.high - course_.low);
    return top_ + kPlotHeight * (1 - std::clamp(share, 0.0, 1.0));
  }
  // What is zero lies on the ground, what is infinite at the top.
  double at(double error) const {
    return error > 0 ? y(std::min(std::log10(error), course_.high)) : y(course_.low);
  }

  void add_mark(size_t i) {
    const auto& [row, error] = course_.points[i];
    const double left = x(i), height = at(error);
    if (row->verdict == Verdict::kFail)
      put_(fmt::format("<path class=\"{0} cross\" d=\"M{1:.1f} {2:.1f}l8 8m0 -8l-8 8\"/>\n",
                       kind_of(*row), left - 4, height - 4));
    else if (row->suspicious)
      put_(fmt::format("<path class=\"{} mark\" d=\"M{:.1f} {:.1f}l4 8h-8z\"/>\n", kind_of(*row),
                       left, height - 5));
    else
      put_(fmt::format("<circle class=\"{} mark\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n",
                       kind_of(*row), left, height));
  }

  const Run& run_;
  const Put& put_;
  const double top_;
  const Bound bound_;
  const Course course_;
};

// Where the graph begins and how much smaller it is drawn.
struct Frame {
  double top, scale;
  bool has_names() const { return scale > 0.3; }
};

void put_edges(const ShownGraph& graph, const graph::Drawings& drawings, const Put& put) {
  const graph::Drawing& fold = drawings.folds.front();
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    std::string path;
    for (int32_t i = fold.start[e]; i < fold.start[e + 1]; ++i)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                          fold.points[2 * static_cast<size_t>(i)],
                          fold.points[2 * static_cast<size_t>(i) + 1]);
    // From a hair at 1e-6 to a band at 1.
    const double error = graph.edges[e].error;
    const double share = error > 0 ? std::clamp((std::log10(error) + 6) / 6, 0.0, 1.0) : 0;
    put(fmt::format("<path class=\"edge{}{}\" stroke-width=\"{:.1f}\" d=\"{}\"/>\n",
                    drawings.is_stub[e] ? " stub" : "", share > 0.5 ? " bad" : "", 1.5 + 8 * share,
                    path));
  }
}

void put_nodes(const ShownGraph& graph, const graph::DrawingSpec& spec, const graph::Drawing& fold,
               bool has_names, const Put& put) {
  constexpr std::string_view kMarks[] = {"", "✕ ", "? ", "– ", ""};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ShownNode& node = graph.nodes[i];
    const std::string title =
        shown(node.name, 200) + (node.count > 1 ? fmt::format(" ({} operators)", node.count) : "");
    put(fmt::format(
        "<rect class=\"n{}{} box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\">"
        "<title>{}</title></rect>\n",
        node.verdict, node.role == 1 ? " origin" : "", fold.x[i], fold.y[i], spec.node_width,
        spec.node_height, title));
    if (has_names)
      put(fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}{}</text>\n",
                      fold.x[i] + spec.node_width / 2, fold.y[i] + spec.node_height / 2 + 4,
                      kMarks[node.verdict],
                      shown(node.name.substr(node.name.find_last_of('/') + 1), 15)));
  }
}

// A ring around the culprit, and its name where the scale leaves no room for names.
void put_culprit(const ShownGraph& graph, const graph::DrawingSpec& spec,
                 const graph::Drawing& fold, const Frame& frame, std::string_view culprit,
                 const Put& put) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const ShownNode& node) { return node.name == culprit; });
  if (culprit.empty() || found == graph.nodes.end()) return;
  const auto i = static_cast<size_t>(found - graph.nodes.begin());
  const double wide = spec.node_width * frame.scale, high = spec.node_height * frame.scale;
  const double left = kMargin + fold.x[i] * frame.scale, top = frame.top + fold.y[i] * frame.scale;
  put(fmt::format(
      "<rect class=\"spot\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"6\"/>\n",
      left - 5, top - 5, wide + 10, high + 10));
  if (frame.has_names()) return;
  const bool is_left = left + wide > kWidth / 2;
  put(fmt::format("<text class=\"culprit\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n",
                  is_left ? left - 11 : left + wide + 11, top + high / 2 + 4,
                  is_left ? " text-anchor=\"end\"" : "", shown(culprit, 60)));
}

}  // namespace

void write_svg(const Run& run, const Put& put) {
  const Roles roles(run);
  const ShownGraphs all = shown_graphs(run, roles);
  const ShownGraph* graph = nullptr;
  for (const ShownGraph& each : all.graphs)
    if (graph == nullptr || graph->nodes.size() > kMostNodes) graph = &each;
  graph::DrawingSpec spec;
  graph::Drawings drawings;
  const double plot_top = 96;
  Frame frame{plot_top + kPlotHeight + 56, 1};
  double height = frame.top - 24;
  if (graph != nullptr) {
    spec = graph->spec();
    drawings = graph::draw(spec, std::span(&kShape, 1));
    const graph::Drawing& fold = drawings.folds.front();
    frame.scale = std::min(1.0, (kWidth - 2 * kMargin) / static_cast<double>(fold.width));
    height = frame.top + frame.scale * static_cast<double>(fold.height) + kMargin;
  }
  put(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"Comparison of a network\">\n",
      kWidth, height));
  put(style());
  put(fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{:.0f}\"/>\n", kWidth, height));
  const result::Summary s = run.summary();
  // Who and why first; without either how many.
  std::string title(headline(run, s)), below;
  std::string_view culprit;
  if (has_culprit(run)) {
    culprit = run.findings.front().operator_name;
    below = std::exchange(title, finding_title(run.findings.front()));
  }
  put(
      fmt::format("<text class=\"title\" x=\"{0}\" y=\"36\">{1}: {2}</text>\n"
                  "<text x=\"{0}\" y=\"60\">{3}</text>\n",
                  kMargin, xml_text(verdict_word(s)), shown(title, 110), shown(below, 160)));
  Plot(run, put, plot_top).draw(culprit);
  if (graph != nullptr) {
    put(fmt::format(
        "<text class=\"dim\" x=\"{}\" y=\"{:.0f}\">the network, {}; the thicker a line, the "
        "larger the error it carries</text>\n",
        kMargin, frame.top - 16, xml_text(graph->label)));
    put(fmt::format("<g transform=\"translate({} {:.1f}) scale({:.4f})\">\n", kMargin, frame.top,
                    frame.scale));
    put_edges(*graph, drawings, put);
    put_nodes(*graph, spec, drawings.folds.front(), frame.has_names(), put);
    put("</g>\n");
    put_culprit(*graph, spec, drawings.folds.front(), frame, culprit, put);
  }
  put("</svg>\n");
}

}  // namespace plumb::report
