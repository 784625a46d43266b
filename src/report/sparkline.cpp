// SPDX-License-Identifier: Apache-2.0
#include "report/sparkline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/findings_text.h"
#include "report/shown_graph.h"
#include "report/text.h"

namespace plumb::report {
namespace {

constexpr std::string_view kBarBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kBarSigns[] = {"_", ".", "-", "=", "+", "*", "#", "@"};
constexpr double kDecades = 6;  // below the largest error

}  // namespace

Sparkline sparkline(const result::Run& run, size_t most_cells, bool ascii) {
  const size_t rows = run.rows.size(), cells = std::min(rows, most_cells);
  std::vector<double> errors(cells, -1);  // nothing known
  const auto cell_of = [&](size_t row) { return row * cells / rows; };
  size_t next = 0;
  for (const result::Row& row : run.rows) {
    const size_t cell = cell_of(next++);
    const double error = relative_error(run, row);
    if (!std::isnan(error)) errors[cell] = std::max(errors[cell], error);
  }
  double most = 0;
  for (const double error : errors)
    if (std::isfinite(error)) most = std::max(most, error);
  if (most == 0) return {};
  Sparkline line;
  for (const double error : errors) {
    const double share = error > 0 ? 1 + std::log10(std::min(error / most, 1.0)) / kDecades : 0;
    const auto level = static_cast<size_t>(std::clamp(share * 8, 0.0, 7.0));
    line.errors += error < 0 ? " " : (ascii ? kBarSigns : kBarBlocks)[level];
  }
  if (!has_culprit(run) || run.findings.front().operator_name.empty()) return line;
  const std::string& name = run.findings.front().operator_name;
  // Of its steps and ranks the one where it is worst; the first, if they are alike.
  size_t culprit = rows, place = 0;
  double largest = 0;
  for (const result::Row& row : run.rows) {
    const size_t at = place++;
    if (!is_output_slot(row) || row.target->operator_name != name) continue;
    const double error = relative_error(run, row);
    if (culprit < rows && !(error > 2 * largest)) continue;
    culprit = at;
    largest = std::isnan(error) ? 0 : error;
  }
  if (culprit == rows) return line;
  const size_t cell = cell_of(culprit);
  const std::string_view mark = ascii ? "^" : "▲";
  const std::string shown = printable(name);
  const bool is_left = cell > display_width(shown) + 1 && cell > cells / 2;
  line.culprit =
      is_left
          ? fmt::format("{}{} {}", std::string(cell - display_width(shown) - 1, ' '), shown, mark)
          : fmt::format("{}{} {}", std::string(cell, ' '), mark,
                        starting(shown, most_cells - std::min(most_cells, cell + 2)));
  return line;
}

}  // namespace plumb::report
