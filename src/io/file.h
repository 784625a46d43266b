// SPDX-License-Identifier: Apache-2.0
//
// A tensor file on disk: its bytes, its format, and what it holds.
#pragma once

#include <filesystem>

#include "base/mapped_file.h"
#include "io/format.h"
#include "io/reader.h"

namespace plumb::io {

struct TensorFile {
  std::string path;
  MappedFile mapping;
  const Format* format = nullptr;
  Listing listing;

  Result<TensorReader> open(const TensorInfo& info, const ReadOrder& order = {}) const;
};

// Errors name the path.
Result<TensorFile> open_tensor_file(const std::string& path, ReadHints hints = {});

// Without the listing, for tensors whose description is at hand.
Result<TensorFile> open_unlisted(const std::string& path, ReadHints hints = {});

}  // namespace plumb::io
