// SPDX-License-Identifier: Apache-2.0
//
// Paths of the files of a dump. Files of a directory share its name, and their own names stand one
// behind the other: of millions of files each takes sixteen bytes and the letters of its name.
#pragma once

#include <compare>
#include <concepts>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/shared.h"

namespace plumb::dump {

// Relative to the root of a dump, with '/'. May be empty, as one of a tensor in memory.
class FilePath {
 public:
  FilePath() = default;
  FilePath(std::string_view path);  // alone: those of many files come from FilePaths
  FilePath(const std::string& path) : FilePath(std::string_view(path)) {}
  FilePath(const char* path) : FilePath(std::string_view(path)) {}

  // "x/y" and "a.npy" of "x/y/a.npy".
  std::string_view directory() const;
  std::string_view name() const {
    return folder_ ? std::string_view(folder_->names).substr(at_, size_) : std::string_view();
  }
  // Everything before the name: "x/y/".
  std::string_view prefix() const {
    return folder_ ? std::string_view(folder_->prefix) : std::string_view();
  }
  std::string str() const { return std::string(prefix()).append(name()); }
  operator std::string() const { return str(); }
  bool empty() const { return prefix().empty() && name().empty(); }

  // As the whole texts compare.
  std::strong_ordering compare(const FilePath& other) const;
  std::strong_ordering compare(std::string_view text) const;
  friend bool operator==(const FilePath& a, const FilePath& b) { return a.compare(b) == 0; }
  friend auto operator<=>(const FilePath& a, const FilePath& b) { return a.compare(b); }
  template <class T>
  requires std::convertible_to<const T&, std::string_view>
  friend bool operator==(const FilePath& a, const T& b) {
    return a.compare(std::string_view(b)) == 0;
  }

 private:
  friend class FilePaths;
  struct Folder {
    std::string prefix, names;
  };
  FilePath(const Shared<Folder>& folder, std::string_view name);

  Shared<Folder> folder_;
  uint32_t at_ = 0, size_ = 0;  // of the name among the folder's
};

// Makes paths that share their directories. What they are is not to be asked before `finish`.
class FilePaths {
 public:
  FilePath add(std::string_view path);
  FilePath add(std::string_view directory, std::string_view name);
  void finish();  // gives room back that was kept for more

 private:
  using Folder = FilePath::Folder;
  FilePath add_below(std::string_view prefix, std::string_view name);

  std::map<std::string, Shared<Folder>, std::less<>> folders_;  // by prefix
  Shared<Folder> last_;
};

}  // namespace plumb::dump

template <>
struct fmt::formatter<plumb::dump::FilePath> : fmt::formatter<std::string_view> {
  auto format(const plumb::dump::FilePath& path, format_context& context) const {
    return fmt::formatter<std::string_view>::format(path.str(), context);
  }
};
