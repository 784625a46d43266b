// SPDX-License-Identifier: Apache-2.0
//
// The right classes of samples: a text file with lines of CLASS, by sample, or of FILE,CLASS, or
// the labels of MNIST (idx1-ubyte, often packed by gzip).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plumb/result.h"

namespace plumb::input {

struct Labels {
  std::vector<int64_t> by_place;
  std::map<std::string, int64_t> by_file;  // base name

  // Of a sample that was read from these files.
  std::optional<int64_t> of(size_t sample, const std::vector<std::string>& files) const;
};

Result<Labels> read_labels(const std::string& path);

}  // namespace plumb::input
