// SPDX-License-Identifier: Apache-2.0
#include "compare/tf32.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace plumb::compare {
namespace {

using result::Row;

// Of nine trained networks whose operands were rounded so, tensors differ by
// 0.00008 to 0.013; by 1.6 to 6.3 times the median at most; and their lengths
// by a tenth of that, since rounding goes both ways. Float32 computed in
// another order differs by 0.000001.
constexpr size_t kFewest = 8;
constexpr double kLowest = 0x1p-14, kHighest = 0x1p-6;
constexpr double kMostEqual = 0.2, kMostOutside = 0.05;  // shares of the tensors
constexpr double kStandsOut = 8,
                 kScaled = 0.3;  // times the median, share of the error

size_t column_of(const std::vector<const metrics::Metric*>& columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const metrics::Metric* m) { return m->name == name; });
  return static_cast<size_t>(found - columns.begin());
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What a model does not compute is the same on both sides.
bool is_computed(const Row& row) {
  const std::string& type = row.golden->type;
  return type != "Constant" && type != "Const" && type != "Data" && type != "Input";
}

}  // namespace

LikeTf32::LikeTf32(const std::vector<const metrics::Metric*>& columns)
    : rel_euclid_(column_of(columns, "rel_euclid")),
      norm_ratio_(column_of(columns, "norm_ratio")) {}

void LikeTf32::see(const Row& row) {
  const bool is_compared = row.target && row.golden && row.target_shows == result::Shown::kWide;
  if (!is_compared || !is_computed(row) || row.golden->dtype != "float32") return;
  if (std::max(rel_euclid_, norm_ratio_) >= row.values.size()) return;
  const metrics::Value &error = row.values[rel_euclid_], &ratio = row.values[norm_ratio_];
  if (!error.is_defined() || !ratio.is_defined()) return;
  if (error.number() > 0)
    errors_.push_back({error.number(), std::abs(ratio.number() - 1)});
  else
    ++equal_;
}

std::string LikeTf32::note() const {
  const auto count = static_cast<double>(errors_.size());
  if (errors_.size() < kFewest || static_cast<double>(equal_) > kMostEqual * count) return {};
  std::vector<double> sizes, scaled;
  for (const Error& error : errors_) {
    sizes.push_back(error.rel_euclid);
    scaled.push_back(error.norm / error.rel_euclid);
  }
  const auto outside = std::count_if(sizes.begin(), sizes.end(), [](double size) {
    return !(size >= kLowest && size <= kHighest);
  });
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const double median = median_of(sizes);
  if (static_cast<double>(outside) > kMostOutside * count || *most > kHighest ||
      *most > kStandsOut * median || median_of(scaled) > kScaled)
    return {};
  return fmt::format(
      "looks like TF32: {} float32 tensors differ by rel_euclid {:.2g} to "
      "{:.2g}, median {:.2g}, and "
      "none stands out; if the target computes so, say --precision tf32",
      errors_.size(), *least, *most, median);
}

}  // namespace plumb::compare
