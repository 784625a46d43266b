// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>

#include "report/text.h"

namespace plumb::report {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kShortest = 16;

std::string shortened(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  // Names differ at their ends more often than at their beginnings: keep more of the end.
  std::vector<size_t> starts;  // of code points
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  const size_t head = (width - 1) / 3;
  const size_t tail = width - 1 - head;
  return text.substr(0, starts[head]) + "…" + text.substr(starts[starts.size() - tail]);
}

}  // namespace

std::string Table::render(size_t limit) const {
  std::vector<size_t> width(columns.size());
  std::vector<bool> shown(columns.size(), true);
  for (size_t c = 0; c < columns.size(); ++c) {
    width[c] = display_width(columns[c].title);
    bool any = rows.empty();
    for (const auto& row : rows) {
      width[c] = std::max(width[c], display_width(row[c]));
      any = any || !row[c].empty();
    }
    shown[c] = any;  // a column without contents says nothing
  }
  const auto total = [&] {
    size_t sum = 0;
    for (size_t c = 0; c < columns.size(); ++c)
      if (shown[c]) sum += width[c] + kGap;
    return sum > 0 ? sum - kGap : 0;
  };
  if (limit > 0) {
    for (size_t c = 0; c < columns.size() && total() > limit; ++c) {
      if (!columns[c].shortens || !shown[c] || width[c] <= kShortest) continue;
      const size_t excess = total() - limit;
      width[c] = width[c] - std::min(excess, width[c] - kShortest);
    }
    while (total() > limit) {
      size_t least = columns.size();
      for (size_t c = 0; c < columns.size(); ++c)
        if (shown[c] && columns[c].importance < 9 &&
            (least == columns.size() || columns[c].importance < columns[least].importance))
          least = c;
      if (least == columns.size()) break;
      shown[least] = false;
    }
  }
  std::string text;
  const auto add_line = [&](auto&& cell_of) {
    std::string line;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!shown[c]) continue;
      if (!line.empty()) line.append(kGap, ' ');
      const std::string cell = shortened(cell_of(c), std::max(width[c], size_t{2}));
      const std::string pad(width[c] - std::min(width[c], display_width(cell)), ' ');
      line += columns[c].right ? pad + cell : cell + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t c) { return columns[c].title; });
  for (const auto& row : rows) add_line([&](size_t c) { return row[c]; });
  return text;
}

}  // namespace plumb::report
