// SPDX-License-Identifier: Apache-2.0
//
// The cells of one line of a result file, all in one text with commas between them: a result has
// millions of cells, most are numbers, and few need quotes in a csv file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace plumb::msprobe {

inline constexpr std::string_view kNotKnown = "N/A";

class Cells {
 public:
  void clear();
  void text(std::string_view text) { this->text({text}); }
  void text(std::initializer_list<std::string_view> pieces);
  void word(std::string_view word);  // text of ours, with nothing to quote
  // What is not known is N/A.
  void number(std::optional<double> value);
  void percent(std::optional<double> value);  // 0.5 is "50%"
  void count(std::optional<int64_t> value);
  void shape(const Shape* shape);  // "[1, 64, 112]"

  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(text_).substr(begin_of(i), ends_[i].at - begin_of(i));
  }
  // A number, or what stands for one that there is not.
  bool is_number(size_t i) const { return ends_[i].is_number; }
  void append_csv(std::string& line) const;

 private:
  struct End {
    size_t at;
    bool is_number;
  };
  size_t begin_of(size_t i) const { return i == 0 ? 0 : ends_[i - 1].at + 1; }
  void end(bool is_number);
  void end_text();

  std::string text_;
  std::vector<End> ends_;
  std::vector<size_t> special_;  // cells that a csv file has to quote, or perhaps to defuse
};

}  // namespace plumb::msprobe
