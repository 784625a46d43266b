// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/cells.h"

#include <cmath>

#include <fmt/format.h>

#include "base/csv.h"
#include "dialect/msprobe/real_data.h"

namespace plumb::msprobe {
namespace {

std::string_view digits_of(const fmt::format_int& number) { return {number.data(), number.size()}; }

}  // namespace

void Cells::clear() {
  text_.clear();
  ends_.clear();
  special_.clear();
}

void Cells::end(bool is_number) {
  ends_.push_back({text_.size(), is_number});
  text_ += ',';
}

void Cells::end_text() {
  const auto cell = std::string_view(text_).substr(begin_of(ends_.size()));
  if (needs_csv_quotes(cell) || starts_like_formula(cell)) special_.push_back(ends_.size());
  end(false);
}

void Cells::append_csv(std::string& line) const {
  size_t done = 0;
  for (size_t i : special_) {
    line.append(text_, done, begin_of(i) - done);
    append_csv_text(line, (*this)[i]);
    done = ends_[i].at;
  }
  line.append(text_, done);
  if (!ends_.empty()) line.pop_back();  // the last comma
}

void Cells::text(std::initializer_list<std::string_view> pieces) {
  for (std::string_view piece : pieces) text_ += piece;
  end_text();
}

void Cells::word(std::string_view word) {
  text_ += word;
  end(false);
}

void Cells::number(std::optional<double> value) {
  append_number(text_, value);
  end(true);
}

void Cells::percent(std::optional<double> value) {
  append_number(text_, value ? std::optional(*value * 100) : value);
  if (value && std::isfinite(*value)) text_ += '%';
  end(true);
}

void Cells::count(std::optional<int64_t> value) {
  if (value)
    text_ += digits_of(fmt::format_int(*value));
  else
    text_ += "N/A";
  end(true);
}

void Cells::shape(const Shape* shape) {
  if (shape == nullptr) return word("N/A");
  text_ += '[';
  for (size_t i = 0; i < shape->size(); ++i) {
    if (i > 0) text_ += ", ";
    text_ += digits_of(fmt::format_int((*shape)[i]));
  }
  text_ += ']';
  if (shape->size() > 1) special_.push_back(ends_.size());
  end(false);
}

}  // namespace plumb::msprobe
