// SPDX-License-Identifier: Apache-2.0
//
// A workbook: what the terminal says under its table, the findings, the columns of the CSV with
// coloured rows, and a chart of the error along the network. Numbers are numbers; where a metric is
// undefined its cell says why.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/findings_text.h"
#include "report/headline.h"
#include "report/ranking.h"
#include "report/row_cells.h"
#include "report/shown_graph.h"
#include "report/text.h"
#include "report/usual_limits.h"
#include "report/writer.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

using result::Colour;
using result::exact_text;
using result::InputSide;
using result::Row;
using result::Run;
using result::Summary;
using result::undefined_text;

Fill fill_of(Colour colour) {
  switch (colour) {
    case Colour::kRed: return Fill::kFail;
    case Colour::kYellow: return Fill::kNear;
    case Colour::kGreen: return Fill::kPass;
    case Colour::kGrey: break;
  }
  return Fill::kGrey;
}

Fill fill_of(const Row& row) { return fill_of(colour_of(row)); }

// How many rows have each reason, the most frequent first.
std::vector<std::pair<std::string, int64_t>> reasons_of(const Run& run) {
  std::map<std::string, int64_t> counts;
  for (const Row& row : run.rows)
    for (const std::string& reason : row.reasons) ++counts[reason];
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

void add_side_rows(std::string_view name, const InputSide& side, Spreadsheet& book) {
  book.add({name, side.path});
  if (!side.convention.empty()) book.add({"", side.convention});
  if (side.files_left_out > 0)
    book.add({"", counted(static_cast<size_t>(side.files_left_out), "file") + " without tensors"});
  for (const std::string& warning : side.warnings) book.add({"", "warning: " + warning});
}

void add_baseline_rows(const result::Baseline& baseline, Spreadsheet& book) {
  book.add({"baseline", baseline_text(baseline)}, baseline.holds() ? Fill::kPass : Fill::kFail);
  for (const std::string& warning : baseline.warnings) book.add({"", "warning: " + warning});
  for (const result::TensorChange& change : baseline.tensors)
    if (change.is_worse)
      book.add({change.is_output ? "worse output" : "worse inside", change_text(change)});
  for (const result::OperatorChange& change : baseline.operators)
    book.add({name_of(change.change), change_text(change)});
}

void add_summary(const Run& run, Spreadsheet& book) {
  const Summary s = run.summary();
  book.begin("Summary", {{"", 24}, {"", 110, true}});
  book.add({"verdict", fmt::format("{}: {}", verdict_word(s), headline(run, s))},
           fill_of(colour_of(s)));
  if (has_culprit(run) && s.verdict != result::Verdict::kPass) {
    const result::Finding& first = run.findings.front();
    book.add({"culprit", fmt::format("{}, confidence {:.0f} %", finding_title(first),
                                     100 * first.confidence)});
    for (const result::Evidence& evidence : first.evidence) book.add({"", evidence.text});
    if (!first.advice.empty()) book.add({"advice", printable(first.advice)});
    if (!first.next.empty()) book.add({"next", printable(first.next)});
  }
  if (const auto [row, title] = divergence_of(run, s); row != nullptr) {
    const std::string why = why_text(*row);
    book.add({title, place_text(*row) + (why.empty() ? "" : ": " + why)});
    if (!run.is_ordered) book.add({"order", "not recorded in the target: rows are by name"});
  }
  add_side_rows("target", run.target, book);
  add_side_rows("golden", run.golden, book);
  if (!run.scenario.empty()) book.add({"scenario", run.scenario});
  for (const std::string& graph : run.graphs) book.add({"graph", graph});
  book.add({"profile", limits_text(run)});
  if (run.samples.size() > 1) book.add({"samples", SheetCell::count(std::ssize(run.samples))});
  for (const result::Accuracy& of : run.accuracy) book.add({"classes", accuracy_text(run, of)});
  for (const std::string& doubt : run.doubts) book.add({"warning", doubt}, Fill::kNear);
  for (const std::string& warning : run.warnings) book.add({"warning", warning});
  if (run.interrupted) book.add({"interrupted", "what was not reached is not compared"});
  if (run.baseline) add_baseline_rows(*run.baseline, book);
  book.add({});
  const std::pair<std::string_view, int64_t> totals[] = {
      {"rows", s.rows},
      {"pass", s.pass},
      {"of these suspicious", s.suspicious},
      {"fail", s.fail},
      {"inconclusive", s.inconclusive},
      {"not compared", s.not_compared},
      {"of these filtered", s.filtered},
      {"without counterpart", s.without_counterpart}};
  for (const auto& [name, count] : totals) book.add({name, SheetCell::count(count)});
  book.add({"coverage", coverage_text(s)});
  for (const std::string& output : run.outputs_not_compared)
    book.add({"output not compared", output}, Fill::kNear);
  const auto reasons = reasons_of(run);
  if (reasons.empty()) return;
  book.add({});
  book.add({"reason", "rows"}, Fill::kTitle);
  for (const auto& [reason, count] : reasons) book.add({reason, SheetCell::count(count)});
}

// The cells of a row; numbers that break a limit stand out.
struct SheetCells {
  const Row& row;
  std::vector<SheetCell> cells;

  void text(std::string_view name) { cells.emplace_back(printable(name)); }
  void count(std::optional<int64_t> count) { cells.push_back(SheetCell::count(count)); }
  void value(const metrics::Metric& metric, const metrics::Value* value) {
    if (value == nullptr)
      cells.emplace_back();
    else if (!value->is_defined())
      cells.emplace_back(undefined_text(*value));
    else if (metric.print == metrics::Print::kHex)
      cells.emplace_back(exact_text(metric, value->number()));
    else
      cells.push_back(SheetCell::number(value->number()).on(fill_of(metric)));
  }
  Fill fill_of(const metrics::Metric& metric) const {
    const bool is_broken = std::any_of(row.reasons.begin(), row.reasons.end(), [&](const auto& r) {
      return r.starts_with("limit:") && std::string_view(r).substr(6) == metric.name;
    });
    return is_broken ? Fill::kBroken : Fill::kNone;
  }
};

void add_findings(const Run& run, Spreadsheet& book) {
  if (run.findings.empty()) return;
  book.begin("Findings", {{"operator", 30, true},
                          {"cause", 24, true},
                          {"confidence"},
                          {"detail", 20, true},
                          {"evidence", 60, true},
                          {"advice", 44, true},
                          {"next", 44, true}});
  for (const result::Finding& finding : run.findings) {
    std::string evidence;
    for (const result::Evidence& each : finding.evidence)
      evidence += (evidence.empty() ? "" : "\n") + each.text;
    book.add({printable(finding.operator_name), cause_in_words(finding.cause),
              SheetCell::number(std::round(100 * finding.confidence) / 100),
              printable(finding.detail), evidence, printable(finding.advice),
              printable(finding.next)});
  }
}

// On a logarithmic scale there is no place for zero.
void add_course(const Run& run, Spreadsheet& book) {
  const result::AppliedLimit* const limit = UsualLimits(run).of("rel_euclid");
  const auto error_of = [&](const Row& row) { return relative_error(run, row); };
  if (std::none_of(run.rows.begin(), run.rows.end(),
                   [&](const Row& row) { return row.target && error_of(row) > 0; }))
    return;
  book.begin("Course", {{"position", 10}, {"operator", 36, true}, {"rel_euclid"}, {"limit", 10}});
  int64_t position = 0;
  for (const Row& row : run.rows) {
    if (!row.target || !is_output_slot(row)) continue;
    const double error = error_of(row);
    book.add({SheetCell::count(++position), printable(row.target->operator_name),
              error > 0 ? SheetCell::number(error) : SheetCell(),
              limit == nullptr ? SheetCell() : SheetCell::number(limit->value)},
             fill_of(row));
  }
  SheetChart chart{"relative error along the network", 0, {2}, {}};
  if (limit != nullptr) chart.lines = {3};
  book.chart(std::move(chart));
}

// How long the longest text of each column is.
struct TextLengths {
  std::vector<size_t> longest;
  size_t at = 0;

  void text(std::string_view name) { longest[at] = std::max(longest[at], name.size()), ++at; }
  void count(std::optional<int64_t>) { ++at; }
  void value(const metrics::Metric&, const metrics::Value* value) {
    text(value == nullptr || value->is_defined() ? std::string() : undefined_text(*value));
  }
};

// Columns in which texts are seen whole: wider ones, and what is too long even for them wraps.
std::vector<SheetColumn> fitting_columns(const Run& run) {
  constexpr size_t kWidest = 100;
  std::vector<SheetColumn> columns = row_columns(run);
  TextLengths lengths{std::vector<size_t>(columns.size())};
  int64_t id = 0;
  for (const Row& row : run.rows) {
    lengths.at = 0;
    add_row_cells(run, id++, row, lengths);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t longest = lengths.longest[i] + 2;
    columns[i].width =
        columns[i].width > 0 || longest > columns[i].title.size() + 4
            ? std::max(columns[i].width, static_cast<double>(std::min(kWidest, longest)))
            : 0;
    columns[i].wraps = longest > kWidest;
  }
  return columns;
}

}  // namespace

void pack_xlsx(const Run& run, FileSink& sink) {
  Spreadsheet book(sink);
  add_summary(run, book);
  add_findings(run, book);
  const std::vector<SheetColumn> columns = fitting_columns(run);
  const auto name = std::find_if(columns.begin(), columns.end(), [](const SheetColumn& column) {
    return column.title == "target_operator";
  });
  const auto stubs = name == columns.end() ? 0 : name - columns.begin() + 1;
  book.begin("Rows", columns, static_cast<size_t>(stubs));
  int64_t id = 0;
  for (const Row& row : run.rows) {
    SheetCells line{row, {}};
    add_row_cells(run, id++, row, line);
    book.add(line.cells, fill_of(row));
  }
  add_course(run, book);
  book.finish();
}

}  // namespace plumb::report
