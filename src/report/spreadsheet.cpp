// SPDX-License-Identifier: Apache-2.0
#include "report/spreadsheet.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/number_from_text.h"
#include "report/text.h"

namespace plumb::report {
namespace {

// A member of the archive must stay below 4 GiB; no row comes near the difference.
constexpr uint64_t kMostSheetBytes = 4'000'000'000;

constexpr std::string_view kXml = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
constexpr std::string_view kMain = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kPackage = "http://schemas.openxmlformats.org/package/2006";
constexpr std::string_view kType =
    "application/vnd.openxmlformats-officedocument.spreadsheetml.{}+xml";

// Four formats for each fill: as it is, and for what starts like a formula, whose prefix keeps such
// a text a text even when somebody edits the cell; then both with lines that wrap.
size_t format_of(Fill fill, bool is_quoted, bool wraps) {
  return 4 * static_cast<size_t>(fill) + 2 * wraps + is_quoted;
}

std::string styles() {
  constexpr std::string_view kFont =
      "<sz val=\"11\"/><color rgb=\"FF000000\"/><name val=\"Calibri\"/><family val=\"2\"/></font>";
  std::string fills, formats;
  // In the order of Fill, behind two that are reserved. Black reads well on all of them.
  for (std::string_view colour : {"FFFF0000", "FFFFFF00", "FF92D050", "FFEDEDED", "FFD9D9D9",
                                  "FFFBD9DE", "FFFDF0C8", "FFE2F2EC", "FFF29AA6"})
    fills += fmt::format(
        "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"{}\"/>"
        "</patternFill></fill>",
        colour);
  constexpr int kTitle = 6, kBroken = 10;
  for (int fill : {0, 2, 3, 4, 5, kTitle, 7, 8, 9, kBroken})
    for (std::string_view wrapping : {"", " horizontal=\"left\" wrapText=\"1\""})
      for (std::string_view prefix : {"", " quotePrefix=\"1\""})
        formats += fmt::format(
            "<xf numFmtId=\"0\" fontId=\"{}\" fillId=\"{}\" borderId=\"0\" "
            "xfId=\"0\"{} applyFont=\"1\" applyFill=\"1\" applyAlignment=\"1\">"
            "<alignment vertical=\"top\"{}/></xf>",
            fill == kTitle || fill == kBroken ? 1 : 0, fill, prefix, wrapping);
  return fmt::format(
      "<styleSheet xmlns=\"{}\"><fonts count=\"2\"><font>{}<font><b/>{}</fonts><fills count=\"11\">"
      "<fill><patternFill patternType=\"none\"/></fill>"
      "<fill><patternFill patternType=\"gray125\"/></fill>{}</fills><borders count=\"1\"><border>"
      "<left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count=\"1\">"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>"
      "<cellXfs count=\"40\">{}</cellXfs><cellStyles count=\"1\">"
      "<cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>",
      kMain, kFont, kFont, fills, formats);
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// "_x000D_" stands for a character; a name that has it by itself has its first underscore so.
bool is_code(std::string_view text) {
  return text.size() >= 7 && text.starts_with("_x") && text[6] == '_' &&
         std::all_of(text.begin() + 2, text.begin() + 6, is_hex);
}

void append_escaped(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '_' && is_code(text.substr(i)))
      out += "_x005F_";
    else if (text.substr(i, 2) == "\xef\xbf" && text.substr(i + 2, 1) >= "\xbe")
      out += text[i + 2] == '\xbe' ? "\\xef\\xbf\\xbe" : "\\xef\\xbf\\xbf", i += 2;  // no character
    else
      out += c;
  }
}

// Printable but for ends of lines, and cut to what a cell holds.
std::string fitting(std::string_view text) {
  std::string safe;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    safe += printable(text.substr(at, end - at));
    if (end < text.size()) safe += '\n';
    at = end + 1;
  }
  if (safe.size() <= kMostCellCharacters) return safe;  // no fewer bytes than characters
  constexpr size_t kRoomForMark = 40;
  size_t characters = 0, cut = 0;
  for (size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    if ((byte & 0xC0) == 0x80) continue;
    if (characters <= kMostCellCharacters - kRoomForMark) cut = i;
    characters += byte >= 0xF0 ? 2 : 1;
  }
  if (characters <= kMostCellCharacters) return safe;
  return safe.substr(0, cut) + fmt::format("… [cut: {} characters]", characters);
}

