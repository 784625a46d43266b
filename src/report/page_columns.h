// SPDX-License-Identifier: Apache-2.0
//
// The tables of a report page as it reads them: columns of numbers one behind the other, little
// endian, each at a multiple of eight bytes; texts are places in a list of distinct ones.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plumb::report {

// A number that is not known, in any column.
inline constexpr double kUnknownNumber = std::numeric_limits<double>::quiet_NaN();

class PageColumns {
 public:
  void add(std::string name, std::span<const double> values);
  void add(std::string name, std::span<const float> values);
  void add(std::string name, std::span<const int32_t> values);
  void add(std::string name, std::span<const uint8_t> values);
  void add(std::string name, const std::vector<std::string>& texts);

  // A column whose values `of` makes of each of `items`.
  template <class T, class Items, class Of>
  void add_of(std::string name, const Items& items, const Of& of) {
    std::vector<T> values;
    values.reserve(items.size());
    for (const auto& item : items) values.push_back(static_cast<T>(of(item)));
    add(std::move(name), values);
  }

  const std::string& bytes() const { return bytes_; }
  const std::deque<std::string>& texts() const { return texts_; }  // the first is empty
  std::string json() const;  // name, type, count and offset of each

 private:
  struct Column {
    std::string name;
    std::string_view type;
    size_t count, offset;
  };
  template <class T>
  void append(std::string name, std::string_view type, std::span<const T> values);

  std::string bytes_;
  std::vector<Column> columns_;
  std::deque<std::string> texts_{std::string()};
  std::unordered_map<std::string_view, uint32_t> places_{{std::string_view(), 0}};
};

}  // namespace plumb::report
