// SPDX-License-Identifier: Apache-2.0
//
// The report page: one file that opens from disk. The template (web/) has all that is shown, this
// writes what it reads, as blocks of text in places where a browser runs nothing: what is known of
// the run as a whole, the columns of its tables, their texts, and the details of rows in chunks
// that are unpacked when somebody looks at them. Nothing of it is HTML, whatever names hold.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/gzip_pack.h"
#include "base/utf8.h"
#include "report/page_columns.h"
#include "report/page_rows.h"
#include "report/page_template.h"
#include "report/shown_graph.h"
#include "report/text.h"
#include "report/usual_limits.h"
#include "report/writer.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

using result::AppliedLimit;
using result::Row;
using result::Run;

constexpr size_t kRowsPerChunk = 256;

// A graph is folded for each, so that it fills panels on screens and telephones.
struct PanelShape {
  std::string_view label;
  double width_to_height;
};
constexpr PanelShape kShapes[] = {{"wide", 2.2}, {"square", 1.1}, {"tall", 0.55}, {"flat", 4}};
// Of larger graphs the flat panel above the table shows a part, in whatever fold.
constexpr size_t kMostFlat = 500;

// Packed, then base64: a few pieces at a time.
void put_block(std::string_view attributes, std::string_view content, const Put& put) {
  constexpr size_t kPiece = 3 << 16;
  put(fmt::format("<script type=\"text/plain\" {}>", attributes));
  const std::string packed = gzip_pack(as_bytes(content));
  std::string text;
  for (size_t at = 0; at < packed.size(); at += kPiece) {
    text.clear();
    append_base64(text, as_bytes(std::string_view(packed).substr(at, kPiece)));
    put(text);
  }
  put("</script>\n");
}

std::string number_json(double number) {
  return std::isfinite(number) ? result::exact_text(metrics::Metric{"", ""}, number) : "null";
}

std::string_view word_of(metrics::Better better) {
  switch (better) {
    case metrics::Better::kHigher: return "higher";
    case metrics::Better::kLower: return "lower";
    case metrics::Better::kNearOne: return "one";
    case metrics::Better::kNeither: break;
  }
  return "none";
}

std::string metrics_json(const Run& run) {
  const UsualLimits limits(run);
  std::string json;
  for (const metrics::Metric* metric : run.metrics) {
    const AppliedLimit* limit = limits.of(metric->name);
    json += fmt::format("{}{{\"name\": {}, \"better\": \"{}\", \"limit\": {}}}",
                        json.empty() ? "" : ", ", json_text(metric->name), word_of(metric->better),
                        limit == nullptr ? "null" : number_json(limit->value));
  }
  return "[" + json + "]";
}

std::string profile_json(const Run& run) {
  std::string limits;
  for (const AppliedLimit& limit : run.limits)
    limits += fmt::format("{}{{\"metric\": {}, \"operation\": {}, \"value\": {}, \"dtype\": {}}}",
                          limits.empty() ? "" : ", ", json_text(limit.metric),
                          json_text(limit.operation), number_json(limit.value),
                          limit.dtype.empty() ? "null" : json_text(limit.dtype));
  return fmt::format("{{\"name\": {}, \"limits\": [{}]}}", json_text(run.profile), limits);
}

// Rows with details, and what is missing of them, in words.
struct DetailsHeld {
  std::vector<size_t> rows;
  std::string note;

  explicit DetailsHeld(const Run& run) {
    size_t compared = 0, with_heat = 0;
    for (size_t i = 0; i < run.rows.all().size(); ++i) {
      const Row& row = run.rows.all()[i];
      compared += row.verdict != result::Verdict::kNotCompared;
      if (!row.details) continue;
      rows.push_back(i);
      with_heat += row.details->heat.has_value();
    }
    if (rows.empty() && compared > 0)
      note =
          "Histograms, errors by channel and heat maps were not collected: compare with "
          "--details, or write the page with the comparison.";
    else if (rows.size() > with_heat)
      note = fmt::format(
          "{}: those that fail, are near a limit or have the largest errors.",
          rows.size() == compared
              ? fmt::format("Heat maps and errors by channel are kept of {} of {}", with_heat,
                            counted(compared, "tensor"))
              : fmt::format("Of {}, {} keep histograms and worst elements, {} also "
                            "heat maps and errors by channel",
                            counted(compared, "compared tensor"), rows.size(), with_heat));
  }
  size_t chunks() const { return (rows.size() + kRowsPerChunk - 1) / kRowsPerChunk; }
};

