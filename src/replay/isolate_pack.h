// SPDX-License-Identifier: Apache-2.0
//
// A reproduction: a directory with a small model, what it was fed and what came out, and the same
// as one .zip for whoever has to look into it.
#pragma once

#include <set>

#include "base/temporary_directory.h"
#include "engine/engine.h"

namespace plumb::replay {

// A directory that is gone when the command ends.
class Reproduction {
 public:
  static Result<Reproduction> create();

  const std::filesystem::path& path() const { return directory_.path(); }
  Result<void> add(const std::string& file, std::string_view text) const;
  // FOLDER/NAME.npy; says which file it became. Names that differ in characters which files should
  // not have get numbers.
  Result<std::string> add(const std::string& folder, std::string_view name,
                          const engine::Tensor& tensor);
  // The whole directory as an archive; says how large it is.
  Result<uint64_t> pack(const std::filesystem::path& zip) const;

 private:
  explicit Reproduction(TemporaryDirectory directory) : directory_(std::move(directory)) {}

  TemporaryDirectory directory_;
  std::set<std::string> used_;
};

}  // namespace plumb::replay
