// SPDX-License-Identifier: Apache-2.0
#include "graph/proto_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_from_text.h"

namespace plumb::graph {
namespace {

constexpr size_t kMaxDepth = 100;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_word(char c) { return is_name(c) || c == '.' || c == '-' || c == '+'; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\v';
}

// The value of a digit in any base; 99 for what is none.
unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 99;
}

// Up to `most` digits at `at`, which moves behind them.
uint32_t read_digits(std::string_view text, size_t& at, unsigned base, int most) {
  uint32_t value = 0;
  for (; most > 0 && at < text.size() && digit(text[at]) < base; --most, ++at)
    value = value * base + digit(text[at]);
  return value;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xFF00 >> (more + 1) & 0xFF) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

// The escape sequence after a backslash; `at` is behind the backslash and moves behind it all.
void append_escaped(std::string& out, std::string_view text, size_t& at) {
  const char c = text[at++];
  constexpr std::string_view kLetters = "ntrabfv", kMeanings = "\n\t\r\a\b\f\v";
  if (const size_t known = kLetters.find(c); known != kLetters.npos) {
    out += kMeanings[known];
  } else if (digit(c) < 8) {
    out += static_cast<char>(read_digits(text, --at, 8, 3));
  } else if ((c == 'x' || c == 'X') && at < text.size() && digit(text[at]) < 16) {
    out += static_cast<char>(read_digits(text, at, 16, 2));
  } else if (c == 'u' || c == 'U') {
    append_utf8(out, std::min(read_digits(text, at, 16, c == 'u' ? 4 : 8), 0x10FFFFu));
  } else {
    out += c;
  }
}

}  // namespace

