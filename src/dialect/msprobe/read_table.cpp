// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/read_table.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/csv.h"
#include "io/zip.h"

namespace plumb::msprobe {
namespace {

constexpr uint64_t kMaxGrowth = 1000;   // of packed sheets: repeated tags pack well
constexpr size_t kMostColumns = 16384;  // of a sheet

Error damaged(size_t position, std::string_view what) {
  return {"the table cannot be read", fmt::format("byte {}: {}", position, what),
          "write the result again"};
}

void append_utf8(std::string& text, uint32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | (code >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

// &lt; and others; what is no entity stays as it is.
void append_unescaped(std::string& text, std::string_view xml) {
  struct Entity {
    std::string_view name;
    char character;
  };
  constexpr Entity kEntities[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (size_t at; (at = xml.find('&')) != std::string_view::npos;) {
    text += xml.substr(0, at);
    xml.remove_prefix(at);
    const size_t end = xml.find(';');
    std::string_view name = end == std::string_view::npos ? "" : xml.substr(1, end - 1);
    const auto known = std::find_if(std::begin(kEntities), std::end(kEntities),
                                    [&](const Entity& each) { return each.name == name; });
    uint32_t code = 0;
    if (known != std::end(kEntities)) {
      code = static_cast<unsigned char>(known->character);
    } else if (name.starts_with('#')) {
      name.remove_prefix(1);
      const int base = name.starts_with('x') ? 16 : 10;
      if (base == 16) name.remove_prefix(1);
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), code, base);
      if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size() || code > 0x10FFFF)
        code = 0;
    }
    if (code != 0) append_utf8(text, code);
    if (code == 0) text += '&';
    xml.remove_prefix(code != 0 ? end + 1 : 1);
  }
  text += xml;
}

// The tags of a document, one after the other, with the text before each.
class Tags {
 public:
  explicit Tags(std::string_view xml) : xml_(xml) {}

  bool next() {
    const size_t open = xml_.find('<', at_);
    const size_t close = xml_.find('>', open == std::string_view::npos ? at_ : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return false;
    before_ = xml_.substr(at_, open - at_);
    tag_ = xml_.substr(open + 1, close - open - 1);
    at_ = close + 1;
    return true;
  }

  // Without the prefix of its namespace: "c", "/c" at the end.
  bool is(std::string_view name) const {
    std::string_view own = tag_.substr(0, tag_.find_first_of(" \t\r\n/", 1));
    const bool is_end = own.starts_with('/');
    if (is_end != name.starts_with('/')) return false;
    if (is_end) own.remove_prefix(1), name.remove_prefix(1);
    return own.substr(own.find(':') + 1) == name;  // npos + 1 == 0
  }
  bool is_empty() const { return tag_.ends_with('/'); }
  std::string_view before() const { return before_; }

  std::string_view attribute(std::string_view name) const {
    for (size_t at = 0; (at = tag_.find(name, at)) != std::string_view::npos; ++at) {
      const size_t value = at + name.size() + 2;
      if (at == 0 || tag_[at - 1] != ' ' || tag_.substr(at + name.size(), 2) != "=\"") continue;
      const size_t end = tag_.find('"', value);
      if (end == std::string_view::npos) return {};
      return tag_.substr(value, end - value);
    }
    return {};
  }

 private:
  std::string_view xml_, tag_, before_;
  size_t at_ = 0;
};

// 27 of "AB12", counted from 0; nullopt if it is none.
std::optional<size_t> column_of(std::string_view reference) {
  size_t column = 0;
  for (const char c : reference) {
    if (c < 'A' || c > 'Z') break;
    column = column * 26 + static_cast<size_t>(c - 'A' + 1);
    if (column > kMostColumns) return std::nullopt;
  }
  return column == 0 ? std::nullopt : std::optional(column - 1);
}

std::vector<std::string> shared_strings(std::string_view xml) {
  std::vector<std::string> strings;
  for (Tags tags(xml); tags.next();) {
    if (tags.is("si")) strings.emplace_back();
    if (tags.is("/t") && !strings.empty()) append_unescaped(strings.back(), tags.before());
  }
  return strings;
}

Result<void> read_sheet(std::string_view xml, const std::vector<std::string>& shared,
                        const OnRow& on_row) {
  std::vector<std::string> cells;
  std::string_view type;
  for (Tags tags(xml); tags.next();) {
    if (tags.is("row")) {
      cells.clear();
      if (tags.is_empty()) on_row(cells);
    } else if (tags.is("/row")) {
      on_row(cells);
    } else if (tags.is("c")) {
      const size_t column = column_of(tags.attribute("r")).value_or(cells.size());
      if (column < cells.size() || column >= kMostColumns)
        return damaged(0, fmt::format("cell '{}' out of place", tags.attribute("r")));
      cells.resize(column + 1);
      type = tags.attribute("t");
    } else if (tags.is("/v") && !cells.empty()) {
      const std::string_view value = tags.before();
      size_t index = 0;
      if (type != "s") {
        append_unescaped(cells.back(), type == "b" ? (value == "1" ? "True" : "False") : value);
      } else if (std::from_chars(value.data(), value.data() + value.size(), index).ec !=
                     std::errc() ||
                 index >= shared.size()) {
        return damaged(0, fmt::format("text {} of {} wanted", value, shared.size()));
      } else {
        cells.back() = shared[index];
      }
    } else if (tags.is("/t") && !cells.empty()) {
      append_unescaped(cells.back(), tags.before());
    }
  }
  return {};
}

}  // namespace

Result<void> read_csv(std::string_view text, const OnRow& on_row) {
  for (CsvReader reader(text); reader.next(); on_row(reader.cells()))
    if (reader.open_quote()) return damaged(*reader.open_quote(), "a quote that does not end");
  return {};
}

Result<void> read_xlsx(Bytes file, const OnRow& on_row) {
  auto members = io::list_zip(file);
  if (!members) return members.error();
  Buffer scratch;
  const auto text_of = [&](const io::ZipMember& member) -> Result<std::string_view> {
    if (member.error) return *member.error;
    auto data = io::zip_member_data(file, member, kMaxGrowth, scratch);
    if (!data) return data.error();
    return as_text(*data);
  };
  std::vector<std::string> shared;
  struct Sheet {
    int number;
    const io::ZipMember* member;
  };
  std::vector<Sheet> sheets;
  constexpr std::string_view kSheet = "xl/worksheets/sheet";
  for (const io::ZipMember& member : *members) {
    if (member.name == "xl/sharedStrings.xml") {
      auto xml = text_of(member);
      if (!xml) return xml.error();
      shared = shared_strings(*xml);
    }
    if (!member.name.starts_with(kSheet) || !member.name.ends_with(".xml")) continue;
    const std::string_view digits = member.name.substr(kSheet.size());
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    sheets.push_back({number, &member});
  }
  if (sheets.empty())
    return Error{"this is no workbook", "byte 0: a zip archive without xl/worksheets/sheet1.xml",
                 "name a result in .csv or .xlsx"};
  std::stable_sort(sheets.begin(), sheets.end(),
                   [](const Sheet& a, const Sheet& b) { return a.number < b.number; });
  for (const Sheet& sheet : sheets) {
    auto xml = text_of(*sheet.member);
    if (!xml) return xml.error();
    if (auto read = read_sheet(*xml, shared, on_row); !read) return read;
  }
  return {};
}

Result<void> read_table(Bytes file, const OnRow& on_row) {
  return as_text(file).starts_with("PK") ? read_xlsx(file, on_row)
                                         : read_csv(as_text(file), on_row);
}

}  // namespace plumb::msprobe
