// SPDX-License-Identifier: Apache-2.0
//
// What a comparison says on the screen.
#include "report/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "dialect/msprobe/command.h"
#include "report/table.h"

namespace plumb::msprobe {
namespace {

std::string number_cell(std::string_view metric, std::optional<double> number) {
  if (!number) return "";
  return report::rounded_text(*metrics::metric_by_name(metric), metrics::Value::of(*number));
}

// The worst of the rows that are not all right.
std::string table_of(const Written& written, size_t width, bool has_colour) {
  const std::vector<Notable>& rows = written.notable;
  const auto varies = [&](auto member) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.*member != rows.front().*member; });
  };
  const bool ranks = written.has_several_ranks || varies(&Notable::rank);
  const bool tokens = written.has_several_steps || varies(&Notable::token);
  report::Table table;
  table.columns = {{"Result"},
                   {written.has_levels ? "NPU Name" : "API Name", false, 9, true, 20},
                   {"IO", false, 6},
                   {"Rank ID", true, 5},
                   {written.has_levels ? "Step ID" : "Token ID", true, 5},
                   {"Cosine", true, 8},
                   {"MaxRelativeErr", true, 7},
                   {"Err_message", false, 9, true, 20}};
  const auto text = [](bool is_shown, std::optional<int64_t> n) {
    return is_shown && n ? fmt::to_string(*n) : "";
  };
  for (const Notable& row : rows) {
    const bool is_red = fill_of(row.judged) == report::Fill::kRed;
    const std::string_view mark = is_red ? "✗" : row.judged.result == "N/A" ? "-" : "~";
    const std::string_view word = written.has_levels ? row.judged.level : row.judged.result;
    table.rows.push_back({fmt::format("{} {}", mark, word), report::printable(row.api),
                          std::string(row.io), text(ranks, row.rank), text(tokens, row.token),
                          number_cell("cosine", row.cosine), number_cell("max_rel", row.max_rel),
                          report::printable(row.judged.message())});
    if (has_colour) table.colours.push_back(is_red ? "31" : "33");
  }
  std::string shown = table.render(width);
  if (const auto more = written.all_notable - std::ssize(rows); more > 0)
    shown +=
        fmt::format("... and {} more in the file{}\n", more, written.files.size() == 1 ? "" : "s");
  return shown + "\n";
}

std::string first_text(const FirstDifferences& first) {
  std::string text;
  for (const auto& file : first.files) text += file.string() + "\n";
  for (const auto& [rank, call] : first.calls)
    text += fmt::format("first difference{}: {}\n", rank ? fmt::format(" of rank {}", *rank) : "",
                        report::printable(call));
  if (first.calls.empty() && first.compared == 0) text += "no output could be compared";
  if (first.calls.empty() && first.compared > 0)
    text += first.by_checksum
                ? "no output of a call has another checksum"
                : "no output of a call differs by more than half in one of its statistics";
  if (first.unmatched > 0)
    text += fmt::format("{}{} output{} of target {} no counterpart",
                        first.calls.empty() ? "; " : "", first.unmatched,
                        first.unmatched == 1 ? "" : "s", first.unmatched == 1 ? "has" : "have");
  return text.empty() || text.ends_with('\n') ? text : text + "\n";
}

}  // namespace

std::string text_of(const Written& written, size_t width, bool has_colour) {
  if (written.first) return first_text(*written.first);
  std::string text = written.notable.empty() ? "" : table_of(written, width, has_colour);
  for (const auto& file : written.files) text += file.string() + "\n";
  if (written.compared > 0)
    return text + fmt::format("{} compared, {} not\n", written.compared, written.not_compared);
  const auto coloured = [&](int64_t count, std::string_view words, const char* colour) {
    const std::string shown = fmt::format("{} {}", count, words);
    return has_colour && count > 0 ? fmt::format("\033[{}m{}\033[0m", colour, shown) : shown;
  };
  if (written.has_levels) {
    const std::string apart =
        written.not_compared > 0 ? fmt::format(" ({} not compared)", written.not_compared) : "";
    return text + fmt::format("{}, {}{}, {}\n", coloured(written.pass, "pass", "32"),
                              coloured(written.warned, "warning", "33"), apart,
                              coloured(written.fail, "error", "31"));
  }
  return text + fmt::format("{}, {}, {}\n", coloured(written.pass, "PASS", "32"),
                            coloured(written.fail, "FAIL", "31"),
                            coloured(written.not_compared, "not compared", "33"));
}

}  // namespace plumb::msprobe
