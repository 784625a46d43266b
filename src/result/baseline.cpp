// SPDX-License-Identifier: Apache-2.0
#include "plumb/baseline.h"

#include <algorithm>
#include <iterator>

namespace plumb::result {
namespace {

constexpr std::string_view kChanges[] = {"new", "gone", "changed"};

}  // namespace

std::string_view name_of(Change change) { return kChanges[static_cast<size_t>(change)]; }

std::optional<Change> change_by_name(std::string_view name) {
  const auto* found = std::find(std::begin(kChanges), std::end(kChanges), name);
  if (found == std::end(kChanges)) return std::nullopt;
  return static_cast<Change>(found - std::begin(kChanges));
}

int64_t Baseline::count(bool is_output, bool is_worse) const {
  return std::count_if(tensors.begin(), tensors.end(), [&](const TensorChange& tensor) {
    return tensor.is_output == is_output && tensor.is_worse == is_worse;
  });
}

int64_t Baseline::count(Change change) const {
  return std::count_if(operators.begin(), operators.end(),
                       [&](const OperatorChange& op) { return op.change == change; });
}

}  // namespace plumb::result
