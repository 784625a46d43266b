// SPDX-License-Identifier: Apache-2.0
//
// What support needs to look into a case: the path with its answers, the results of all
// comparisons, versions, and the tensors of the operator that is accused, as one .zip. Paths of
// this machine are shortened to names.
#pragma once

#include "guide/walk.h"
#include "replay/isolate_pack.h"

namespace plumb::guide {

struct BundleOptions {
  bool weights = true;      // false: no constants of the model, and no cut-out model
  std::string environment;  // what `plumb env` says, as JSON
};

struct Bundle {
  replay::Reproduction files;
  std::vector<std::string>
      contents;  // a line for each kind of file, to be told before it is written
};

// In memory; nothing is written but into the walk's scratch directory.
Result<Bundle> make_bundle(const Walk& walk, const BundleOptions& options, RunContext& context);

// Absolute paths that occur in texts, made short: those of the answers, the working directory, the
// home directory.
class ShortPaths {
 public:
  explicit ShortPaths(const Walk& walk);
  std::string shortened(std::string text) const;

 private:
  void add(const std::string& path, const std::string& name);
  std::vector<std::pair<std::string, std::string>> names_;  // longest path first
};

}  // namespace plumb::guide
