// SPDX-License-Identifier: Apache-2.0
//
// The folders that Pulsar's simulator and the board tools write:
//   input/ onnx/ joint/      NAME.npy and NAME.bin with the same data, one folder for each kind of
//   model input/CASE/ output/CASE/ NAME.bin, one folder for each input of a list
// Such a .bin file has no header: without an npy twin it needs --dtype and --shape.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dump/listing.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kInput = "input", kOnnx = "onnx", kJoint = "joint", kOutput = "output";

bool is_tensor_name(std::string_view name) {
  return name.ends_with(".npy") || name.ends_with(".bin");
}

std::string_view stem(std::string_view name) { return name.substr(0, name.size() - 4); }

// The directory that holds the folders: the one given, or a directory in it.
struct Base {
  std::string prefix;    // "" or "gt/"
  bool by_case = false;  // output/CASE/
};

std::optional<Base> find_base(const Tree& tree) {
  std::map<std::string, std::set<std::string_view>> folders;  // by prefix
  std::map<std::string, std::set<std::string_view>> case_folders;
  const TreeFile* last = nullptr;  // that told what its directory is; files are sorted
  for (const TreeFile& file : tree.files) {
    if (file.path.prefix().empty() || (last != nullptr && last->directory() == file.directory()))
      continue;
    if (!is_tensor_name(file.name()) || parse_golden_name(stem(file.name()))) continue;
    last = &file;
    const auto path = components(file.directory());
    for (size_t depth = 0; depth <= 1 && depth < path.size(); ++depth) {
      const std::string prefix = depth == 0 ? "" : std::string(path[0]) + "/";
      if (path.size() == depth + 1) folders[prefix].insert(path[depth]);
      if (path.size() == depth + 2) case_folders[prefix].insert(path[depth]);
    }
  }
  for (const auto& [prefix, names] : folders)
    if (names.contains(kInput) + names.contains(kOnnx) + names.contains(kJoint) >= 2)
      return Base{prefix, false};
  for (const auto& [prefix, names] : case_folders)
    if (names.contains(kOutput) &&
        (names.contains(kInput) || tree.find(prefix + "list.txt") != nullptr))
      return Base{prefix, true};
  return {};
}

int match_pulsar_gt(const Tree& tree) { return !tree.is_single_file && find_base(tree) ? 85 : 0; }

DumpSet list_pulsar_gt(const Tree& tree, const io::ReadHints& hints) {
  DumpSet set;
  const Base base = find_base(tree).value_or(Base{});
  for (const TreeFile& file : tree.files) {
    const std::string whole = file.path;
    const auto path = components(std::string_view(whole).substr(
        whole.starts_with(base.prefix) ? base.prefix.size() : whole.size()));
    if (path.size() != (base.by_case ? 3u : 2u) || !is_tensor_name(file.name())) {
      set.skipped.push_back(skip_unknown(tree, file, "not a tensor file"));
      continue;
    }
    if (file.size_bytes == 0) {
      set.skipped.push_back(skip_empty(tree, file));
      continue;
    }
    if (auto raw = skip_raw(tree, file, hints)) {
      set.skipped.push_back(std::move(*raw));
      continue;
    }
    Entry& entry = set.entries.emplace_back();
    entry.operator_name = stem(file.name());
    if (path[0] == kInput) entry.slot.kind = SlotKind::kInput;
    if (base.by_case) {
      const auto step = number_from(path[1]);
      entry.put_at({step, {}, step ? std::string() : std::string(path[1])});
    } else if (path[0] != kInput) {
      entry.put_at({{}, {}, std::string(path[0])});
    }
    entry.parts.push_back({file.path, ""});
  }
  return set;
}

}  // namespace

extern constexpr Convention kPulsarGt{
    "pulsar-gt", "folders input/ onnx/ joint/, or input/CASE/ output/CASE/, of the Pulsar tools",
    match_pulsar_gt, list_pulsar_gt};

}  // namespace plumb::dump
