// SPDX-License-Identifier: Apache-2.0
//
// The number that a text is, all of it: nothing before or behind, in any locale. Nullopt also if
// the type cannot hold it.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

namespace plumb {

template <class T>
std::optional<T> number_from_text(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  std::from_chars_result read;
  if constexpr (std::is_floating_point_v<T>)
    read = std::from_chars(text.data(), end, number);
  else
    read = std::from_chars(text.data(), end, number, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace plumb