// How many lines the cells need that wrap; letters are narrower than the digits that widths count.
size_t lines_of(std::span<const SheetCell> cells, const std::vector<SheetColumn>& columns) {
  size_t most = 1;
  for (size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) {
    if (!columns[i].wraps) continue;
    const std::string_view text = cells[i].text();
    const auto width = std::max<size_t>(1, static_cast<size_t>(columns[i].width));
    size_t lines = 0;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines += 1 + (end - at) / width;
      at = end + 1;
    }
    most = std::max(most, lines);
  }
  return most;
}

}  // namespace

SheetCell SheetCell::number(double number) {
  SheetCell cell(std::isnan(number) ? "nan" : fmt::format("{}", number));
  cell.is_number_ = std::isfinite(number);
  return cell;
}

SheetCell SheetCell::count(std::optional<int64_t> count) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (!count) return {};
  SheetCell cell(fmt::to_string(*count));
  cell.is_number_ = *count >= -kExact && *count <= kExact;
  return cell;
}

SheetCell SheetCell::number(std::string text) {
  const auto number = number_from_text<double>(text);
  const bool is_number = number && std::isfinite(*number);
  SheetCell cell(std::move(text));
  cell.is_number_ = is_number;
  return cell;
}

Spreadsheet::Spreadsheet(FileSink& out, int64_t rows_per_sheet)
    : zip_(out, io::ZipWriter::Packing::kDeflated), rows_per_sheet_(rows_per_sheet) {
  add_member("_rels/.rels",
             fmt::format("<Relationships xmlns=\"{}/relationships\"><Relationship Id=\"rId1\" "
                         "Type=\"{}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>",
                         kPackage, kOfficeRelations));
}

void Spreadsheet::begin(std::string name, std::vector<SheetColumn> columns, size_t stubs) {
  end_sheet();
  stubs_ = stubs;
  name_ = std::move(name);
  columns_ = std::move(columns);
  part_ = 0;
  begin_sheet();
}

void Spreadsheet::add(std::span<const SheetCell> cells, Fill fill) {
  if (rows_ == rows_per_sheet_ || bytes_ > kMostSheetBytes) {
    end_sheet();
    begin_sheet();
  }
  add_row(cells, fill);
}

void Spreadsheet::begin_sheet() {
  ++part_;
  sheets_.emplace_back().name = part_ == 1 ? name_ : fmt::format("{} {}", name_, part_);
  (void)zip_.begin(fmt::format("xl/worksheets/sheet{}.xml", sheets_.size()));
  open_ = true;
  rows_ = 0;
  bytes_ = 0;
  put(kXml);
  put(fmt::format(
      "<worksheet xmlns=\"{}\" xmlns:r=\"{}\">{}<sheetViews><sheetView {}workbookViewId=\"0\"{}"
      "</sheetViews>",
      kMain, kOfficeRelations,
      stubs_ == 0 ? "<sheetPr><pageSetUpPr fitToPage=\"1\"/></sheetPr>" : "",
      sheets_.size() == 1 ? "tabSelected=\"1\" " : "",
      has_titles() ? "><pane ySplit=\"1\" topLeftCell=\"A2\" "
                     "activePane=\"bottomLeft\" state=\"frozen\"/></sheetView>"
                   : "/>"));
  std::vector<SheetCell> titles;
  if (!columns_.empty()) put("<cols>");
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto& [title, width, wraps] = columns_[i];
    // Room for the button of the filter.
    const double room = width > 0 ? width : std::max(static_cast<double>(title.size()) + 4, 14.0);
    put(fmt::format("<col min=\"{0}\" max=\"{0}\" width=\"{1}\" customWidth=\"1\"/>", i + 1, room));
    titles.emplace_back(title);
  }
  if (!columns_.empty()) put("</cols>");
  put("<sheetData>");
  if (has_titles()) add_row(titles, Fill::kTitle);
}

