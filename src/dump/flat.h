// SPDX-License-Identifier: Apache-2.0
//
// Tensors in files that tell how many elements there are, and nothing of their shape.
#pragma once

#include "dump/dump.h"
#include "io/raw_name.h"

namespace plumb::dump {

// It is compared element by element, whatever shape the other side has.
inline bool has_no_shape(const Entry& entry) {
  if (entry.parts.size() != 1) return false;
  const TensorRef& part = entry.parts.front();
  const std::string_view name = part.real_name.empty() ? part.file.name() : part.real_name.str();
  const auto raw = name.ends_with(".bin") ? io::parse_raw_name(name) : std::nullopt;
  return raw && raw->is_flat;
}

}  // namespace plumb::dump
