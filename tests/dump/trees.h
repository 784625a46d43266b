// SPDX-License-Identifier: Apache-2.0
//
// Small dump trees for tests: made in a temporary directory, listed, and printed as lines of text.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/dump.h"
#include "io/npy.h"
#include "scratch.h"
#include "tensor/decode.h"

namespace plumb::dump {

inline std::filesystem::path sample(std::string_view name) {
  return std::filesystem::path(PLUMB_TEST_DATA) / name;
}

// A temporary directory with ways to fill it.
class Scratch : public plumb::Scratch {
 public:
  const std::filesystem::path& root() const { return path(); }

  void write(const std::string& path, std::string_view content) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::ofstream(root() / path, std::ios::binary) << content;
  }
  void npy(const std::string& path, const std::vector<float>& values) const {
    write(path, io::npy_header(DType::kFloat32, {static_cast<int64_t>(values.size())}) +
                    std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  }
  void npy(const std::string& path) const { npy(path, {1, 2, 3}); }
  void copy(std::string_view from, const std::string& to) const {
    std::filesystem::create_directories((root() / to).parent_path());
    std::filesystem::copy(sample(from), root() / to, std::filesystem::copy_options::recursive);
  }
};

inline DumpSet open(const std::filesystem::path& path, const io::ReadHints& hints = {}) {
  auto set = open_dump(path, hints);
  if (!set) {
    ADD_FAILURE() << set.error().what << ", " << set.error().where;
    return {};
  }
  return std::move(*set);
}

// "operator slot", with "rank R ", "step S " and "[graph] " before it where they are set.
inline std::string line_of(const Entry& entry) {
  std::string line;
  if (entry.rank()) line += fmt::format("rank {} ", *entry.rank());
  if (entry.step()) line += fmt::format("step {} ", *entry.step());
  if (!entry.graph().empty()) line += fmt::format("[{}] ", entry.graph());
  return line + entry.operator_name.str() + " " + to_string(entry.slot);
}

inline std::vector<std::string> lines_of(const DumpSet& set) {
  std::vector<std::string> lines;
  for (const Entry& entry : set.entries) lines.push_back(line_of(entry));
  return lines;
}

// "path: reason", with "!" before it if it is an error.
inline std::vector<std::string> skipped_of(const DumpSet& set) {
  std::vector<std::string> lines;
  for (const Skipped& skipped : set.skipped)
    lines.push_back(
        fmt::format("{}{}: {}", skipped.error ? "!" : "", skipped.file, skipped.reason));
  return lines;
}

inline const Entry& find(const DumpSet& set, std::string_view line) {
  for (const Entry& entry : set.entries)
    if (line_of(entry) == line) return entry;
  ADD_FAILURE() << "no entry " << line;
  static const Entry none;
  return none;
}

// Every file of the tree is in entries, or it is skipped once, never both and never neither.
inline void expect_all_accounted(const DumpSet& set) {
  std::map<std::string, int> places;
  for (const auto& item : std::filesystem::recursive_directory_iterator(set.root))
    if (item.is_regular_file())
      places[item.path().lexically_relative(set.root).generic_string()] = 0;
  std::map<std::string, bool> listed;
  for (const Entry& entry : set.entries) {
    if (!entry.record.empty()) listed[entry.record] = true;
    for (const TensorRef& part : entry.parts) listed[part.file] = true;
    EXPECT_FALSE(entry.parts.empty() && entry.record.empty()) << line_of(entry);
  }
  for (const auto& [file, yes] : listed) ++places[file];
  for (const Skipped& skipped : set.skipped) {
    EXPECT_FALSE(skipped.reason.empty()) << skipped.file;
    if (std::filesystem::is_regular_file(set.root / skipped.file)) ++places[skipped.file];
  }
  for (const auto& [file, count] : places) EXPECT_EQ(count, 1) << file;
}

// All elements of an entry as text, e.g. "float32 [3]: 1 2 3".
inline std::string elements_of(const DumpSet& set, const Entry& entry,
                               const io::ReadHints& hints = {}) {
  auto opened = EntryReader::open(set, entry, hints);
  if (!opened) return "error: " + opened.error().what;
  io::TensorReader& reader = opened->reader();
  auto bytes = reader.read(0, reader.count());
  if (!bytes) return "error: " + bytes.error().what;
  std::string text =
      fmt::format("{} {}:", name_of(reader.dtype()), plumb::to_string(reader.shape()));
  std::vector<double> values(static_cast<size_t>(reader.count()));
  decode_double(reader.dtype(), bytes->data(), reader.count(), values.data());
  for (double value : values) text += fmt::format(" {}", value);
  return text;
}

}  // namespace plumb::dump
