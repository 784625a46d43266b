// SPDX-License-Identifier: Apache-2.0
//
// The cells of one line of a result file, all in one text: a result has millions of them, and most
// are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::msprobe {

class Cells {
 public:
  void clear();
  void text(std::string_view text) { (text_ += text), end(false); }
  // Numbers that are not known are N/A.
  void number(std::optional<double> value);
  void percent(std::optional<double> value);  // 0.5 is "50%"
  void count(std::optional<int64_t> value);
  void add(const Cells& others);

  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1].at;
    return std::string_view(text_).substr(begin, ends_[i].at - begin);
  }
  // A number, or what stands for one that there is not.
  bool is_number(size_t i) const { return ends_[i].is_number; }

 private:
  struct End {
    size_t at;
    bool is_number;
  };
  void end(bool is_number) { ends_.push_back({text_.size(), is_number}); }

  std::string text_;
  std::vector<End> ends_;
};

}  // namespace plumb::msprobe
