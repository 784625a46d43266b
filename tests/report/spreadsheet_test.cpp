// SPDX-License-Identifier: Apache-2.0
//
// The parts of a workbook as they are stored. check_xlsx.py reads whole ones with another program.
#include "report/spreadsheet.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "scratch.h"

namespace plumb::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// The parts of a workbook by name.
class Parts {
 public:
  explicit Parts(const std::function<void(Spreadsheet&)>& fill, int64_t rows_per_sheet = 1000) {
    const auto path = scratch_.path() / "book.xlsx";
    auto sink = FileSink::create(path);
    Spreadsheet book(*sink, rows_per_sheet);
    fill(book);
    book.finish();
    EXPECT_TRUE(sink->commit().ok());
    auto file = MappedFile::open(path);
    auto members = io::list_zip(file->bytes());
    EXPECT_TRUE(members.ok());
    for (const io::ZipMember& member : *members) {
      Buffer scratch;
      auto data = io::zip_member_data(file->bytes(), member, 2000, scratch);
      EXPECT_TRUE(data.ok());
      parts_[std::string(member.name)] = std::string(as_text(*data));
    }
  }
  bool has(const std::string& name) const { return parts_.contains(name); }
  std::string operator[](const std::string& name) const { return parts_.at(name); }
  std::string sheet(int number) const {
    return parts_.at("xl/worksheets/sheet" + std::to_string(number) + ".xml");
  }

 private:
  Scratch scratch_;
  std::map<std::string, std::string> parts_;
};

std::string cell_of(const SheetCell& cell, Fill fill = Fill::kNone) {
  const std::string sheet = Parts([&](Spreadsheet& book) {
                              book.begin("S", {});
                              book.add({cell}, fill);
                            }).sheet(1);
  const size_t begin = sheet.find("<row r=\"1\">") + 11;
  return sheet.substr(begin, sheet.find("</row>") - begin);
}

std::string as_stored(const std::string& text, int format = 0, bool keeps_blanks = false) {
  return "<c r=\"A1\" s=\"" + std::to_string(format) + "\" t=\"inlineStr\"><is><t" +
         (keeps_blanks ? " xml:space=\"preserve\">" : ">") + text + "</t></is></c>";
}

TEST(Spreadsheet, TextsStayTexts) {
  struct Case {
    const char* what;
    std::string text, stored;
  };
  const Case cases[] = {
      {"plain", "conv1", as_stored("conv1")},
      {"markup", "<a & b>", as_stored("&lt;a &amp; b&gt;")},
      {"formula", "=1+1", as_stored("=1+1", 1)},
      {"program", "=cmd|' /C calc'!A0", as_stored("=cmd|' /C calc'!A0", 1)},
      {"sum", "@SUM(A1)", as_stored("@SUM(A1)", 1)},
      {"wide formula", "＝1", as_stored("＝1", 1)},
      {"number in a name", "1e5", as_stored("1e5")},
      {"control characters", std::string("a\x01\x1b\0b", 5), as_stored("a\\x01\\x1b\\x00b")},
      {"no UTF-8", "a\xff", as_stored("a\\xff")},
      {"no character", "a\uffff\ufffe", as_stored("a\\xef\\xbf\\xbf\\xef\\xbf\\xbe")},
      {"replacement character", "a\ufffd", as_stored("a\ufffd")},
      {"emoji", "🔥", as_stored("🔥")},
      {"code of a character", "_x0041_x", as_stored("_x005F_x0041_x")},
      {"almost one", "_x004_ _xzzzz_", as_stored("_x004_ _xzzzz_")},
      {"lines", "a\nb\r", as_stored("a\nb\\x0d", 0, true)},
      {"blanks", " a", as_stored(" a", 0, true)},
  };
  for (const Case& c : cases) EXPECT_EQ(cell_of(c.text), c.stored) << c.what;
}

TEST(Spreadsheet, LongTextsAreCut) {
  const auto text_in = [](const std::string& text) {
    const std::string cell = cell_of(text);
    const size_t begin = cell.find("<t>") + 3;
    return cell.substr(begin, cell.find("</t>") - begin);
  };
  EXPECT_EQ(text_in(std::string(32767, 'x')), std::string(32767, 'x'));
  const std::string cut = text_in(std::string(32768, 'x'));
  EXPECT_LE(cut.size(), 32767u);
  EXPECT_THAT(cut, testing::EndsWith("xx… [cut: 32768 characters]"));
  std::string fire;  // two characters of UTF-16 each, four bytes
  for (int i = 0; i < 16383; ++i) fire += "🔥";
  EXPECT_EQ(text_in(fire), fire);
  EXPECT_THAT(text_in(fire + "🔥"), testing::EndsWith("🔥… [cut: 32768 characters]"));
}

