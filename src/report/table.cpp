// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kFloor = 6;  // nothing is cut below this, however narrow the terminal

std::string shortened(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  // Names differ at their ends more often than at their beginnings: keep more of the end.
  const size_t head = (width - 1) / 3;
  return fmt::format("{}…{}", starting(text, head), ending(text, width - 1 - head));
}

// As many whole words as fit; a single long one loses its middle.
std::string first_words(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  const std::string_view head = starting(text, width - 1);
  const size_t end = text[head.size()] == ' ' ? head.size() : head.find_last_of(' ');
  return end == std::string_view::npos ? shortened(text, width)
                                       : fmt::format("{}…", head.substr(0, end));
}

// How wide each column is; 0 if it is not shown.
class Layout {
 public:
  Layout(const Table& table, size_t limit) : columns_(table.columns), widths_(columns_.size()) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      bool any = table.rows.empty();  // a column without contents says nothing
      size_t widest = display_width(columns_[c].title);
      for (const auto& row : table.rows) {
        widest = std::max(widest, display_width(row[c]));
        any = any || !row[c].empty();
      }
      widths_[c] = any ? widest : 0;
    }
    if (limit == 0) return;
    while (total(true) > limit && drop_one()) continue;
    while (total(false) > limit && (narrow_one(false) || narrow_one(true))) continue;
  }
  size_t width(size_t column) const { return widths_[column]; }

 private:
  size_t total(bool at_shortest) const {
    size_t sum = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths_[c] == 0) continue;
      const bool shorter = at_shortest && columns_[c].shortens;
      sum += kGap + (shorter ? std::min(widths_[c], columns_[c].shortest) : widths_[c]);
    }
    return sum > 0 ? sum - kGap : 0;
  }

  bool drop_one() {
    size_t least = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c)
      if (widths_[c] > 0 && columns_[c].importance < 9 &&
          (least == columns_.size() || columns_[c].importance < columns_[least].importance))
        least = c;
    if (least == columns_.size()) return false;
    widths_[least] = 0;
    return true;
  }

  // The widest of those that may still shrink.
  bool narrow_one(bool below_shortest) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c].shortens && widths_[c] > (below_shortest ? kFloor : columns_[c].shortest) &&
          (widest == columns_.size() || widths_[c] > widths_[widest]))
        widest = c;
    if (widest == columns_.size()) return false;
    --widths_[widest];
    return true;
  }

  const std::vector<Column>& columns_;
  std::vector<size_t> widths_;
};

}  // namespace

std::string Table::render(size_t limit) const {
  const Layout layout(*this, limit);
  std::string text;
  const auto add_line = [&](const auto& cell_of, std::string_view colour, bool whole_line) {
    std::string line;
    size_t painted = 0;  // bytes from the start
    for (size_t c = 0; c < columns.size(); ++c) {
      const size_t width = layout.width(c);
      if (width == 0) continue;
      if (!line.empty()) line.append(kGap, ' ');
      const std::string cell =
          columns[c].is_prose ? first_words(cell_of(c), width) : shortened(cell_of(c), width);
      const std::string pad(width - display_width(cell), ' ');
      line += columns[c].right ? pad + cell : cell + pad;
      if (c == 0 || whole_line) painted = line.size();
    }
    line.erase(line.find_last_not_of(' ') + 1);
    painted = std::min(painted, line.size());
    if (!colour.empty() && painted > 0)
      line =
          fmt::format("\033[{}m{}\033[0m{}", colour, line.substr(0, painted), line.substr(painted));
    text += line + "\n";
  };
  add_line([&](size_t c) { return columns[c].title; }, colours.empty() ? "" : "2", true);
  for (size_t r = 0; r < rows.size(); ++r)
    add_line([&](size_t c) { return rows[r][c]; }, r < colours.size() ? colours[r] : "", false);
  return text;
}

}  // namespace plumb::report
