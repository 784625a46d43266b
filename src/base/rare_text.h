// SPDX-License-Identifier: Apache-2.0
//
// Text that most of many thousand objects do without: it takes the room of a pointer while it is
// empty, and is read like a std::string.
#pragma once

#include <compare>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace plumb {

class RareText {
 public:
  RareText() = default;
  RareText(std::string text)
      : text_(text.empty() ? nullptr : std::make_unique<std::string>(std::move(text))) {}
  RareText(std::string_view text) : RareText(std::string(text)) {}
  RareText(const char* text) : RareText(std::string(text)) {}
  RareText(const RareText& other) : RareText(other.str()) {}
  RareText(RareText&&) noexcept = default;
  RareText& operator=(const RareText& other) { return *this = RareText(other); }
  RareText& operator=(RareText&&) noexcept = default;

  const std::string& str() const {
    static const std::string kNone;
    return text_ != nullptr ? *text_ : kNone;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return text_ == nullptr; }
  size_t size() const { return text_ != nullptr ? text_->size() : 0; }
  void clear() { text_.reset(); }
  RareText& operator+=(std::string_view more) {
    return *this = RareText(str() + std::string(more));
  }

  friend bool operator==(const RareText& a, const RareText& b) { return a.str() == b.str(); }
  friend auto operator<=>(const RareText& a, const RareText& b) { return a.str() <=> b.str(); }
  template <class T>
  requires std::convertible_to<const T&, std::string_view> &&(!std::same_as<T, RareText>)friend bool
  operator==(const RareText& a, const T& b) {
    return a.str() == std::string_view(b);
  }

 private:
  std::unique_ptr<std::string> text_;
};

}  // namespace plumb

template <>
struct fmt::formatter<plumb::RareText> : fmt::formatter<std::string_view> {
  auto format(const plumb::RareText& text, format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
