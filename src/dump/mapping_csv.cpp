// SPDX-License-Identifier: Apache-2.0
#include "dump/mapping_csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/csv.h"
#include "base/mapped_file.h"
#include "dump/names.h"

namespace plumb::dump {

NameMapping parse_mapping_csv(std::string_view text) {
  NameMapping mapping;
  std::vector<std::pair<std::string_view, std::string_view>> names;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    const size_t comma = line.find(',');
    if (comma == std::string_view::npos || line.find(',', comma + 1) != std::string_view::npos) {
      mapping.bad_lines.push_back(number);
      continue;
    }
    std::string_view real = line.substr(comma + 1);
    real.remove_prefix(real.rfind('/') + 1);  // device servers write the whole path; npos + 1 == 0
    if (comma == 0 || real.empty()) {
      mapping.bad_lines.push_back(number);
    } else {
      names.emplace_back(line.substr(0, comma), real);
    }
  }
  // In order, each goes to the end of the map; of two lines for one file the later one counts.
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [stored, real] : names)
    mapping.real_names.insert_or_assign(mapping.real_names.end(), std::string(stored),
                                        std::string(real));
  return mapping;
}

bool is_hashed_name(std::string_view name) {
  if (name.ends_with(".npy")) name.remove_suffix(4);
  return is_digits(name);
}

RealNames::RealNames(const Tree& tree) {
  for (const TreeFile& file : tree.files) {
    if (file.name() != kMappingName) continue;
    auto mapped = MappedFile::open(tree.absolute(file), /*map=*/false);
    if (!mapped) {
      warnings_.push_back(fmt::format("{}: {}", mapped.error().what, mapped.error().where));
      continue;
    }
    NameMapping mapping = parse_mapping_csv(as_text(mapped->bytes()));
    if (!mapping.bad_lines.empty())
      warnings_.push_back(fmt::format("{}: {} without exactly two columns ignored, first {}",
                                      file.path, counted(mapping.bad_lines.size(), "line"),
                                      mapping.bad_lines.front()));
    by_directory_.emplace(file.directory(), std::move(mapping));
  }
}

TensorRef part_of(const TreeFile& file, std::string_view real_name, std::string_view tensor) {
  TensorRef part{file.path, tensor};
  if (real_name != file.name()) part.real_name = real_name;
  return part;
}

std::string unnamed_warning(size_t count) {
  return fmt::format("{} named by a number whose real name is not in {}: listed by path",
                     count == 1 ? "1 file is" : fmt::format("{} files are", count), kMappingName);
}

std::optional<std::string_view> RealNames::of(const TreeFile& file) const {
  if (!is_hashed_name(file.name())) return file.name();
  const auto mapping = by_directory_.find(file.directory());
  if (mapping == by_directory_.end()) return {};
  const auto real = mapping->second.real_names.find(file.name());
  if (real == mapping->second.real_names.end()) return {};
  return real->second;
}

}  // namespace plumb::dump
