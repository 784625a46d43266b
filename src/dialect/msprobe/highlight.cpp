// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/highlight.h"

#include <algorithm>
#include <cmath>

namespace plumb::msprobe {
namespace {

using RowNumber = std::optional<double>;

bool is_above(RowNumber number, double limit) { return number && *number > limit; }
bool is_below(RowNumber number, double limit) { return number && *number < limit; }
bool drops(RowNumber from, RowNumber to, double by) { return from && to && *from - *to > by; }

bool is_red(const HighlightRow& row) {
  return !row.is_finite || (row.max_diff && std::fabs(*row.max_diff) > 1e10);
}

bool is_red(const HighlightRow& input, const HighlightRow& output) {
  return is_above(input.below_1e3, 0.9) && is_below(output.below_1e3, 0.6);
}

bool is_yellow(const HighlightRow& input, const HighlightRow& output) {
  const double in = std::fabs(input.max_diff.value_or(0));
  const double out = std::fabs(output.max_diff.value_or(0));
  return (in > 1 && out > 1 && std::log10(out) - std::log10(in) >= 1) ||
         drops(input.below_1e3, output.below_1e3, 0.1) || drops(input.cosine, output.cosine, 0.1) ||
         (is_above(output.max_relative, 0.1) && is_below(input.max_relative, 0.01));
}

}  // namespace

std::vector<report::Fill> legacy_fills(std::span<const HighlightRow> api) {
  std::vector<report::Fill> fills;
  for (const HighlightRow& row : api) {
    const auto with_input = [&](bool (*rule)(const HighlightRow&, const HighlightRow&)) {
      return row.is_output && std::any_of(api.begin(), api.end(), [&](const HighlightRow& other) {
               return other.is_input && rule(other, row);
             });
    };
    const bool red =
        is_red(row) || (row.is_output && is_above(row.max_relative, 0.5)) || with_input(is_red);
    const bool yellow = !row.requires_grad_agrees || with_input(is_yellow);
    fills.push_back(red      ? report::Fill::kRed
                    : yellow ? report::Fill::kYellow
                             : report::Fill::kNone);
  }
  return fills;
}

}  // namespace plumb::msprobe
