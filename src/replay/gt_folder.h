// SPDX-License-Identifier: Apache-2.0
//
// The folders in which Pulsar keeps what a comparison was made of: input/ onnx/ joint/ with each
// tensor as NAME.npy and NAME.bin, and board results, which are .bin files only.
#pragma once

#include <filesystem>
#include <map>
#include <set>

#include "base/directory_lock.h"
#include "dump/dump.h"
#include "engine/dump_model.h"

namespace plumb::replay {

// Writes such a folder, or one for each sample.
class GtFolder {
 public:
  // `path` must be new or empty, and is written by nobody else.
  static Result<GtFolder> make(const std::filesystem::path& path);

  // The outputs of a model, or all its layers, which are in memory: the target's as joint/,
  // golden's as onnx/.
  Result<void> add(const std::string& sample, bool is_target, const engine::Dump& given,
                   bool all_layers);
  Result<void> add_inputs(const std::string& sample, const engine::Inputs& inputs,
                          const std::vector<std::string>& files);

 private:
  explicit GtFolder(DirectoryLock lock) : lock_(std::move(lock)) {}
  Result<void> save(const std::filesystem::path& folder, const engine::DumpedTensor& tensor);

  DirectoryLock lock_;
  std::filesystem::path path_;
  std::map<std::filesystem::path, std::string> written_;  // tensors, by file
};

// The folders below `path` that are gt folders themselves: one for each sample.
std::set<std::string> gt_samples(const std::filesystem::path& path);

// A folder with input/ and results beside it.
bool is_gt_folder(const std::filesystem::path& path);

// The results of a gt folder: those of that name. If nobody insists on it, others will do where
// there is no such folder.
Result<std::filesystem::path> results_below(const std::filesystem::path& path,
                                            const std::string& name, bool is_asked_for);

// The tensors of such a directory. Type and shape of files without a header are those that the
// other side has by that name: in `tensors`, or in the directory `other` unless that is empty.
Result<dump::DumpSet> open_results(const std::filesystem::path& path,
                                   const std::filesystem::path& other,
                                   const std::vector<engine::DumpedTensor>& tensors);

}  // namespace plumb::replay
