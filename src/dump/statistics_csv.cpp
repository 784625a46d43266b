// SPDX-License-Identifier: Apache-2.0
#include "dump/statistics_csv.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/number_from_text.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

enum Column : size_t {
  kKindColumn,
  kIndexColumn,
  kTypeColumn,
  kShapeColumn,
  kMaxColumn,
  kMinColumn,
  kMeanColumn,
  kNormColumn,
  kNanColumn,
  kNegativeColumn,
  kPositiveColumn,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames{
    "Input/Output",      "Index",     "Data Type", "Shape",     "Max Value",
    "Min Value",         "Avg Value", "l2norm",    "Nan Count", "Negative Inf Count",
    "Positive Inf Count"};

}  // namespace

Result<std::vector<Entry>> parse_statistics_csv(std::string_view text) {
  const auto damaged = [](size_t line, std::string_view why) {
    return Error{"statistics table is damaged", fmt::format("line {}: {}", line, why),
                 "copy the file again, or wait until its writer has finished"};
  };
  const std::vector<std::string_view> header = cells_of(take_line(text));
  std::array<size_t, kColumns> places;
  for (size_t c = 0; c < kColumns; ++c)
    places[c] = static_cast<size_t>(std::find(header.begin(), header.end(), kColumnNames[c]) -
                                    header.begin());
  if (places[kKindColumn] == header.size() || places[kIndexColumn] == header.size())
    return damaged(1, "there are no columns 'Input/Output' and 'Index'");

  std::vector<Entry> entries;
  for (size_t line = 2; !text.empty(); ++line) {
    const std::string_view row = take_line(text);
    if (row.empty()) continue;
    const std::vector<std::string_view> cells = cells_of(row);
    const auto cell = [&](Column c) {
      return places[c] < cells.size() ? cells[places[c]] : std::string_view();
    };
    const auto index = number_from(cell(kIndexColumn));
    const bool is_input = cell(kKindColumn) == "Input";
    if (!index || (!is_input && cell(kKindColumn) != "Output"))
      return damaged(line, fmt::format("'{}' is not an input or output", row.substr(0, 80)));
    Entry& entry = entries.emplace_back();
    entry.slot = {is_input ? SlotKind::kInput : SlotKind::kOutput, *index, {}};
    Statistics& statistics = entry.statistics.emplace();
    statistics.dtype = cell(kTypeColumn);
    if (is_digits(cell(kShapeColumn).substr(0, 1)))
      statistics.shape = shape_from_text(cell(kShapeColumn));
    // "", "NA" and "-": not computed.
    statistics.max = number_from_text<double>(cell(kMaxColumn));
    statistics.min = number_from_text<double>(cell(kMinColumn));
    statistics.mean = number_from_text<double>(cell(kMeanColumn));
    statistics.l2 = number_from_text<double>(cell(kNormColumn));
    statistics.nan_count = number_from(cell(kNanColumn));
    const auto negative = number_from(cell(kNegativeColumn)),
               positive = number_from(cell(kPositiveColumn));
    if (negative && positive) statistics.inf_count = checked_add(*negative, *positive);
  }
  return entries;
}

}  // namespace plumb::dump