void Spreadsheet::add_row(std::span<const SheetCell> cells, Fill fill) {
  ++rows_;
  row_.clear();
  const auto out = std::back_inserter(row_);
  fmt::format_to(out, "<row r=\"{}\"", rows_);
  // Not every program makes room for wrapped lines by itself.
  if (const size_t lines = lines_of(cells, columns_); lines > 1)
    fmt::format_to(out, " ht=\"{}\" customHeight=\"1\"", std::min<size_t>(15 * lines, 405));
  row_ += '>';
  for (size_t i = 0; i < cells.size(); ++i) {
    const SheetCell& cell = cells[i];
    if (cell.text().empty() && fill == Fill::kNone) continue;
    const bool is_quoted = !cell.is_number() && starts_like_formula(cell.text());
    fmt::format_to(
        out, "<c r=\"{}{}\" s=\"{}\"", column_name(i), rows_,
        format_of(cell.fill_on(fill), is_quoted, i < columns_.size() && columns_[i].wraps));
    if (cell.text().empty()) {
      row_ += "/>";
    } else if (cell.is_number()) {
      fmt::format_to(out, "><v>{}</v></c>", cell.text());
    } else {
      const std::string text = fitting(cell.text());
      const bool keeps_blanks =
          text.front() == ' ' || text.back() == ' ' || text.find('\n') != text.npos;
      fmt::format_to(out, " t=\"inlineStr\"><is><t{}>",
                     keeps_blanks ? " xml:space=\"preserve\"" : "");
      append_escaped(text, row_);
      row_ += "</t></is></c>";
    }
  }
  row_ += "</row>";
  put(row_);
}

void Spreadsheet::end_sheet() {
  if (!open_) return;
  open_ = false;
  put("</sheetData>");
  if (has_titles()) {
    const std::string last = column_name(columns_.size() - 1);
    put(fmt::format("<autoFilter ref=\"A1:{}{}\"/>", last, rows_));
    Sheet& sheet = sheets_.back();
    sheet.range = fmt::format("$A$1:${}${}", last, rows_);
    sheet.print_titles = fmt::format("'{}'!$1:$1", sheet.name);
    if (stubs_ > 0)
      sheet.print_titles =
          fmt::format("'{}'!$A:${},{}", sheet.name, column_name(stubs_ - 1), sheet.print_titles);
  }
  put(fmt::format(
      "<pageMargins left=\"0.4\" right=\"0.4\" top=\"0.5\" bottom=\"0.5\" header=\"0.2\" "
      "footer=\"0.2\"/><pageSetup paperSize=\"9\" {} orientation=\"landscape\"/>"
      "<headerFooter><oddFooter>&amp;L&amp;A&amp;R&amp;P / &amp;N</oddFooter></headerFooter>",
      stubs_ == 0 ? "fitToHeight=\"0\"" : "scale=\"60\""));
  const std::optional<SheetChart> chart = std::exchange(chart_, std::nullopt);
  sheets_.back().has_chart = chart && rows_ > 1;
  if (sheets_.back().has_chart) put("<drawing r:id=\"rId1\"/>");
  put("</worksheet>");
  if (sheets_.back().has_chart) add_chart(*chart, sheets_.back(), rows_);
}

