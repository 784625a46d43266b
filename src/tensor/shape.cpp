// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <charconv>

#include <fmt/format.h>

#include "base/checked.h"

namespace plumb {

std::optional<int64_t> element_count(const Shape& shape) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    auto next = checked_mul(product, dim);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

Shape squeezed(const Shape& shape) {
  Shape kept;
  for (int64_t dim : shape)
    if (dim != 1) kept.push_back(dim);
  return kept;
}

namespace {

void append(std::string& text, const Shape& shape, std::string_view between) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += between;
    const fmt::format_int digits(shape[i]);
    text.append(digits.data(), digits.size());
  }
}

}  // namespace

std::string join(const Shape& shape, std::string_view between) {
  std::string text;
  append(text, shape, between);
  return text;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  append(text, shape, ", ");
  return text += ']';
}

std::optional<Shape> shape_from_text(std::string_view text) {
  Shape shape;
  if (text.empty() || text == "scalar") return shape;
  while (true) {
    int64_t dim = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (code != std::errc() || dim < 0) return std::nullopt;
    shape.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != ',' && text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace plumb
