// SPDX-License-Identifier: Apache-2.0
//
// Text that is the same for many of many thousand objects: copies share it, it takes the room of a
// pointer, and is read like a std::string.
#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/shared.h"

namespace plumb {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) {
    if (!text.empty()) text_ = Shared<const std::string>::make(std::move(text));
  }
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& str() const {
    static const std::string kNone;
    return text_ ? *text_ : kNone;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return !text_; }
  size_t size() const { return str().size(); }
  void clear() { text_ = {}; }
  SharedText& operator+=(std::string_view more) {
    return *this = SharedText(str() + std::string(more));
  }
  bool is_same_as(const SharedText& other) const { return text_.get() == other.text_.get(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.is_same_as(b) || a.str() == b.str();
  }
  friend auto operator<=>(const SharedText& a, const SharedText& b) { return a.str() <=> b.str(); }
  template <class T>
  requires std::convertible_to<const T&, std::string_view> &&
      (!std::same_as<T, SharedText>)friend bool
      operator==(const SharedText& a, const T& b) {
    return a.str() == std::string_view(b);
  }

 private:
  Shared<const std::string> text_;
};

// Texts of which equal ones are to be one.
class SharedTexts {
 public:
  SharedText of(std::string_view text) {
    if (text.empty()) return {};
    if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
    const SharedText made(text);
    texts_.emplace(made.str(), made);
    return made;
  }
  void share(SharedText& text) {
    if (!text.empty()) text = of(text);
  }

 private:
  std::unordered_map<std::string_view, SharedText> texts_;  // keys borrow from what they lead to
};

}  // namespace plumb

template <>
struct fmt::formatter<plumb::SharedText> : fmt::formatter<std::string_view> {
  auto format(const plumb::SharedText& text, format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
