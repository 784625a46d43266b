// SPDX-License-Identifier: Apache-2.0
//
// What a conversion reads of each file and where it goes: every output gets a name of its own
// before anything is written.
#pragma once

#include <filesystem>
#include <map>
#include <set>

#include "scan/request.h"

namespace plumb::scan {

// What is written: one file for each tensor, or an archive for all tensors of a source file.
struct ConvertTarget {
  const io::Format* format = nullptr;
  std::string extension;  // with its dot
  bool is_archive = false;
};
Result<ConvertTarget> target_from(const std::string& format);

// In which order: plain, as the bytes lie, by named axes, or in a device layout.
struct ConvertOrder {
  io::ReadOrder order;
  std::optional<Layout> device;
};
Result<ConvertOrder> order_from(const std::string& layout);

struct ConvertItem {
  std::string tensor;            // its name in the source file
  std::filesystem::path output;  // relative to the output directory; the archive for archives
  std::string key;               // inside an archive
};

// One source file and what is wanted of it.
struct ConvertJob {
  const dump::DumpSet* set;
  dump::TensorRef file;  // its `tensor` is not used
  bool is_overflow;      // debug records become JSON
  std::vector<ConvertItem> items;

  std::filesystem::path source() const { return set->absolute(file.file); }
};

// Gives every output a name of its own, and short ones where the file system would refuse.
class OutputNames {
 public:
  std::filesystem::path give(const std::filesystem::path& directory, const std::string& stem,
                             const std::string& extension);
  // `mapping.csv` beside the renamed files; lines that are there already stay.
  Result<void> write_mappings(const std::filesystem::path& output) const;

 private:
  std::set<std::filesystem::path> taken_;
  std::map<std::filesystem::path, std::string> mapping_;
};

// The files of a set with the tensors that are wanted of each, and a name for every output.
std::vector<ConvertJob> plan_jobs(const dump::DumpSet& set, const Request& request,
                                  const ConvertTarget& target, OutputNames& names);

}  // namespace plumb::scan
