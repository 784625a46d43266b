// SPDX-License-Identifier: Apache-2.0
//
// The files below a directory, found once and handed to every convention. Links to directories are
// not followed, depth is bounded, and what cannot be entered is kept as a problem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

struct TreeFile {
  FilePath path;  // relative to Tree::root, with '/'
  uint64_t size_bytes;

  // "a.npy" and "x/y" of "x/y/a.npy".
  std::string_view name() const { return path.name(); }
  std::string_view directory() const { return path.directory(); }
};

struct Tree {
  std::filesystem::path root;
  bool is_single_file = false;   // the user named a file: it is the only one here
  std::vector<TreeFile> files;   // sorted by path, regular files only
  std::vector<Skipped> skipped;  // what the walk itself had to leave out

  std::filesystem::path absolute(const TreeFile& file) const { return root / file.path.str(); }
  const TreeFile* find(std::string_view path) const;  // null if there is no such file
};

inline constexpr int kMaxDepth = 64;

// Fails only if `path` itself cannot be read.
Result<Tree> walk(const std::filesystem::path& path);

// "x/y/z" at its slashes; nothing for "".
std::vector<std::string_view> components(std::string_view path);

}  // namespace plumb::dump
