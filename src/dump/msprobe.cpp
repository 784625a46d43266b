// SPDX-License-Identifier: Apache-2.0
//
// Dumps of msprobe for PyTorch and MindSpore: stepS/rankR/dump.json lists the calls with statistics
// or checksums; with task "tensor" the data lie beside it, in dump_tensor_data/. What the user
// saved by hand is in debug.json, in the same form.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "dump/dump_json.h"
#include "dump/levels.h"
#include "dump/listing.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kIndexNames[] = {"dump.json", "debug.json"};
constexpr std::string_view kDataDirectory = "dump_tensor_data";

bool is_msprobe_index(const Tree& tree, const TreeFile& file) {
  if (!tree.is_single_file && std::find(std::begin(kIndexNames), std::end(kIndexNames),
                                        file.name()) == std::end(kIndexNames))
    return false;
  return is_dump_json(head_of(tree, file));
}

int match_msprobe(const Tree& tree) {
  const bool any = std::any_of(tree.files.begin(), tree.files.end(),
                               [&](const TreeFile& file) { return is_msprobe_index(tree, file); });
  return any ? 92 : 0;
}

std::string join_path(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

// One dump.json and the data files beside it.
class Index {
 public:
  Index(const Tree& tree, const TreeFile& file, const DumpJson& parsed) : tree_(tree) {
    // Absolute paths are those of the machine that wrote the dump; only the last part still means
    // something here.
    std::string_view directory = parsed.data_directory;
    while (directory.ends_with('/')) directory.remove_suffix(1);
    directory.remove_prefix(directory.rfind('/') + 1);  // npos + 1 == 0
    if (directory.empty() || directory == "." || directory == "..") directory = kDataDirectory;
    data_directory_ = join_path(file.directory(), directory);
    record_ = file.path.str();
  }

  const std::string& data_directory() const { return data_directory_; }

  // Names the entry's data file and adds it to `used`. What the dump names is a tensor of it even
  // where the file is gone: whoever opens it is told.
  void resolve(Entry& entry, FilePaths& paths, std::set<FilePath>& used) const {
    entry.record = record_;
    if (entry.parts.empty()) return;
    FilePath& file = entry.parts[0].file;
    std::string name = file;
    std::replace(name.begin(), name.end(), '/', '_');  // a file beside the others, never a path
    name = join_path(data_directory_, name);
    const TreeFile* const data = tree_.find(name);
    if (data != nullptr) used.insert(data->path);
    file = data != nullptr ? data->path : paths.add(name);
  }

 private:
  const Tree& tree_;
  std::string data_directory_;
  SharedText record_;
};

// The user named dump.json itself: its data directory belongs to the dump, other neighbours do not.
void add_data_files(const std::string& directory, Tree& tree) {
  auto data = walk(tree.root / directory);
  if (!data || data->is_single_file) return;  // every file will be missing, which says it all
  FilePaths paths;
  for (const TreeFile& file : data->files)
    tree.files.push_back({paths.add(directory + "/" + file.path.str()), file.size_bytes});
  for (Skipped& skipped : data->skipped) {
    skipped.file = join_path(directory, skipped.file);
    tree.skipped.push_back(std::move(skipped));
  }
  paths.finish();
  std::sort(tree.files.begin(), tree.files.end(),
            [](const TreeFile& a, const TreeFile& b) { return a.path < b.path; });
}

DumpSet list_msprobe(const Tree& given, const io::ReadHints& hints) {
  DumpSet set;
  std::vector<const TreeFile*> files;
  for (const TreeFile& file : given.files)
    if (is_msprobe_index(given, file)) files.push_back(&file);
  std::vector<std::optional<Result<DumpJson>>> parsed(files.size());
  for_each_index(files.size(), [&](size_t i) {
    auto mapped = MappedFile::open(given.absolute(*files[i]), hints.map);
    if (mapped) mapped->prepare(mapped->bytes());
    parsed[i] = mapped ? parse_dump_json(mapped->bytes()) : Result<DumpJson>(mapped.error());
    if (auto checked = mapped ? mapped->check(given.absolute(*files[i])) : Result<void>(); !checked)
      parsed[i] = checked.error();
    else if (!*parsed[i] && mapped)
      parsed[i] = std::move(parsed[i]->error()).in(given.absolute(*files[i]).string());
  });

  Tree tree = given;
  if (given.is_single_file && !files.empty() && *parsed[0]) {
    add_data_files(Index(given, *files[0], **parsed[0]).data_directory(), tree);
    set.skipped = std::move(tree.skipped);
  }
  FilePaths missing;
  EntryTexts texts;
  std::set<FilePath> used;
  for (size_t i = 0; i < files.size(); ++i) {
    const TreeFile& file = *tree.find(files[i]->path.str());
    if (!*parsed[i]) {
      set.skipped.push_back(skip_damaged(file, parsed[i]->error()));
      used.insert(file.path);
      continue;
    }
    const Index index(tree, file, **parsed[i]);
    std::vector<Entry>& entries = (*parsed[i])->entries;
    for (Entry& entry : entries) {
      index.resolve(entry, missing, used);
      texts.share(entry);
    }
    if (!entries.empty()) used.insert(file.path);
    if (set.entries.empty()) {
      set.entries = std::move(entries);
    } else {
      std::move(entries.begin(), entries.end(), std::back_inserter(set.entries));
    }
    parsed[i].reset();
  }
  for (const TreeFile& file : tree.files)
    if (!used.contains(file.path))
      set.skipped.push_back(skip_unknown(tree, file, "not named in a dump.json or debug.json"));
  place_entries(tree.root, set.entries);
  return set;
}

}  // namespace

extern constexpr Convention kMsprobe{
    "msprobe",
    "dump.json and debug.json of msprobe, with statistics, checksums or tensors, by step and rank",
    match_msprobe,
    list_msprobe,
    {.has_numbered_calls = true}};

}  // namespace plumb::dump
