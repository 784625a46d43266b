// SPDX-License-Identifier: Apache-2.0
#include "report/own_errors.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/block.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;

constexpr size_t kMostOwnErrors = 30;

bool is_output(const Row& row) {
  return row.target && row.golden && row.verdict != result::Verdict::kNotCompared &&
         row.target->slot.starts_with("output");
}

// What nobody computes: an input of the model.
bool is_source(const Run& run, const Row& row) {
  if (!run.network || row.node < 0 || row.node >= std::ssize(run.network->nodes)) return false;
  return std::none_of(run.network->edges.begin(), run.network->edges.end(),
                      [&](const result::NetworkEdge& edge) { return edge.to == row.node; });
}

bool is_measured(const Row& row) {
  return is_output(row) && row.own_error && row.own_error->measured;
}

std::vector<const Row*> by_own_error(const Run& run) {
  std::vector<const Row*> rows;
  for (const Row& row : run.rows.all())
    if (is_measured(row)) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return a->own_error->value > b->own_error->value;
  });
  return rows;
}

double squared(const Row& row) {
  const double own = row.own_error->value;
  return std::isfinite(own) ? own * own : 0;
}

std::string name_in_table(const Row& row) {
  const result::Side& side = *row.target;
  return printable(side.slot == "output:0" ? side.operator_name
                                           : side.operator_name + " " + side.slot);
}

std::string number(double value) { return fmt::format("{:.3g}", value); }

std::string type_of(const Row& row) {
  return printable(!row.target->type.empty() ? row.target->type : row.golden->type);
}

// What nobody could replay, by name.
std::string not_measured(const Run& run) {
  std::string names;
  size_t count = 0;
  constexpr size_t kMostNames = 4;
  for (const Row& row : run.rows.all()) {
    if (!is_output(row) || is_measured(row) || is_source(run, row)) continue;
    if (++count <= kMostNames) names += (names.empty() ? "" : ", ") + name_in_table(row);
  }
  if (count == 0) return {};
  if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
  return fmt::format("{}: {}", count, names);
}

}  // namespace

std::string own_errors_text(const Run& run, size_t width, bool colour) {
  const std::vector<const Row*> rows = by_own_error(run);
  if (rows.empty()) return "no operator was replayed\n";
  double all = 0;
  for (const Row* row : rows) all += squared(*row);
  const double total = all;
  Table table;
  table.columns = {{"verdict"},
                   {"operator", false, 9, true, 20},
                   {"type", false, 5, true},
                   {"own error", true},
                   {"share", true, 8},
                   {"inherited", true, 7},
                   {"in all", true, 6}};
  const auto losers = static_cast<size_t>(std::count_if(
      rows.begin(), rows.end(), [](const Row* row) { return row->own_error->value > 0; }));
  for (size_t i = 0; i < std::min(kMostOwnErrors, losers); ++i) {
    const Row& row = *rows[i];
    table.rows.push_back({std::string(marked_verdict(row)), name_in_table(row), type_of(row),
                          number(row.own_error->value),
                          total > 0 ? fmt::format("{:.1f} %", 100 * squared(row) / total) : "",
                          number(row.own_error->inherited),
                          rounded_text(run.metrics, row, "rel_euclid")});
    if (colour) table.colours.push_back(sgr(colour_of(row)));
  }
  std::string text = losers > 0 ? table.render(width) : "";
  if (losers > kMostOwnErrors)
    text += fmt::format("... and {} more, each with less; --json writes all of them\n",
                        losers - kMostOwnErrors);
  if (losers < rows.size())
    text += fmt::format("{} {} have no error of their own\n", losers == 0 ? "all" : "the other",
                        rows.size() - losers);
  Block block(width, colour);
  block.line("replayed", fmt::format("{} by the original model, fed with what the target's read; "
                                     "errors are relative to golden's tensor (rel_euclid)",
                                     counted(rows.size(), "output")));
  if (losers > 0)
    block.line("usual", fmt::format("{} is the own error of the usual one (median)",
                                    number(rows[rows.size() / 2]->own_error->value)));
  double most = 0;
  size_t few = 0;
  while (few < rows.size() && most < 0.9 * total) most += squared(*rows[few++]);
  if (total > 0)
    block.line("losers",
               fmt::format("{} of {} make 90 % of all own errors (squares)", few, rows.size()));
  if (const std::string rest = not_measured(run); !rest.empty()) block.line("left out", rest);
  for (const std::string& warning : run.warnings) block.line("warning", printable(warning));
  return text + "\n" + block.text();
}

}  // namespace plumb::report