// A sheet names a drawing, the drawing names the chart.
void Spreadsheet::add_chart(const SheetChart& chart, const Sheet& sheet, int64_t last) {
  const size_t number = sheets_.size();
  const auto relation = [&](std::string_view kind, std::string_view folder) {
    return fmt::format(
        "<Relationships xmlns=\"{}/relationships\"><Relationship Id=\"rId1\" Type=\"{}/{}\" "
        "Target=\"../{}/{}{}.xml\"/></Relationships>",
        kPackage, kOfficeRelations, kind, folder, kind, number);
  };
  const auto name = [&](std::string_view form) { return fmt::format(fmt::runtime(form), number); };
  add_member(name("xl/worksheets/_rels/sheet{}.xml.rels").c_str(), relation("drawing", "drawings"));
  add_member(name("xl/drawings/drawing{}.xml").c_str(), chart_place_xml(columns_.size() + 1));
  add_member(name("xl/drawings/_rels/drawing{}.xml.rels").c_str(), relation("chart", "charts"));
  add_member(name("xl/charts/chart{}.xml").c_str(), chart_xml(chart, sheet.name, last));
}

void Spreadsheet::finish() {
  if (sheets_.empty()) begin("Sheet", {});
  end_sheet();
  std::string types, relations, sheets, names;
  for (size_t i = 0; i < sheets_.size(); ++i) {
    types += fmt::format("<Override PartName=\"/xl/worksheets/sheet{}.xml\" ContentType=\"{}\"/>",
                         i + 1, fmt::format(kType, "worksheet"));
    if (sheets_[i].has_chart)
      types += fmt::format(
          "<Override PartName=\"/xl/drawings/drawing{0}.xml\" ContentType=\"application/"
          "vnd.openxmlformats-officedocument.drawing+xml\"/><Override PartName=\"/xl/charts/"
          "chart{0}.xml\" ContentType=\"application/"
          "vnd.openxmlformats-officedocument.drawingml.chart+xml\"/>",
          i + 1);
    relations += fmt::format(
        "<Relationship Id=\"rId{0}\" Type=\"{1}/worksheet\" Target=\"worksheets/sheet{0}.xml\"/>",
        i + 1, kOfficeRelations);
    sheets += fmt::format("<sheet name=\"{0}\" sheetId=\"{1}\" r:id=\"rId{1}\"/>", sheets_[i].name,
                          i + 1);
    if (!sheets_[i].range.empty())
      names += fmt::format(
          "<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"{}\" "
          "hidden=\"1\">'{}'!{}</definedName>"
          "<definedName name=\"_xlnm.Print_Titles\" localSheetId=\"{}\">{}</definedName>",
          i, sheets_[i].name, sheets_[i].range, i, sheets_[i].print_titles);
  }
  add_member("xl/workbook.xml",
             fmt::format("<workbook xmlns=\"{}\" xmlns:r=\"{}\"><bookViews><workbookView/>"
                         "</bookViews><sheets>{}</sheets>{}</workbook>",
                         kMain, kOfficeRelations, sheets,
                         names.empty() ? "" : "<definedNames>" + names + "</definedNames>"));
  add_member("xl/_rels/workbook.xml.rels",
             fmt::format("<Relationships xmlns=\"{}/relationships\">{}<Relationship Id=\"rId{}\" "
                         "Type=\"{}/styles\" Target=\"styles.xml\"/></Relationships>",
                         kPackage, relations, sheets_.size() + 1, kOfficeRelations));
  add_member("xl/styles.xml", styles());
  add_member(
      "[Content_Types].xml",
      fmt::format("<Types xmlns=\"{}/content-types\"><Default Extension=\"rels\" "
                  "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
                  "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
                  "<Override PartName=\"/xl/workbook.xml\" ContentType=\"{}\"/>"
                  "<Override PartName=\"/xl/styles.xml\" ContentType=\"{}\"/>{}</Types>",
                  kPackage, fmt::format(kType, "sheet.main"), fmt::format(kType, "styles"), types));
  zip_.finish();
}

void Spreadsheet::put(std::string_view text) {
  bytes_ += text.size();
  zip_.write(as_bytes(text));
}

void Spreadsheet::add_member(const char* name, std::string_view text) {
  (void)zip_.begin(name);  // refuses only names that are too long
  put(kXml);
  put(text);
}

}  // namespace plumb::report
