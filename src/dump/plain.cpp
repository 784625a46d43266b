// SPDX-License-Identifier: Apache-2.0
//
// Any directory of tensor files, and any single one. The operator is the file's path without its
// extension; the extension stays if another file or directory has the name without it. A tensor in
// a file of several adds "/" and its name there. No two tensors get the same name this way: a name
// that is a path belongs to that file, and what follows a file's name belongs to what is inside it.
// Only a dump whose header names its operator goes by that name.
#include <set>

#include "dump/listing.h"
#include "dump/names.h"
#include "dump/reduced.h"
#include "io/onnx_tensor.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kNoTensor = "not a tensor file";

std::string_view without_extension(std::string_view path) {
  if (path.ends_with(".npy.gz")) path.remove_suffix(3);
  const size_t name = path.rfind('/') + 1;  // npos + 1 == 0
  const size_t dot = path.rfind('.');
  if (dot != std::string_view::npos && is_digits(path.substr(dot + 1))) return path;  // "layer.0"
  return dot == std::string_view::npos || dot <= name ? path : path.substr(0, dot);
}

std::string_view parent_of(std::string_view directory) {
  const size_t slash = directory.rfind('/');
  return directory.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string_view property(const io::Listing& listing, std::string_view key) {
  for (const auto& [name, value] : listing.properties)
    if (name == key) return value;
  return {};
}

struct Found {
  std::vector<Entry> entries;  // operator_name is the name inside the file, empty if it has none
  std::optional<Skipped> skipped;
  bool knows_operator = false;  // a dump whose header has the operator's own name
  std::vector<std::string> warnings;
};

Found leave_out(Skipped skipped) {
  Found found;
  found.skipped = std::move(skipped);
  return found;
}

std::string_view why_no_tensor(const Tree& tree, const TreeFile& file, bool map) {
  if (!file.name().ends_with(".pb")) return kNoTensor;
  const auto mapped = MappedFile::open(tree.absolute(file), map);
  if (!mapped) return kNoTensor;
  const Bytes bytes = mapped->bytes();
  return io::is_onnx_sequence(bytes.first(std::min(bytes.size(), io::kProbeBytes)))
             ? io::kOnnxSequence
             : kNoTensor;
}

// What `plumb reduce` left of a dump file, whatever it is called now: statistics, not tensors.
Found find_reduced(const Tree& tree, const TreeFile& file) {
  auto entries = list_reduced(tree.absolute(file), file.path.str(), {});
  if (!entries) return leave_out(skip_damaged(file, std::move(entries.error())));
  Found found;
  found.entries = std::move(*entries);
  found.knows_operator = !found.entries.empty() && !found.entries.front().operator_name.empty();
  return found;
}

// Spreadsheets and packages are zip archives: only a name that promises arrays makes them damaged.
bool is_other_archive(const Tree& tree, const TreeFile& file, const io::Format* format) {
  if (tree.is_single_file || format == nullptr || has_tensor_extension(file.name())) return false;
  return format->name == "npz" || format->name == "pt";
}

// One file's tensors. The headers of npy files, which hold one tensor each, are left for later.
Found look_into(const Tree& tree, const TreeFile& file, const io::ReadHints& hints) {
  if (file.size_bytes == 0 && !tree.is_single_file)
    return leave_out(skip_unknown(tree, file, kNoTensor));
  const std::string head = head_of(tree, file);
  const io::Format* format = probe_format(head, file.size_bytes);
  if (format != nullptr && format->name == "text" && is_known_companion(file.name()) &&
      !tree.is_single_file)
    return leave_out(skip_unknown(tree, file, kNoTensor));
  if (format == nullptr && !tree.is_single_file) {
    if (auto raw = skip_raw(tree, file, hints)) return leave_out(std::move(*raw));
    if (!has_tensor_extension(file.name()))
      return leave_out(skip_unknown(tree, file, why_no_tensor(tree, file, hints.map)));
  }
  Found found;
  const bool is_npy = format != nullptr && format->name == "npy";
  if (is_npy && is_reduced_npy(as_bytes(head), file.size_bytes)) return find_reduced(tree, file);
  if (is_npy && !tree.is_single_file) {
    found.entries.emplace_back().parts.push_back({file.path, ""});
    return found;
  }
  auto opened = io::open_tensor_file(tree.absolute(file), hints);
  if (!opened) {
    if (is_other_archive(tree, file, format)) return leave_out(skip(file, opened.error().what));
    return leave_out(skip_damaged(file, std::move(opened.error())));
  }
  if (!property(opened->listing, "reduced").empty()) return find_reduced(tree, file);
  const bool is_dump = opened->format->name.starts_with("ascend");
  const std::string_view own_name = is_dump ? property(opened->listing, "op_name") : "";
  found.knows_operator = !own_name.empty();
  found.warnings = std::move(opened->listing.warnings);
  for (TensorInfo& info : opened->listing.tensors) {
    Entry& entry = found.entries.emplace_back();
    entry.operator_name = is_dump ? own_name : std::string_view(info.name);
    if (is_dump) entry.slot = slot_from_tensor_name(info.name);
    entry.parts.push_back({file.path, info.name});
    entry.info = std::move(info);
  }
  if (found.entries.empty()) found.skipped = skip(file, "holds no tensors");
  return found;
}

int match_plain(const Tree&) { return 1; }

DumpSet list_plain(const Tree& tree, const io::ReadHints& hints) {
  return list_plain(tree, tree.files, hints);
}

}  // namespace

DumpSet list_plain(const Tree& tree, std::span<const TreeFile> files, const io::ReadHints& hints) {
  DumpSet set;
  std::vector<Found> found(files.size());
  for_each_index(files.size(), [&](size_t i) { found[i] = look_into(tree, files[i], hints); });

  std::multiset<std::string, std::less<>> taken;  // by tensor files and directories
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].entries.empty()) continue;
    const std::string path = files[i].path;
    if (without_extension(path) != path) taken.emplace(without_extension(path));
    taken.insert(path);
  }
  std::set<std::string_view> directories;
  for (const TreeFile& file : files)
    for (auto d = file.directory(); directories.insert(d).second;) d = parent_of(d);

  std::vector<std::string> warnings;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string path = files[i].path;
    for (const std::string& warning : found[i].warnings) warnings.push_back(path + ": " + warning);
    std::string name(without_extension(path));
    if (taken.count(name) > 1 || directories.contains(name)) name = path;
    for (Entry& entry : found[i].entries) {
      SharedText& own = entry.operator_name;
      if (own.empty()) {
        own = name;
      } else if (!tree.is_single_file && !found[i].knows_operator) {
        own = name + "/" + own.str();
      }
      set.entries.push_back(std::move(entry));
    }
    if (found[i].skipped) set.skipped.push_back(std::move(*found[i].skipped));
  }
  add_warnings(std::move(warnings), set);
  return set;
}

extern constexpr Convention kPlain{"plain",
                                   "any directory of tensor files, operators named by their path",
                                   match_plain, list_plain};

}  // namespace plumb::dump