std::string ProtoTextField::text() const {
  if (kind == Kind::kMessage) return {};
  if (kind == Kind::kWord) return std::string(value);
  std::string out;
  char quote = '\0';  // of the piece we are in
  for (size_t at = 0; at < value.size();) {
    const char c = value[at++];
    if (quote == '\0') {
      if (c == '#') at = std::min(value.find('\n', at), value.size());
      if (is_quote(c)) quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\' && at < value.size()) {
      append_escaped(out, value, at);
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<int64_t> ProtoTextField::integer() const {
  if (kind != Kind::kWord) return std::nullopt;
  return number_from_text<int64_t>(value);
}

std::optional<double> ProtoTextField::number() const {
  if (kind != Kind::kWord) return std::nullopt;
  std::string_view word = value;
  if (word.ends_with('f') && !word.ends_with("inf")) word.remove_suffix(1);
  return number_from_text<double>(word);
}

std::optional<bool> ProtoTextField::boolean() const {
  if (value == "true" || value == "True" || value == "t" || value == "1") return true;
  if (value == "false" || value == "False" || value == "f" || value == "0") return false;
  return std::nullopt;
}

bool ProtoTextReader::next(ProtoTextField& field) {
  if (!ok()) return false;
  if (has_message_) skip_message();
  while (ok()) {
    skip_blank();
    Frame& frame = frames_.back();
    if (at_ == text_.size()) {
      if (frame.in_list) fail(at_, fmt::format("the file ends inside list '{}'", frame.list_name));
      if (frame.close != '\0')
        fail(at_,
             fmt::format("the file ends inside the message opened in {}", place(frame.opened)));
      return false;
    }
    const char c = text_[at_];
    if (c == ',' || (c == ';' && !frame.in_list)) {
      ++at_;
    } else if (frame.in_list) {
      if (c != ']') {
        field = {frame.list_name, {}, {}, at_};
        return read_value(field);
      }
      frame.in_list = false;
      ++at_;
    } else if (c == '}' || c == '>') {
      if (c != frame.close) {
        fail(at_, fmt::format("'{}' closes nothing that is open", c));
        return false;
      }
      ++at_;
      frames_.pop_back();
      return false;
    } else {
      if (read_field(field)) return true;
    }
  }
  return false;
}

// A name and its value. False if a list begins instead, or if something is wrong.
bool ProtoTextReader::read_field(ProtoTextField& field) {
  const size_t start = at_;
  if (text_[at_] == '[') {  // an extension; nothing we know
    at_ = std::min(text_.find_first_of("]\n", at_), text_.size() - 1) + 1;
  } else {
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  }
  field = {text_.substr(start, at_ - start), {}, {}, start};
  if (field.name.empty()) {
    fail(start, "a field name was expected");
    return false;
  }
  skip_blank();
  const bool has_colon = at_ < text_.size() && text_[at_] == ':';
  if (has_colon) {
    ++at_;
    skip_blank();
  }
  const char opening = at_ < text_.size() ? text_[at_] : '\0';
  if (opening == '[') {
    ++at_;
    frames_.back().in_list = true;
    frames_.back().list_name = field.name;
    return false;
  }
  if (!has_colon && opening != '{' && opening != '<') {
    fail(start, fmt::format("field '{}' has no value", field.name.substr(0, 100)));
    return false;
  }
  return read_value(field);
}

bool ProtoTextReader::read_value(ProtoTextField& field) {
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  const size_t start = at_;
  if (c == '{' || c == '<') {
    field.kind = ProtoTextField::Kind::kMessage;
    ++at_;
    has_message_ = true;
    return true;
  }
  if (is_quote(c)) return read_texts(field);
  field.kind = ProtoTextField::Kind::kWord;
  if (c == '-') {  // may stand apart from its number
    ++at_;
    const size_t sign = at_;
    skip_blank();
    if (at_ != sign) {  // then the value is not one word, and nobody needs it
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      field.value = text_.substr(start, at_ - start);
      return true;
    }
  }
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  field.value = text_.substr(start, at_ - start);
  if (!field.value.empty()) return true;
  fail(start, fmt::format("field '{}' has no value", field.name.substr(0, 100)));
  return false;
}

// One or more texts in a row, which belong together.
bool ProtoTextReader::read_texts(ProtoTextField& field) {
  field.kind = ProtoTextField::Kind::kText;
  const size_t start = at_;
  size_t end = at_;
  while (at_ < text_.size() && is_quote(text_[at_])) {
    if (!skip_text()) return false;
    end = at_;
    skip_blank();
  }
  field.value = text_.substr(start, end - start);
  return true;
}

bool ProtoTextReader::skip_text() {
  const size_t start = at_;
  const char quote = text_[at_++];
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n')
    at_ += text_[at_] == '\\' ? 2 : 1;
  if (at_ >= text_.size() || text_[at_] == '\n') {
    at_ = std::min(at_, text_.size());
    fail(start, "a quoted text does not end in its line");
    return false;
  }
  ++at_;
  return true;
}

void ProtoTextReader::skip_message() {
  has_message_ = false;
  const size_t opened = at_ - 1;
  for (size_t depth = 1; depth > 0;) {
    if (at_ == text_.size())
      return fail(at_, fmt::format("the file ends inside the message opened in {}", place(opened)));
    const char c = text_[at_];
    if (is_quote(c)) {
      if (!skip_text()) return;
    } else if (c == '#') {
      skip_blank();
    } else {
      if (c == '{' || c == '<') ++depth;
      if (c == '}' || c == '>') --depth;
      ++at_;
    }
  }
}

void ProtoTextReader::enter() {
  if (!ok() || !has_message_) return;
  has_message_ = false;
  if (frames_.size() > kMaxDepth)
    return fail(at_ - 1, fmt::format("messages are nested more than {} deep", kMaxDepth));
  frames_.push_back({text_[at_ - 1] == '{' ? '}' : '>', at_ - 1, false, {}});
}

void ProtoTextReader::skip_blank() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool ProtoTextReader::is_message(const ProtoTextField& field) {
  if (field.kind == ProtoTextField::Kind::kMessage) return true;
  fail(field.position, fmt::format("'{}' is not a message", field.name));
  return false;
}

int64_t ProtoTextReader::integer(const ProtoTextField& field) {
  const auto value = field.integer();
  if (!value) fail(field.position, fmt::format("'{}' is not an integer", field.name));
  return value.value_or(0);
}

Shape ProtoTextReader::dims() {
  enter();
  Shape shape;
  ProtoTextField field;
  while (next(field))
    if (field.name == "dim") shape.push_back(integer(field));
  return shape;
}

void ProtoTextReader::fail(size_t position, std::string problem) {
  if (!ok()) return;
  failed_at_ = position;
  problem_ = std::move(problem);
}

std::string ProtoTextReader::place(size_t position) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, position - line_start + 1);
}

std::string ProtoTextReader::where() const { return place(failed_at_) + ": " + problem_; }

}  // namespace plumb::graph
