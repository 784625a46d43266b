// SPDX-License-Identifier: Apache-2.0
#include "cli/element_view.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/output_check.h"
#include "cli/terminal.h"
#include "compare/elements.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using dump::EntryReader;
using report::short_number;
using report::Table;

constexpr size_t kMostRows = 20;     // that can be looked at on a screen
constexpr size_t kMostIndices = 20;  // along an axis that are shown

std::string elements_text(const std::vector<compare::Element>& worst, const Shape& shape) {
  Table table;
  table.columns = {{"element", false, 9},
                   {"target", true, 9},
                   {"golden", true, 9},
                   {"error", true, 9},
                   {"relative error", true, 5}};
  for (const compare::Element& element : worst)
    table.rows.push_back({to_string(compare::coordinates(element.position, shape)), element.target,
                          element.golden, short_number(element.error),
                          short_number(element.relative)});
  return table.render(terminal_width());
}

std::string axis_text(std::vector<compare::AxisError> errors, int64_t axis) {
  double all = 0;
  for (const compare::AxisError& error : errors) all += error.dd;
  std::stable_sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
    if (a.odd != b.odd) return a.odd > b.odd;
    return a.dd > b.dd;
  });
  Table table;
  table.columns = {{fmt::format("axis {}", axis), true, 9},
                   {"share of error", true, 9},
                   {"rel_euclid", true, 9},
                   {"max_abs", true, 8},
                   {"not finite", true, 7},
                   {"elements", true, 5}};
  const size_t shown = std::min(errors.size(), kMostIndices);
  for (const compare::AxisError& error : std::span(errors).first(shown))
    table.rows.push_back({fmt::format("{}", error.index),
                          all > 0 ? fmt::format("{:.1f} %", 100 * error.dd / all) : "-",
                          short_number(error.rel_euclid()), short_number(error.max_abs),
                          fmt::format("{}", error.odd), fmt::format("{}", error.count)});
  std::string text = table.render(terminal_width());
  if (shown < errors.size())
    text += fmt::format("... and {} more positions with smaller errors\n", errors.size() - shown);
  return text;
}

// "conv1.output.0": safe in any directory.
std::string file_name(const result::Row& row) {
  std::string slot = row.target->slot;
  std::replace(slot.begin(), slot.end(), ':', '.');
  std::string name = row.target->operator_name + "." + slot;
  if (row.step) name += fmt::format(".step{}", *row.step);
  if (row.rank) name += fmt::format(".rank{}", *row.rank);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  return name;
}

}  // namespace

void ElementView::declare(Options& options) {
  options.group("a closer look (with --op and --slot)");
  options.count("--top", "N", top_, "list the N worst elements of each pair");
  options.integers("--axis", "N", axes_, "errors by position along an axis, worst first");
  options.text("--save-diff", "DIR", directory_, "write target - golden of each pair as npy");
}

Result<void> ElementView::check() const {
  if (directory_.empty()) return {};
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed)
    return Error{"cannot make the directory", directory_ + ": " + failed.message(),
                 "choose another one for --save-diff"};
  return {};
}

bool ElementView::show(const compare::Sides& sides, const std::vector<pair::PlannedRow>& plan,
                       const result::Rows& rows, const RunContext& context) const {
  std::vector<size_t> chosen;
  size_t next = 0;
  for (const result::Row& row : rows) {
    if (!row.values.empty()) chosen.push_back(next);
    ++next;
  }
  if ((top_ > 0 || !axes_.empty()) && chosen.size() > kMostRows) {
    print_error({"too many pairs for a closer look",
                 fmt::format("{} were compared, {} fit a screen", chosen.size(), kMostRows),
                 "choose one with --op and --slot"});
    return directory_.empty();
  }
  bool all_written = true;
  std::map<std::string, int> taken;  // names that only unsafe characters told apart
  for (size_t i : chosen) {
    std::string name = file_name(rows[i]);
    if (const int again = taken[name]++; again > 0) name += fmt::format("_{}", again);
    if (auto shown = show_row(sides, plan[i], rows[i], name, context); !shown) {
      print_error(shown.error());
      all_written &= directory_.empty();
    }
  }
  return all_written;
}

Result<void> ElementView::show_row(const compare::Sides& sides, const pair::PlannedRow& planned,
                                   const result::Row& row, const std::string& file_name,
                                   const RunContext& context) const {
  io::ReadOrder order;
  order.dequantize = planned.rare().dequantize;
  auto target = EntryReader::open(sides.target, *planned.target, sides.target_hints, order);
  if (!target) return target.error();
  auto golden = EntryReader::open(sides.golden_of(planned), *planned.golden, sides.golden_hints);
  if (!golden) return golden.error();
  const std::string name = report::printable(report::place_text(row));
  if (top_ > 0) {
    auto worst = compare::worst_elements(*target, *golden, static_cast<size_t>(top_), context);
    if (!worst) return worst.error();
    fmt::print("\n{}: {}\n", name, worst->empty() ? "every element agrees" : "worst elements");
    if (!worst->empty()) fmt::print("{}", elements_text(*worst, golden->reader().shape()));
  }
  for (int64_t axis : axes_) {
    auto errors = compare::errors_along(*target, *golden, axis, context);
    if (!errors) return std::move(errors.error()).in(name);
    fmt::print("\n{}: errors along axis {}\n{}", name, axis, axis_text(std::move(*errors), axis));
  }
  if (directory_.empty()) return {};
  const auto path = std::filesystem::path(directory_) / (file_name + ".npy");
  const NamedPath outputs[] = {{"--save-diff", path.string()}};
  const NamedPath inputs[] = {
      {"TARGET", sides.target.absolute(planned.target->parts.front().file)},
      {"GOLDEN", sides.golden_of(planned).absolute(planned.golden->parts.front().file)}};
  if (auto checked = check_outputs(outputs, inputs); !checked) return checked;
  auto saved = compare::save_difference(*target, *golden, path, context);
  if (saved) fmt::print("\n{}: difference written to {}\n", name, path.string());
  return saved;
}

}  // namespace plumb::cli
