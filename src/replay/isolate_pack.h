// SPDX-License-Identifier: Apache-2.0
//
// A reproduction: a small model, what it was fed and what came out, packed as one .zip for whoever
// has to look into it.
#pragma once

#include <filesystem>
#include <map>

#include "engine/engine.h"

namespace plumb::replay {

// Its files, which are in memory until they are packed.
class Reproduction {
 public:
  void add(const std::string& file, std::string text);
  // FOLDER/NAME.npy; says which file it became. Names that differ in characters which files should
  // not have get numbers.
  std::string add(const std::string& folder, std::string_view name, const engine::Tensor& tensor);
  // All files of another one, under a prefix ("reproduction/").
  void add(const std::string& prefix, const Reproduction& other);
  void remove(const std::string& file) { files_.erase(file); }
  // What such a file holds, in the type that it has there.
  const engine::Tensor& tensor(const std::string& file) const { return files_.at(file).tensor; }
  // All files as an archive; says how large it is.
  Result<uint64_t> pack(const std::filesystem::path& zip) const;

 private:
  struct File {
    std::string head;       // the whole file, or what stands before the tensor
    engine::Tensor tensor;  // empty if there is none
  };
  std::map<std::string, File> files_;  // by name
};

}  // namespace plumb::replay
