// SPDX-License-Identifier: Apache-2.0
//
// mapping.csv: the real names of files whose name was too long for the file system and which were
// stored under a number instead. Two columns, stored name and real name, no header line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dump/tree.h"

namespace plumb::dump {

inline constexpr std::string_view kMappingName = "mapping.csv";
inline constexpr std::string_view kUnnamed = "its real name is not in mapping.csv";

struct NameMapping {
  std::map<std::string, std::string, std::less<>> real_names;
  std::vector<size_t> bad_lines;  // counted from 1
};
NameMapping parse_mapping_csv(std::string_view text);

// The mapping.csv files of a tree.
class RealNames {
 public:
  explicit RealNames(const Tree& tree);

  // The name the writer meant: the file's own, or for a hashed one that in the mapping.csv beside
  // it. Nothing if a hashed name has no entry there.
  std::optional<std::string_view> of(const TreeFile& file) const;
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::map<std::string, NameMapping, std::less<>> by_directory_;
  std::vector<std::string> warnings_;
};

// A tensor in a file whose writer meant `real_name`.
TensorRef part_of(const TreeFile& file, std::string_view real_name, std::string_view tensor = {});

// What to tell of `count` hashed names without an entry.
std::string unnamed_warning(size_t count);

// Digits only, or digits and .npy.
bool is_hashed_name(std::string_view name);

}  // namespace plumb::dump
