// SPDX-License-Identifier: Apache-2.0
#include "msprobe/cells.h"

#include <cmath>

#include <fmt/compile.h>

#include "msprobe/real_data.h"

namespace plumb::msprobe {

void Cells::clear() {
  text_.clear();
  ends_.clear();
}

void Cells::number(std::optional<double> value) {
  append_number(text_, value);
  end(true);
}

void Cells::percent(std::optional<double> value) {
  append_number(text_, value ? std::optional(*value * 100) : value);
  if (value && std::isfinite(*value)) text_ += '%';
  end(true);
}

void Cells::count(std::optional<int64_t> value) {
  if (value)
    fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), *value);
  else
    text_ += "N/A";
  end(true);
}

void Cells::add(const Cells& others) {
  const size_t begin = text_.size();
  text_ += others.text_;
  for (const End& each : others.ends_) ends_.push_back({begin + each.at, each.is_number});
}

}  // namespace plumb::msprobe
