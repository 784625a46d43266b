// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dialect/msprobe/real_data.h"

namespace plumb::msprobe {
namespace {

std::string_view as_text(const fmt::format_int& number) { return {number.data(), number.size()}; }

bool is_number(std::string_view text) {
  double number = 0;
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

// By character: whether a csv cell with it has to be quoted.
constexpr auto kQuoted = [] {
  std::array<bool, 256> quoted{};
  for (const char c : {'"', ',', '\r', '\n'}) quoted[static_cast<unsigned char>(c)] = true;
  return quoted;
}();

bool has_quoted(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return kQuoted[c]; });
}

bool starts_like_formula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
}

// A spreadsheet would run a name that starts like a formula; an apostrophe marks it as text.
void append_special(std::string& line, std::string_view text) {
  const bool is_formula = starts_like_formula(text) && !is_number(text);
  const bool is_quoted = has_quoted(text);
  if (is_quoted) line += '"';
  if (is_formula) line += '\'';
  if (!is_quoted) {
    line += text;
    return;
  }
  for (size_t quote; (quote = text.find('"')) != std::string_view::npos;) {
    line += text.substr(0, quote + 1);
    line += '"';
    text.remove_prefix(quote + 1);
  }
  line += text;
  line += '"';
}

}  // namespace

void Cells::clear() {
  text_.clear();
  ends_.clear();
  special_.clear();
}

void Cells::end_number() {
  ends_.push_back({text_.size(), true});
  text_ += ',';
}

void Cells::end_text() {
  ends_.push_back({text_.size(), false});
  const std::string_view cell = (*this)[ends_.size() - 1];
  if (has_quoted(cell) || starts_like_formula(cell)) special_.push_back(ends_.size() - 1);
  text_ += ',';
}

void Cells::append_csv(std::string& line) const {
  size_t done = 0;
  for (size_t i : special_) {
    line.append(text_, done, begin_of(i) - done);
    append_special(line, (*this)[i]);
    done = ends_[i].at;
  }
  line.append(text_, done);
  if (!ends_.empty()) line.pop_back();  // the last comma
}

void Cells::text(std::initializer_list<std::string_view> pieces) {
  for (std::string_view piece : pieces) text_ += piece;
  end_text();
}

void Cells::number(std::optional<double> value) {
  append_number(text_, value);
  end_number();
}

void Cells::percent(std::optional<double> value) {
  append_number(text_, value ? std::optional(*value * 100) : value);
  if (value && std::isfinite(*value)) text_ += '%';
  end_number();
}

void Cells::count(std::optional<int64_t> value) {
  if (value)
    text_ += as_text(fmt::format_int(*value));
  else
    text_ += "N/A";
  end_number();
}

void Cells::shape(const Shape* shape) {
  if (shape == nullptr) return text("N/A");
  text_ += '[';
  for (size_t i = 0; i < shape->size(); ++i) {
    if (i > 0) text_ += ", ";
    text_ += as_text(fmt::format_int((*shape)[i]));
  }
  text_ += ']';
  end_text();
}

}  // namespace plumb::msprobe
