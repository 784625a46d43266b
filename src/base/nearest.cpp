// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace plumb {
namespace {

char folded(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  const auto same = [&](size_t i, size_t j) { return folded(a[i]) == folded(b[j]); };
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same(i - 1, j - 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);  // two letters swapped
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view unknown, std::span<const std::string> known) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, unknown.size() / 3) + 1;
  for (const std::string& name : known) {
    // So many edits it takes at least; an unknown name may be megabytes.
    if (std::max(unknown.size(), name.size()) - std::min(unknown.size(), name.size()) >=
        best_distance)
      continue;
    const size_t distance = edit_distance(unknown, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view unknown, std::span<const std::string> known) {
  const std::string near = nearest_name(unknown, known);
  return near.empty() ? "" : "did you mean '" + near + "'? ";
}

}  // namespace plumb
