// SPDX-License-Identifier: Apache-2.0
#include "dump/tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/nearest_path.h"

namespace plumb::dump {
namespace {

struct Closer {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Error system_error(std::string what, const std::string& where, int code) {
  return {std::move(what), where + ": " + std::strerror(code),
          code == EACCES ? "check its permissions"
                         : did_you_mean_path(where) + "check that it is still there"};
}

// A link to a directory is not followed: it may lead in circles, and the same files would count
// twice. If it leads to a part of the tree, nothing is lost.
Skipped skip_link(const std::string& path, const Tree& tree) {
  constexpr std::string_view kReason = "link to a directory, not followed";
  namespace fs = std::filesystem;
  std::error_code code;
  const std::string full = (tree.root / path).string();
  const fs::path root = fs::canonical(tree.root, code);
  const fs::path target = code ? fs::path() : fs::canonical(full, code);
  if (code)
    return {path, std::string(kReason), system_error("cannot follow the link", full, code.value())};
  if (std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first == root.end())
    return {path, std::string(kReason), {}};
  return {
      path, std::string(kReason),
      Error{"a link to a directory is not followed",
            fmt::format("{}: leads to {}, outside of the directory named", full, target.string()),
            "name that directory itself, or put it in the link's place"}};
}

// Puts the files of one directory into `tree` and its sub-directories into `deeper`.
void read_directory(const std::string& relative, Tree& tree, std::vector<std::string>& deeper,
                    FilePaths& paths) {
  const std::string full = relative.empty() ? tree.root.string() : (tree.root / relative).string();
  std::unique_ptr<DIR, Closer> directory(::opendir(full.c_str()));
  if (!directory) {
    tree.skipped.push_back({relative, "directory cannot be read",
                            system_error("cannot read the directory", full, errno)});
    return;
  }
  for (errno = 0; const dirent* item = ::readdir(directory.get()); errno = 0) {
    const std::string_view name = item->d_name;
    if (name == "." || name == "..") continue;
    const auto path = [&] {
      return relative.empty() ? std::string(name) : fmt::format("{}/{}", relative, name);
    };
    struct stat status;
    if (item->d_type == DT_DIR) {
      deeper.push_back(path());
    } else if (::fstatat(::dirfd(directory.get()), item->d_name, &status, 0) != 0) {
      auto error = system_error("cannot look at the file", full + "/" + item->d_name, errno);
      tree.skipped.push_back({path(), "file cannot be read", std::move(error)});
    } else if (S_ISREG(status.st_mode)) {
      tree.files.push_back({paths.add(relative, name), static_cast<uint64_t>(status.st_size)});
    } else if (!S_ISDIR(status.st_mode)) {
      tree.skipped.push_back({path(), "neither a file nor a directory", {}});
    } else if (struct stat own;
               ::fstatat(::dirfd(directory.get()), item->d_name, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISLNK(own.st_mode)) {
      tree.skipped.push_back(skip_link(path(), tree));
    } else {
      deeper.push_back(path());  // a file system that does not fill in d_type
    }
  }
  if (errno != 0)
    tree.skipped.push_back({relative, "directory was read only in part",
                            system_error("cannot read on in the directory", full, errno)});
}

// Of the whole path; NUL, which none has, behind its end.
char letter_at(const FilePath& path, size_t i) {
  const std::string_view start = path.prefix(), name = path.name();
  if (i < start.size()) return start[i];
  return i - start.size() < name.size() ? name[i - start.size()] : '\0';
}

// By path. Names of a dump start alike: the eight letters behind what all share tell most apart,
// and are compared as a number.
void sort_by_path(std::vector<TreeFile>& files) {
  if (files.size() < 2) return;
  const std::string first = files.front().path;
  size_t shared = first.size();
  for (const TreeFile& file : files) {
    size_t at = 0;
    while (at < shared && letter_at(file.path, at) == first[at]) ++at;
    shared = at;
  }
  std::vector<std::pair<uint64_t, size_t>> order(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    uint64_t letters = 0;
    for (size_t at = shared; at < shared + 8; ++at)
      letters = letters << 8 | static_cast<unsigned char>(letter_at(files[i].path, at));
    order[i] = {letters, i};
  }
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : files[a.second].path < files[b.second].path;
  });
  std::vector<TreeFile> sorted;
  sorted.reserve(files.size());
  for (const auto& [letters, place] : order) sorted.push_back(std::move(files[place]));
  files = std::move(sorted);
}

}  // namespace

const TreeFile* Tree::find(std::string_view path) const {
  const auto at =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const TreeFile& f, std::string_view p) { return f.path.compare(p) < 0; });
  return at != files.end() && at->path == path ? &*at : nullptr;
}

Result<Tree> walk(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return system_error("cannot read the path", path.string(), errno);
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
    return Error{"neither a file nor a directory", path.string(),
                 "copy its contents to a file first"};
  Tree tree;
  if (!S_ISDIR(status.st_mode)) {
    tree.is_single_file = true;
    tree.root = path.parent_path();  // empty: the working directory
    tree.files.push_back({path.filename().string(), static_cast<uint64_t>(status.st_size)});
    return tree;
  }
  tree.root = path;
  FilePaths paths;
  std::vector<std::string> level{""};
  for (int depth = 0; !level.empty(); ++depth) {
    std::vector<std::string> deeper;
    for (const std::string& directory : level) read_directory(directory, tree, deeper, paths);
    level = std::move(deeper);
    if (depth < kMaxDepth) continue;
    for (std::string& directory : level)
      tree.skipped.push_back(
          {directory, "directories are nested too deeply",
           Error{"directories are nested too deeply",
                 fmt::format("{}: more than {} levels down", directory, kMaxDepth),
                 "name a directory further down"}});
    break;
  }
  paths.finish();
  if (tree.files.empty() && tree.skipped.size() == 1 && tree.skipped[0].file.empty())
    return *std::move(tree.skipped[0].error);  // the directory named cannot be read itself
  sort_by_path(tree.files);
  std::sort(tree.skipped.begin(), tree.skipped.end(),
            [](const Skipped& a, const Skipped& b) { return a.file < b.file; });
  return tree;
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return parts;
}

}  // namespace plumb::dump
