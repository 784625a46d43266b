// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/dtype_match.h"

#include <algorithm>

namespace plumb::msprobe {
namespace {

constexpr std::string_view kPyTorch = "torch.";

bool is_common_float(std::string_view plain) {
  return plain == "float16" || plain == "bfloat16" || plain == "float32";
}

// Empty if it has none.
std::string_view family_of(std::string_view plain) {
  for (std::string_view bits : {"int8", "int16", "int32", "int64"})
    if (plain == bits || (plain.starts_with('u') && plain.substr(1) == bits)) return "integer";
  if (is_common_float(plain) || plain == "float64") return "float";
  if (plain == "complex64" || plain == "complex128") return "complex";
  return {};
}

}  // namespace

std::string plain_dtype(std::string_view dtype) {
  if (dtype.starts_with(kPyTorch)) dtype.remove_prefix(kPyTorch.size());
  std::string plain(dtype);
  std::transform(plain.begin(), plain.end(), plain.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return plain;
}

bool is_whole_dtype(std::string_view dtype) {
  const std::string plain = plain_dtype(dtype);
  return plain == "bool" || family_of(plain) == "integer";
}

bool dtypes_match(std::string_view target, std::string_view golden) {
  if (target == golden) return true;
  const std::string t = plain_dtype(target), g = plain_dtype(golden);
  if (t == g || (is_common_float(t) && is_common_float(g))) return true;
  const bool is_one_framework = target.starts_with(kPyTorch) == golden.starts_with(kPyTorch);
  return !is_one_framework && !family_of(t).empty() && family_of(t) == family_of(g);
}

}  // namespace plumb::msprobe
