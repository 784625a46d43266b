// SPDX-License-Identifier: Apache-2.0
//
// A workbook: what the terminal says under its table, then the columns of the CSV with coloured
// rows. Numbers are numbers; where a metric is undefined its cell says why.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/ranking.h"
#include "report/spreadsheet.h"
#include "report/text.h"
#include "report/writer.h"

namespace plumb::report {
namespace {

using metrics::Print;
using result::Colour;
using result::InputSide;
using result::Row;
using result::Run;
using result::Side;
using result::Summary;
using result::Verdict;

Fill fill_of(const Row& row) {
  switch (colour_of(row)) {
    case Colour::kRed: return Fill::kRed;
    case Colour::kYellow: return Fill::kYellow;
    case Colour::kGreen: return Fill::kGreen;
    case Colour::kGrey: break;
  }
  // There is no grey: what cannot be read is trouble, all else is a gap to know of.
  const auto& reasons = row.reasons;
  const bool is_damaged =
      std::find(reasons.begin(), reasons.end(), "damaged_file") != reasons.end();
  return is_damaged ? Fill::kRed : Fill::kYellow;
}

Fill fill_of_run(const Summary& s) {
  if (s.verdict == Verdict::kFail || s.verdict == Verdict::kNotCompared) return Fill::kRed;
  return s.verdict == Verdict::kPass ? Fill::kGreen : Fill::kYellow;
}

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

void add_side(std::string_view name, const InputSide& side, Spreadsheet& book) {
  book.add({name, side.path});
  if (!side.convention.empty()) book.add({"", side.convention});
  if (side.files_left_out > 0)
    book.add({"", counted(static_cast<size_t>(side.files_left_out), "file") + " without tensors"});
  for (const std::string& warning : side.warnings) book.add({"", "warning: " + warning});
}

void add_baseline(const result::Baseline& baseline, Spreadsheet& book) {
  book.add({"baseline", baseline_text(baseline)}, baseline.holds() ? Fill::kGreen : Fill::kRed);
  for (const std::string& warning : baseline.warnings) book.add({"", "warning: " + warning});
  for (const result::TensorChange& change : baseline.tensors)
    if (change.is_worse)
      book.add({change.is_output ? "worse output" : "worse inside", change_text(change)});
  for (const result::OperatorChange& change : baseline.operators)
    book.add({name_of(change.change), change_text(change)});
}

void add_summary(const Run& run, Spreadsheet& book) {
  const Summary s = run.summary();
  // Texts run over the empty cells beside them.
  book.begin("Summary", {{"", 24}, {"", 14}});
  const std::string_view verdict =
      s.verdict == Verdict::kNotCompared ? "nothing compared" : name_of(s.verdict);
  book.add({"verdict", fmt::format("{}: {}", verdict, headline(run, s))}, fill_of_run(s));
  if (const auto [row, title] = divergence_of(run, s); row != nullptr) {
    const std::string why = row->message.empty() ? reasons_text(*row) : row->message;
    book.add({title, place_text(*row) + (why.empty() ? "" : ": " + why)});
    if (!run.is_ordered) book.add({"order", "not recorded in the target: rows are by name"});
  }
  add_side("target", run.target, book);
  add_side("golden", run.golden, book);
  if (!run.scenario.empty()) book.add({"scenario", run.scenario});
  for (const std::string& graph : run.graphs) book.add({"graph", graph});
  book.add({"profile", run.profile});
  for (const std::string& doubt : run.doubts) book.add({"warning", doubt}, Fill::kYellow);
  for (const std::string& warning : run.warnings) book.add({"warning", warning});
  if (run.interrupted) book.add({"interrupted", "what was not reached is not compared"});
  if (run.baseline) add_baseline(*run.baseline, book);
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
    book.add({"output not compared", output}, Fill::kYellow);
  const auto reasons = reasons_of(run);
  if (reasons.empty()) return;
  book.add({});
  book.add({"reason", "rows"}, Fill::kTitle);
  for (const auto& [reason, count] : reasons) book.add({reason, SheetCell::count(count)});
}

SheetCell metric_cell(const metrics::Metric& metric, const metrics::Value& value) {
  if (!value.is_defined()) return undefined_text(value);
  const double number = value.number();
  return metric.print == Print::kHex ? exact_text(metric, number) : SheetCell::number(number);
}

void add_row(const Run& run, size_t id, std::vector<SheetCell>& cells, Spreadsheet& book) {
  static const Side kNone;
  const Row& row = run.rows[id];
  const Side& target = row.target ? *row.target : kNone;
  const Side& golden = row.golden ? *row.golden : kNone;
  cells = {SheetCell::count(static_cast<int64_t>(id)),
           SheetCell::count(row.step),
           SheetCell::count(row.rank),
           printable(target.operator_name),
           printable(target.type),
           printable(target.slot),
           printable(target.dtype),
           shape_text(target),
           printable(golden.operator_name),
           printable(golden.slot),
           printable(golden.dtype),
           shape_text(golden),
           name_of(row.verdict),
           row.suspicious ? "yes" : "",
           printable(fmt::format("{}", fmt::join(row.reasons, " ")))};
  for (size_t i = 0; i < run.metrics.size(); ++i)
    cells.push_back(i < row.values.size() ? metric_cell(*run.metrics[i], row.values[i])
                                          : SheetCell());
  for (const std::string* text : {&row.message, &row.hint, &target.file, &golden.file})
    cells.push_back(printable(*text));
  book.add(cells, fill_of(row));
}

}  // namespace

void pack_xlsx(const Run& run, FileSink& sink) {
  Spreadsheet book(sink);
  add_summary(run, book);
  std::vector<SheetColumn> columns = {{"id", 8},
                                      {"step", 8},
                                      {"rank", 8},
                                      {"target_operator", 36},
                                      {"target_type", 16},
                                      {"target_slot"},
                                      {"target_dtype"},
                                      {"target_shape", 20},
                                      {"golden_operator", 36},
                                      {"golden_slot"},
                                      {"golden_dtype"},
                                      {"golden_shape", 20},
                                      {"verdict"},
                                      {"suspicious"},
                                      {"reasons", 24}};
  for (const metrics::Metric* metric : run.metrics) columns.push_back({std::string(metric->name)});
  columns.insert(columns.end(),
                 {{"message", 60}, {"hint", 40}, {"target_file", 40}, {"golden_file", 40}});
  book.begin("Rows", std::move(columns));
  std::vector<SheetCell> cells;
  for (size_t id = 0; id < run.rows.size(); ++id) add_row(run, id, cells, book);
  book.finish();
}

}  // namespace plumb::report
