// SPDX-License-Identifier: Apache-2.0
//
// A workbook of tables (xlsx, ECMA-376), written row by row: memory does not grow with the rows,
// there are no temporary files, and a full disk is an error of the sink. Texts are never formulas,
// whatever they start with, and numbers read back to the same double.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sink.h"
#include "io/zip.h"
#include "report/sheet_chart.h"

namespace plumb::report {

// Titles are bold, on a darker grey. Red, yellow and green are those of other tools' tables; the
// ones of ours are light, so that numbers read well on them, and what broke a limit is bold.
enum class Fill : uint8_t {
  kNone,
  kRed,
  kYellow,
  kGreen,
  kGrey,
  kTitle,
  kFail,
  kNear,
  kPass,
  kBroken
};

class SheetCell {
 public:
  SheetCell() = default;  // empty
  SheetCell(std::string text) : text_(std::move(text)) {}
  SheetCell(std::string_view text) : text_(text) {}
  SheetCell(const char* text) : text_(text) {}
  // As text if it is none to a spreadsheet: NaN, infinities.
  static SheetCell number(double number);
  static SheetCell count(std::optional<int64_t> count);  // empty if not known
  // The number that the text stands for, or the text if it is none.
  static SheetCell number(std::string text);

  SheetCell on(Fill fill) && {  // instead of that of its row
    fill_ = fill;
    return std::move(*this);
  }

  bool is_number() const { return is_number_; }
  const std::string& text() const { return text_; }  // of a number, as it is written
  Fill fill_on(Fill row) const { return fill_ == Fill::kNone ? row : fill_; }

 private:
  std::string text_;
  bool is_number_ = false;
  Fill fill_ = Fill::kNone;
};

struct SheetColumn {
  std::string title;
  double width = 0;    // in characters; 0: of the title, and room for a number
  bool wraps = false;  // long texts go on below, in a higher row
};

// Longer texts are cut, with a mark.
inline constexpr size_t kMostCellCharacters = 32767;  // of UTF-16
inline constexpr int64_t kMostSheetRows = 1048576;

class Spreadsheet {
 public:
  // Nothing is committed. `rows_per_sheet` is for tests.
  explicit Spreadsheet(FileSink& out, int64_t rows_per_sheet = kMostSheetRows);

  // The next sheet. A name is short and has no punctuation. With titles they stay in sight and rows
  // can be filtered; rows that do not fit go on in "NAME 2", under the same titles. On paper a
  // sheet is as wide as the page; of one with `stubs` the first so many columns are on every page
  // instead.
  void begin(std::string name, std::vector<SheetColumn> columns, size_t stubs = 0);
  void add(std::span<const SheetCell> cells, Fill fill = Fill::kNone);
  void add(std::initializer_list<SheetCell> cells, Fill fill = Fill::kNone) {
    add(std::span(cells.begin(), cells.size()), fill);
  }
  // In the open sheet, which has titles; of the rows that fit into it.
  void chart(SheetChart chart) { chart_ = std::move(chart); }
  void finish();

 private:
  struct Sheet {
    std::string name;
    std::string range;         // with titles: "$A$1:$C$20"
    std::string print_titles;  // what is on every page: "'Rows'!$A:$D,'Rows'!$1:$1"
    bool has_chart = false;
  };
  void add_chart(const SheetChart& chart, const Sheet& sheet, int64_t last);
  void begin_sheet();
  void end_sheet();
  void add_row(std::span<const SheetCell> cells, Fill fill);
  void put(std::string_view text);
  void add_member(const char* name, std::string_view text);
  bool has_titles() const { return !columns_.empty() && !columns_.front().title.empty(); }

  io::ZipWriter zip_;
  const int64_t rows_per_sheet_;
  std::string name_;
  std::vector<SheetColumn> columns_;
  size_t stubs_ = 0;
  std::optional<SheetChart> chart_;  // of the open sheet
  std::vector<Sheet> sheets_;
  int64_t part_ = 0;    // of the sheets with this name
  int64_t rows_ = 0;    // in the open sheet
  uint64_t bytes_ = 0;  // of it
  std::string row_;     // being put together
  bool open_ = false;
};

}  // namespace plumb::report
