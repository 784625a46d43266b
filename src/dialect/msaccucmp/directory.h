// SPDX-License-Identifier: Apache-2.0
//
// A dump directory as msaccucmp sees it: regular files directly inside, told apart by their names
// alone, and which combinations of two directories and rule files it compares. (`plumb compare`
// looks into subdirectories and at the content; see src/dump.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msaccucmp/tensors.h"
#include "dump/dump.h"

namespace plumb::msaccucmp {

enum class DumpKind : uint8_t {
  kOffline,   // of a model on the device
  kStandard,  // of the original model
  kQuant,     // of the original model with quantization in it
};

struct DumpFile {
  std::filesystem::path path;
  std::string name;  // the writer's; differs from the path's for hashed names
  int64_t timestamp = 0;
  bool is_slice = false;  // of an operator that FFTS+ cut into several
};

struct DumpDirectory {
  std::filesystem::path path;
  DumpKind kind = DumpKind::kOffline;
  bool is_quantized = false;
  bool has_npy = false;
  std::map<std::string, std::vector<DumpFile>, std::less<>> files;  // by key, oldest first
  std::vector<std::string> warnings;
  std::shared_ptr<const dump::DumpSet>
      slices;  // how slices belong together; null if there are none

  // The newest file of an operator (of one output of it, for golden data); null if there is none.
  const DumpFile* find(std::string_view operator_name, int64_t output) const;
};

// With `join_slices` an operator in slices is one again.
Outcome<DumpDirectory> open_directory(const std::filesystem::path& path, bool join_slices = true);

struct RulePaths {
  std::string rules;    // -f
  std::string quant;    // -q
  std::string unfused;  // -cf
};
// A fault if these directories are not compared with these rule files.
std::optional<Fault> check_scenario(const DumpDirectory& target, const DumpDirectory& golden,
                                    const RulePaths& rules);

// The file of an operator with its tensors, all of them readable.
struct OperatorDump {
  const DumpFile* source = nullptr;
  std::vector<Tensor> inputs, outputs;
  bool is_joined = false;  // of slices: outputs are whole, inputs are those of one slice
};
Outcome<OperatorDump> load_dump(const DumpDirectory& directory, const DumpFile& source);
Outcome<OperatorDump> load_dump(const DumpFile& source);  // just this file

// "Type" of "Type.name.task.stream.timestamp".
std::string type_in_name(std::string_view file_name);

// With the separators that file names cannot hold written as '_'.
std::string file_key(std::string_view operator_name);

}  // namespace plumb::msaccucmp
