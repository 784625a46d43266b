// SPDX-License-Identifier: Apache-2.0
//
// Lines for people on a terminal: a word, then text that is wrapped beside it.
#pragma once

#include <string>
#include <string_view>

namespace plumb::report {

class Block {
 public:
  // `width` in columns; 0: no limit.
  Block(size_t width, bool colour) : width_(width), colour_(colour) {}

  void line(std::string_view key, std::string_view text) { wrap(start_of(key), kIndent, text); }
  // `start`, which takes `used` columns, then the words of `text`; what does not fit goes on below.
  void wrap(std::string start, size_t used, std::string_view text);
  // As it is: a command that will be copied, a picture.
  void verbatim(std::string_view key, std::string_view text);
  const std::string& text() const { return text_; }

 private:
  static constexpr size_t kIndent = 12;
  std::string start_of(std::string_view key) const;
  size_t width_;
  bool colour_;
  std::string text_;
};

}  // namespace plumb::report
