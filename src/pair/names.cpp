// SPDX-License-Identifier: Apache-2.0
#include "pair/names.h"

#include <algorithm>

namespace plumb::pair {

std::string normalised(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/' || c == '.' || c == ':'; }, '_');
  return text;
}

void Names::add(std::string_view name) {
  if (!exact_.insert(name).second) return;
  const auto [found, is_new] = written_.try_emplace(normalised(name), name);
  if (!is_new) found->second = {};
}

Names::Found Names::find(std::string_view name) const {
  if (const auto found = exact_.find(name); found != exact_.end()) return {*found, true, false};
  const auto written = written_.find(normalised(name));
  if (written == written_.end()) return {};
  return {written->second, false, written->second.empty()};
}

}  // namespace plumb::pair
