// SPDX-License-Identifier: Apache-2.0
#include "pair/align_operands.h"

#include <algorithm>
#include <tuple>

namespace plumb::pair {

std::vector<std::pair<size_t, size_t>> align_operands(std::span<const int64_t> target,
                                                      std::span<const int64_t> golden) {
  constexpr size_t kMostOperandCells = 1 << 22;
  const size_t n = target.size(), m = golden.size();
  const auto agree = [](int64_t a, int64_t b) {
    if (a == kNoTensor || b == kNoTensor) return false;
    return a == b || a == kUnknownCount || b == kUnknownCount;
  };
  std::vector<std::pair<size_t, size_t>> pairs;
  bool is_plain = n == m || (n > 0 && m > kMostOperandCells / n);
  for (size_t i = 0; is_plain && n == m && i < n; ++i) is_plain = agree(target[i], golden[i]);
  if (is_plain) {
    for (size_t i = 0; i < std::min(n, m); ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  // Of the lists from i and j on: how many pairs, and how far they are shifted.
  struct Best {
    int64_t pairs = 0, shift = 0;
    bool operator<(const Best& other) const {
      return std::tuple(pairs, -shift) < std::tuple(other.pairs, -other.shift);
    }
  };
  std::vector<Best> best((n + 1) * (m + 1));
  const auto at = [&](size_t i, size_t j) -> Best& { return best[i * (m + 1) + j]; };
  const auto with_pair = [&](size_t i, size_t j) {
    const Best& rest = at(i + 1, j + 1);
    return Best{rest.pairs + 1, rest.shift + static_cast<int64_t>(i > j ? i - j : j - i)};
  };
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) {
      at(i, j) = std::max(at(i + 1, j), at(i, j + 1));
      if (agree(target[i], golden[j])) at(i, j) = std::max(at(i, j), with_pair(i, j));
    }
  }
  std::vector<bool> t_paired(n), g_paired(m);
  for (size_t i = 0, j = 0; i < n && j < m;) {
    const Best here = at(i, j);
    if (agree(target[i], golden[j]) && !(with_pair(i, j) < here)) {
      pairs.emplace_back(i, j);
      t_paired[i++] = g_paired[j++] = true;
    } else if (!(at(i + 1, j) < here)) {
      ++i;
    } else {
      ++j;
    }
  }
  for (size_t i = 0; i < std::min(n, m); ++i)
    if (!t_paired[i] && !g_paired[i] && target[i] != kNoTensor && golden[i] != kNoTensor)
      pairs.emplace_back(i, i);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace plumb::pair