TEST(Spreadsheet, NumbersAreExactOrTexts) {
  EXPECT_EQ(cell_of(SheetCell::number(0.1 + 0.2)),
            "<c r=\"A1\" s=\"0\"><v>0.30000000000000004</v></c>");
  EXPECT_EQ(cell_of(SheetCell::number(-1e-310)), "<c r=\"A1\" s=\"0\"><v>-1e-310</v></c>");
  EXPECT_EQ(cell_of(SheetCell::number(std::nan(""))), as_stored("nan"));
  EXPECT_EQ(cell_of(SheetCell::number(-std::numeric_limits<double>::infinity())),
            as_stored("-inf", 1));
  EXPECT_EQ(cell_of(SheetCell::count(int64_t{1} << 53)),
            "<c r=\"A1\" s=\"0\"><v>9007199254740992</v></c>");
  EXPECT_EQ(cell_of(SheetCell::count((int64_t{1} << 53) + 1)), as_stored("9007199254740993"));
  EXPECT_EQ(cell_of(SheetCell::count({})), "");
  EXPECT_EQ(cell_of(SheetCell::number("0.25")), "<c r=\"A1\" s=\"0\"><v>0.25</v></c>");
  for (const char* text : {"N/A", "inf", "nan", "25%", "0x10", "1e999", "1 2"})
    EXPECT_EQ(cell_of(SheetCell::number(text)), as_stored(text)) << text;
}

TEST(Spreadsheet, FillsReachEmptyCells) {
  EXPECT_EQ(cell_of({}, Fill::kRed), "<c r=\"A1\" s=\"4\"/>");
  EXPECT_EQ(cell_of("=1", Fill::kGreen), as_stored("=1", 13));
  EXPECT_EQ(cell_of(SheetCell("x").on(Fill::kBroken), Fill::kFail), as_stored("x", 36));
  EXPECT_EQ(cell_of({}), "");
}

TEST(Spreadsheet, RowsGoOnInTheNextSheet) {
  const Parts parts(
      [](Spreadsheet& book) {
        book.begin("Rows", {{"id"}, {"name", 30}});
        for (int64_t i = 0; i < 5; ++i) book.add({SheetCell::count(i), "x"}, Fill::kGreen);
        book.begin("Last", {{"id"}});
      },
      3);
  EXPECT_TRUE(parts.has("xl/worksheets/sheet4.xml"));
  EXPECT_FALSE(parts.has("xl/worksheets/sheet5.xml"));
  for (const char* name : {"\"Rows\"", "\"Rows 2\"", "\"Rows 3\"", "\"Last\""})
    EXPECT_THAT(parts["xl/workbook.xml"], HasSubstr(name));
  EXPECT_THAT(parts["xl/workbook.xml"], HasSubstr(">'Rows 3'!$A$1:$B$2<"));
  EXPECT_THAT(parts.sheet(2), HasSubstr("<c r=\"A2\" s=\"12\"><v>2</v></c>"));
  EXPECT_THAT(parts.sheet(3), HasSubstr("<c r=\"A2\" s=\"12\"><v>4</v></c>"));
  EXPECT_THAT(parts.sheet(3), HasSubstr("<t>name</t>"));
  EXPECT_THAT(parts.sheet(3), HasSubstr("<autoFilter ref=\"A1:B2\"/>"));
  EXPECT_THAT(parts.sheet(1), HasSubstr("tabSelected"));
  EXPECT_THAT(parts.sheet(2), Not(HasSubstr("tabSelected")));
}

TEST(Spreadsheet, ColumnsBeyondTheAlphabet) {
  const std::string sheet = Parts([](Spreadsheet& book) {
                              book.begin("Wide", {});
                              std::vector<SheetCell> cells(703, "x");
                              book.add(cells);
                            }).sheet(1);
  for (const char* place : {"\"Z1\"", "\"AA1\"", "\"ZZ1\"", "\"AAA1\""})
    EXPECT_THAT(sheet, HasSubstr(place));
}

TEST(Spreadsheet, AWorkbookHasASheet) {
  EXPECT_TRUE(Parts([](Spreadsheet&) {}).has("xl/worksheets/sheet1.xml"));
}

}  // namespace
}  // namespace plumb::report