// The columns of a graph, drawn in each shape; what the head says of it.
std::string add_graph(const ShownGraph& graph, size_t number, PageColumns& columns) {
  const auto name = [&](std::string_view rest) { return fmt::format("g{}.{}", number, rest); };
  const auto of_nodes = [&]<class T>(std::string_view rest, T ShownNode::*member) {
    using Shown =
        std::conditional_t<std::is_same_v<T, std::string>, std::string,
                           std::conditional_t<std::is_same_v<T, int32_t>, int32_t, uint8_t>>;
    columns.add_of<Shown>(name(rest), graph.nodes,
                          [&](const ShownNode& node) -> const T& { return node.*member; });
  };
  of_nodes("node.name", &ShownNode::name);
  of_nodes("node.type", &ShownNode::type);
  of_nodes("node.origins", &ShownNode::origins);
  of_nodes("node.row", &ShownNode::row);
  of_nodes("node.verdict", &ShownNode::verdict);
  of_nodes("node.role", &ShownNode::role);
  of_nodes("node.output", &ShownNode::is_output);
  of_nodes("node.kind", &ShownNode::kind);
  of_nodes("node.count", &ShownNode::count);
  of_nodes("node.first", &ShownNode::first);
  columns.add(name("place_of"), graph.place_of);
  columns.add_of<int32_t>(name("edge.from"), graph.edges,
                          [](const ShownEdge& e) { return e.from; });
  columns.add_of<int32_t>(name("edge.to"), graph.edges, [](const ShownEdge& e) { return e.to; });
  columns.add_of<double>(name("edge.error"), graph.edges,
                         [](const ShownEdge& e) { return e.error; });
  const graph::DrawingSpec spec = graph.spec();
  std::vector<double> shapes;
  for (const PanelShape& shape : kShapes) shapes.push_back(shape.width_to_height);
  if (graph.nodes.size() > kMostFlat) shapes.pop_back();
  const graph::Drawings drawings = graph::draw(spec, shapes);
  columns.add(name("edge.stub"), drawings.is_stub);
  std::string folds;
  for (size_t i = 0; i < drawings.folds.size(); ++i) {
    const graph::Drawing& fold = drawings.folds[i];
    const auto of_fold = [&](std::string_view rest) {
      return name(fmt::format("fold{}.{}", i, rest));
    };
    columns.add(of_fold("x"), fold.x);
    columns.add(of_fold("y"), fold.y);
    columns.add(of_fold("points"), fold.points);
    columns.add(of_fold("start"), fold.start);
    folds += fmt::format(
        "{}{{\"label\": \"{}\", \"width\": {}, \"height\": {}, \"node_width\": {}, "
        "\"node_height\": {}}}",
        i == 0 ? "" : ", ", kShapes[i].label, fold.width, fold.height, spec.node_width,
        spec.node_height);
  }
  return fmt::format(
      "{{\"label\": {}, \"depth\": {}, \"nodes\": {}, \"edges\": {}, \"folds\": [{}]}}",
      json_text(graph.label), graph.depth ? fmt::to_string(*graph.depth) : "null",
      graph.nodes.size(), graph.edges.size(), folds);
}

std::string head_json(const Run& run, std::string_view graphs, const PageColumns& columns,
                      const DetailsHeld& details, std::string_view graph_note) {
  std::string notes;
  for (const std::string_view note : {std::string_view(details.note), graph_note})
    if (!note.empty()) notes += (notes.empty() ? "" : ", ") + json_text(note);
  return fmt::format(
      "{{\"schema\": \"plumb.page/1\",{},\n  \"findings\": {},\n  \"metrics\": {},\n"
      "  \"profile\": {},\n  \"rows\": {},\n  \"columns\": {},\n  \"graphs\": [{}],\n"
      "  \"details\": {{\"rows\": {}, \"chunks\": {}, \"note\": {}}},\n  \"notes\": [{}]}}",
      result::head_members(run, run.summary()), result::findings_json(run.findings),
      metrics_json(run), profile_json(run), run.rows.all().size(), columns.json(), graphs,
      details.rows.size(), details.chunks(), json_text(details.note), notes);
}

std::string texts_json(const PageColumns& columns) {
  std::string json;
  for (const std::string& text : columns.texts())
    append_json_text(json += json.empty() ? "[" : ",\n", text);
  return json + "]";
}

void put_details(const Run& run, const DetailsHeld& details, const Put& put) {
  for (size_t chunk = 0; chunk < details.chunks(); ++chunk) {
    const size_t first = chunk * kRowsPerChunk;
    const std::span rows =
        std::span(details.rows)
            .subspan(first, std::min(kRowsPerChunk, details.rows.size() - first));
    std::string json = fmt::format("{{\"rows\": [{}], \"details\": [", fmt::join(rows, ", "));
    for (const size_t row : rows) {
      if (row != rows.front()) json += ",\n";
      json += result::details_json(*run.rows.all()[row].details);
    }
    put_block(fmt::format("id=\"plumb-details-{}\" data-first=\"{}\" data-last=\"{}\"", chunk,
                          rows.front(), rows.back()),
              json + "]}", put);
  }
}

}  // namespace

void write_html(const Run& run, const Put& put) {
  PageColumns columns;
  const Roles roles(run);
  const ShownGraphs shown = shown_graphs(run, roles);
  add_rows(run, roles, shown.node_of, columns);
  std::string graphs;
  for (size_t i = 0; i < shown.graphs.size(); ++i)
    graphs += (i == 0 ? "" : ",\n    ") + add_graph(shown.graphs[i], i, columns);
  const DetailsHeld details(run);
  const std::string_view page = page_template();
  const size_t marker = page.find(kPageMarker);
  put(page.substr(0, marker));
  put_block("id=\"plumb-head\"", head_json(run, graphs, columns, details, shown.note), put);
  put_block("id=\"plumb-columns\"", columns.bytes(), put);
  put_block("id=\"plumb-texts\"", texts_json(columns), put);
  put_details(run, details, put);
  put(page.substr(marker + kPageMarker.size()));
}

}  // namespace plumb::report
