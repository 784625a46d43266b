// SPDX-License-Identifier: Apache-2.0
#include "dump/statistics_csv.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/csv.h"
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

// nullopt for "", "NA", "-": not computed.
std::optional<double> number_of(std::string_view cell) {
  double value = 0;
  const char* end = cell.data() + cell.size();
  const auto parsed = std::from_chars(cell.data(), end, value);
  if (cell.empty() || parsed.ec != std::errc() || parsed.ptr != end) return {};
  return value;
}

enum Column : size_t {
  kKind,
  kIndex,
  kType,
  kShape,
  kMax,
  kMin,
  kMean,
  kNorm,
  kNan,
  kNegative,
  kPositive,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames{
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
    places[c] =
        static_cast<size_t>(std::find(header.begin(), header.end(), kNames[c]) - header.begin());
  if (places[kKind] == header.size() || places[kIndex] == header.size())
    return damaged(1, "there are no columns 'Input/Output' and 'Index'");

  std::vector<Entry> entries;
  for (size_t line = 2; !text.empty(); ++line) {
    const std::string_view row = take_line(text);
    if (row.empty()) continue;
    const std::vector<std::string_view> cells = cells_of(row);
    const auto cell = [&](Column c) {
      return places[c] < cells.size() ? cells[places[c]] : std::string_view();
    };
    const auto index = number_from(cell(kIndex));
    const bool is_input = cell(kKind) == "Input";
    if (!index || (!is_input && cell(kKind) != "Output"))
      return damaged(line, fmt::format("'{}' is not an input or output", row.substr(0, 80)));
    Entry& entry = entries.emplace_back();
    entry.slot = {is_input ? SlotKind::kInput : SlotKind::kOutput, *index, {}};
    Statistics& statistics = entry.statistics.emplace();
    statistics.dtype = cell(kType);
    if (is_digits(cell(kShape).substr(0, 1))) statistics.shape = shape_from_text(cell(kShape));
    statistics.max = number_of(cell(kMax));
    statistics.min = number_of(cell(kMin));
    statistics.mean = number_of(cell(kMean));
    statistics.l2 = number_of(cell(kNorm));
    statistics.nan_count = number_from(cell(kNan));
    const auto negative = number_from(cell(kNegative)), positive = number_from(cell(kPositive));
    if (negative && positive) statistics.inf_count = checked_add(*negative, *positive);
  }
  return entries;
}

}  // namespace plumb::dump
