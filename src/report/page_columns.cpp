// SPDX-License-Identifier: Apache-2.0
#include "report/page_columns.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/utf8.h"

namespace plumb::report {

template <class T>
void PageColumns::append(std::string name, std::string_view type, std::span<const T> values) {
  columns_.push_back({std::move(name), type, values.size(), bytes_.size()});
  bytes_ += as_text(std::as_bytes(values));
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
}

void PageColumns::add(std::string name, std::span<const double> values) {
  append(std::move(name), "f64", values);
}
void PageColumns::add(std::string name, std::span<const float> values) {
  append(std::move(name), "f32", values);
}
void PageColumns::add(std::string name, std::span<const int32_t> values) {
  append(std::move(name), "i32", values);
}
void PageColumns::add(std::string name, std::span<const uint8_t> values) {
  append(std::move(name), "u8", values);
}

void PageColumns::add(std::string name, const std::vector<std::string>& texts) {
  std::vector<uint32_t> places;
  places.reserve(texts.size());
  for (const std::string& text : texts) {
    auto found = places_.find(text);
    if (found == places_.end()) {
      texts_.push_back(text);
      found = places_.emplace(texts_.back(), static_cast<uint32_t>(texts_.size() - 1)).first;
    }
    places.push_back(found->second);
  }
  append<uint32_t>(std::move(name), "text", places);
}

std::string PageColumns::json() const {
  std::string json = "[";
  for (const auto& [name, type, count, offset] : columns_)
    json += fmt::format("{}{{\"name\": {}, \"type\": \"{}\", \"count\": {}, \"offset\": {}}}",
                        json.size() == 1 ? "" : ",\n    ", json_text(name), type, count, offset);
  return json + "]";
}

}  // namespace plumb::report
