// SPDX-License-Identifier: Apache-2.0
//
// The file that tells how a model was shrunk (schema "plumb.shrink/1", see docs/shrink.md): enough
// to make the small model again from the original, and to see what was tried.
#pragma once

#include <filesystem>

#include "replay/shrink.h"

namespace plumb::replay {

struct FileMark {
  std::string path;
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
  size_t nodes = 0;

  bool is_same_content(const FileMark& other) const {
    return bytes == other.bytes && crc32 == other.crc32;
  }
};
FileMark mark_of(std::string path, Bytes file, size_t nodes);

struct ShrinkRecord {
  std::string path;                    // of the file it was read from
  std::vector<std::string> arguments;  // of the command line, to be read again
  std::string command;
  FileMark original, result;
  Part part;
  std::vector<std::string> node_names;  // of the result
  bool is_minimal = false;
  std::map<std::string, graph::OnnxType, std::less<>> types;  // of tensors cut open
  std::vector<std::string> values;  // tensors that became initializers, with values of a run
  std::vector<ShrinkStep> steps;
};

Result<void> write_record(const std::filesystem::path& path, const ShrinkRecord& record);
// Without the steps.
Result<ShrinkRecord> read_record(const std::filesystem::path& path);

}  // namespace plumb::replay
