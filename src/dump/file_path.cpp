// SPDX-License-Identifier: Apache-2.0
#include "dump/file_path.h"

#include <algorithm>
#include <limits>

namespace plumb::dump {
namespace {

// Of two texts, each in two pieces.
std::strong_ordering compare_pieces(std::string_view a, std::string_view a_rest, std::string_view b,
                                    std::string_view b_rest) {
  const size_t both = std::min(a.size(), b.size());
  if (const int order = a.substr(0, both).compare(b.substr(0, both)); order != 0)
    return order <=> 0;
  a.remove_prefix(both);
  b.remove_prefix(both);
  if (a.empty() && b.empty()) return a_rest.compare(b_rest) <=> 0;
  if (a.empty()) {
    if (a_rest.empty()) return std::strong_ordering::less;
    return compare_pieces(a_rest, {}, b, b_rest);
  }
  if (b_rest.empty()) return std::strong_ordering::greater;
  return compare_pieces(a, a_rest, b_rest, {});
}

}  // namespace

FilePath::FilePath(std::string_view path) { *this = FilePaths().add(path); }

FilePath::FilePath(const Shared<Folder>& folder, std::string_view name)
    : folder_(folder),
      at_(static_cast<uint32_t>(folder->names.size())),
      size_(static_cast<uint32_t>(name.size())) {
  folder->names += name;
}

std::string_view FilePath::directory() const {
  const std::string_view whole = prefix();
  return whole.substr(0, whole.empty() ? 0 : whole.size() - 1);
}

std::strong_ordering FilePath::compare(const FilePath& other) const {
  if (folder_.get() == other.folder_.get()) return name().compare(other.name()) <=> 0;
  return compare_pieces(prefix(), name(), other.prefix(), other.name());
}

std::strong_ordering FilePath::compare(std::string_view text) const {
  return compare_pieces(prefix(), name(), text, {});
}

FilePath FilePaths::add(std::string_view path) {
  if (path.empty()) return {};
  const size_t name = path.rfind('/') + 1;  // npos + 1 == 0
  return add_below(path.substr(0, name), path.substr(name));
}

FilePath FilePaths::add(std::string_view directory, std::string_view name) {
  return add_below(directory.empty() ? std::string() : std::string(directory) + "/", name);
}

FilePath FilePaths::add_below(std::string_view prefix, std::string_view name) {
  if (!last_ || last_->prefix != prefix) {
    auto at = folders_.find(prefix);
    if (at == folders_.end()) {
      at = folders_.emplace(prefix, Shared<Folder>::make()).first;
      at->second->prefix = prefix;
    }
    last_ = at->second;
  }
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  if (last_->names.size() + name.size() > kMost) {  // the room of one is used up
    last_ = Shared<Folder>::make(Folder{std::string(prefix), {}});
    folders_.insert_or_assign(std::string(prefix), last_);
  }
  return FilePath(last_, name.substr(0, kMost));
}

void FilePaths::finish() {
  for (auto& [prefix, folder] : folders_) folder->names.shrink_to_fit();
}

}  // namespace plumb::dump
