// SPDX-License-Identifier: Apache-2.0
#include "dump/overflow_reports.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dump/mapping_csv.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kRecordType = "Opdebug";
// What is left of a device dump after its tensors were reduced to statistics.
constexpr std::string_view kReducedEnds[] = {".csv", "_min_max.npz"};

std::optional<DeviceName> device_name(std::string_view name) {
  for (std::string_view end : kReducedEnds)
    if (name.ends_with(end)) name.remove_suffix(end.size());
  return parse_device_name(name);
}

// The device dumps of a set by directory and task, records aside.
class DumpFiles {
 public:
  struct File {
    const TreeFile* file;
    DeviceName name;  // borrows from the tree or its mapping.csv
  };

  explicit DumpFiles(const DumpSet& set) : tree_(tree_of(set)), real_names_(tree_) {
    for (const TreeFile& file : tree_.files) {
      const auto real_name = real_names_.of(file);
      const auto name = real_name ? device_name(*real_name) : std::nullopt;
      if (!name || name->type == kRecordType) continue;
      by_task_.emplace(std::pair(file.directory(), name->task), File{&file, *name});
      by_path_.emplace(file.path.str(), *name);
    }
    for (const Entry& entry : set.entries) {
      if (is_overflow_record(entry)) continue;
      for (const TensorRef& part : entry.parts) by_file_[part.file].push_back(&entry);
      if (entry.parts.empty()) by_file_[entry.record.str()].push_back(&entry);
    }
  }
  DumpFiles(const DumpFiles&) = delete;
  DumpFiles& operator=(const DumpFiles&) = delete;

  // The earliest in the directory that ran as the task; null if there is none.
  const File* find(std::string_view directory, const io::OverflowUnit& unit) const {
    const auto task = unit.value("task_id");
    if (!task || *task > static_cast<uint64_t>(INT64_MAX)) return nullptr;
    const File* best = nullptr;
    const auto [begin, end] =
        by_task_.equal_range(std::pair(directory, static_cast<int64_t>(*task)));
    for (auto at = begin; at != end; ++at) {
      const File& file = at->second;
      if (!fits(file.name, unit)) continue;
      if (best == nullptr || std::tie(file.name.timestamp, file.file->path) <
                                 std::tie(best->name.timestamp, best->file->path))
        best = &file;
    }
    return best;
  }

  // The tensors in a file. One of several slices may have none of its own: then those of the
  // operator it is a slice of.
  std::vector<const Entry*> tensors_in(const File& file) const {
    if (const auto own = by_file_.find(file.file->path); own != by_file_.end()) return own->second;
    for (const auto& [path, entries] : by_file_) {
      const auto other = by_path_.find(path);
      if (other == by_path_.end() || other->second.type != file.name.type ||
          other->second.op != file.name.op || other->second.task != file.name.task)
        continue;
      if (path.directory() == file.file->directory()) return entries;
    }
    return {};
  }

 private:
  static Tree tree_of(const DumpSet& set) {
    std::set<std::string> paths;
    for (const Entry& entry : set.entries) {
      for (const TensorRef& part : entry.parts) paths.insert(part.file);
      if (entry.parts.empty()) paths.insert(entry.record);
    }
    for (const Skipped& skipped : set.skipped) paths.insert(skipped.file);
    Tree tree;
    tree.root = set.root;
    std::set<std::string> mappings;
    for (const std::string& path : paths) {
      const TreeFile& file = tree.files.emplace_back(TreeFile{path, 0});
      if (!is_hashed_name(file.name())) continue;
      std::string mapping(file.directory());
      mapping += mapping.empty() ? "" : "/";
      mapping += kMappingName;
      if (!paths.contains(mapping)) mappings.insert(std::move(mapping));
    }
    for (const std::string& mapping : mappings) tree.files.push_back({mapping, 0});
    return tree;
  }

  static bool fits(const DeviceName& name, const io::OverflowUnit& unit) {
    const auto agrees = [&](std::string_view field, int64_t own) {
      const auto value = unit.value(field);
      return !value || *value == static_cast<uint64_t>(own);
    };
    // Zero is what writers leave where a task is no FFTS+ one.
    const auto agrees_if_told = [&](std::string_view field, int64_t own) {
      const auto value = unit.value(field);
      return !value || *value == 0 || *value == io::kOverflowNone || agrees(field, own);
    };
    return (!name.stream || agrees("stream_id", *name.stream)) &&
           (!name.task_type || (agrees_if_told("context_id", name.context) &&
                                agrees_if_told("thread_id", name.thread)));
  }

  Tree tree_;
  RealNames real_names_;
  std::multimap<std::pair<std::string_view, int64_t>, File> by_task_;
  std::map<FilePath, DeviceName> by_path_;
  std::map<FilePath, std::vector<const Entry*>> by_file_;
};

}  // namespace

bool is_overflow_record(const Entry& entry) {
  return entry.type == kRecordType || entry.operator_name == io::kOverflowOperator;
}

OverflowReports read_overflow_reports(const DumpSet& set, const io::ReadHints& hints) {
  OverflowReports found;
  std::optional<DumpFiles> files;
  for (const Entry& entry : set.entries) {
    if (!is_overflow_record(entry) || entry.parts.empty()) continue;
    if (entry.slot.kind != SlotKind::kOutput) continue;
    const TensorRef& part = entry.parts.front();
    const std::string path = set.absolute(part.file);
    auto file = open_part(set, part, hints);
    auto info = file ? find_tensor(*file, part.tensor) : Result<const TensorInfo*>(file.error());
    if (!info) {
      found.damaged.push_back(info.error());
      continue;
    }
    auto record = io::decode_overflow(file->mapping.bytes(), **info);
    if (!record) {
      found.damaged.push_back(std::move(record.error()).in(path));
      continue;
    }
    ++found.records;
    for (const std::string& warning : record->warnings)
      found.warnings.push_back(part.file.str() + ": " + warning);
    for (io::OverflowUnit& unit : record->units) {
      if (!unit.has_overflow()) continue;
      if (!files) files.emplace(set);
      OverflowReport& report = found.reports.emplace_back();
      report.record = &entry;
      const DumpFiles::File* dump = files->find(part.file.directory(), unit);
      if (dump != nullptr) {
        report.tensors = files->tensors_in(*dump);
        report.dump_file = dump->file->path;
      }
      report.unit = std::move(unit);
    }
  }
  std::stable_sort(found.reports.begin(), found.reports.end(),
                   [](const OverflowReport& a, const OverflowReport& b) {
                     return a.record->timestamp < b.record->timestamp;
                   });
  return found;
}

}  // namespace plumb::dump
