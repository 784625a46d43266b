// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace plumb {
namespace {

// By character: a table, because results have millions of cells.
constexpr auto kQuoted = [] {
  std::array<bool, 256> quoted{};
  for (const char c : {'"', ',', '\r', '\n'}) quoted[static_cast<unsigned char>(c)] = true;
  return quoted;
}();

constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7F; ++c) plain[c] = !kQuoted[c];
  return plain;
}();

bool is_number(std::string_view text) {
  double number = 0;
  text.remove_prefix(text.starts_with('+'));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

void append_quoted(std::string& line, std::string_view mark, std::string_view text) {
  (line += '"') += mark;
  for (size_t quote; (quote = text.find('"')) != text.npos; text.remove_prefix(quote + 1))
    line.append(text, 0, quote + 1) += '"';
  (line += text) += '"';
}

}  // namespace

bool starts_like_formula(std::string_view text) {
  if (text.empty()) return false;
  switch (text.front()) {
    case '=':
    case '+':
    case '-':
    case '@': return true;
    case '\xEF': break;
    default: return false;
  }
  return text.starts_with("＝") || text.starts_with("＋") || text.starts_with("－") ||
         text.starts_with("＠");
}

bool is_formula(std::string_view text) { return starts_like_formula(text) && !is_number(text); }

bool needs_csv_quotes(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return kQuoted[c]; });
}

bool is_plain_csv(std::string_view text) {
  return !starts_like_formula(text) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return kPlain[c]; });
}

void append_csv_quoted(std::string& line, std::string_view text) { append_quoted(line, "", text); }

void append_csv(std::string& line, std::string_view text) {
  if (needs_csv_quotes(text)) return append_csv_quoted(line, text);
  line += text;
}

void append_csv_text(std::string& line, std::string_view text) {
  const std::string_view mark = is_formula(text) ? "'" : "";
  if (needs_csv_quotes(text)) return append_quoted(line, mark, text);
  (line += mark) += text;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

bool CsvReader::next() {
  cells_.clear();
  open_quote_.reset();
  closes_early_ = false;
  if (at_ >= text_.size()) return false;
  const auto take = [&](char c) {
    const bool is_there = at_ < text_.size() && text_[at_] == c;
    at_ += is_there;
    return is_there;
  };
  do {
    std::string& cell = cells_.emplace_back();
    const bool is_quoted = take('"');
    if (is_quoted) take_quoted(cell);
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    closes_early_ |= is_quoted && end > at_;
    cell += text_.substr(at_, end - at_);
    at_ = end;
  } while (take(','));
  take('\r');
  take('\n');
  return true;
}

// From behind the opening quote to behind the closing one.
void CsvReader::take_quoted(std::string& cell) {
  for (const size_t open = at_ - 1;;) {
    const size_t end = text_.find('"', at_);
    if (end == text_.npos) open_quote_ = open_quote_.value_or(open);
    cell += text_.substr(at_, std::min(end, text_.size()) - at_);
    at_ = std::min(end, text_.size() - 1) + 1;
    if (end == text_.npos || at_ == text_.size() || text_[at_] != '"') return;
    cell += text_[at_++];
  }
}

}  // namespace plumb
