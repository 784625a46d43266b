// SPDX-License-Identifier: Apache-2.0
//
// Device dumps: one file for each execution of an operator with all its tensors, named
// type.name.task.stream.timestamp, in directories by time, device, model and step. An operator that
// ran as FFTS+ slices has a file for each slice; they are put together here. Decoded by some tool,
// and where MindSpore wrote them, its tensors are npy files of their own, with more in their names.
#include "dump/ascend_dump.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/mapped_file.h"
#include "dump/levels.h"
#include "dump/listing.h"
#include "dump/mapping_csv.h"
#include "dump/names.h"
#include "dump/reduced.h"
#include "dump/statistics_csv.h"
#include "io/ascend_dump.h"
#include "io/raw_name.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kReducedEnd = "_min_max.npz", kStatisticsEnd = ".csv";
constexpr std::string_view kDebugType = "Opdebug";  // overflow records

enum class Content : uint8_t { kTensors, kStatistics, kReduced, kGolden, kDecoded, kArchive };

struct Name {
  Content content = Content::kTensors;
  DeviceName device;         // all empty if only the content says what the file is
  GoldenName golden;         // of Content::kGolden
  DecodedName decoded = {};  // of Content::kDecoded
};

std::optional<Name> parse_name(std::string_view name) {
  const auto without = [&](std::string_view end) {
    return name.substr(0, name.size() - end.size());
  };
  for (const auto& [end, content] : {std::pair{kStatisticsEnd, Content::kStatistics},
                                     {kReducedEnd, Content::kReduced},
                                     {std::string_view(".npz"), Content::kArchive},
                                     {std::string_view(".safetensors"), Content::kArchive},
                                     {std::string_view(), Content::kTensors}})
    if (name.ends_with(end))
      if (const auto device = parse_device_name(without(end))) return Name{content, *device, {}};
  for (const std::string_view end : {".pb", ".quant"})
    if (name.ends_with(end))
      if (const auto golden = parse_golden_name(without(end)))
        return Name{Content::kGolden, {}, *golden};
  if (const auto decoded = parse_decoded_name(name))
    return Name{Content::kDecoded, decoded->device, {}, *decoded};
  return {};
}

struct Job {
  const TreeFile* file;
  std::string_view real_name;
  Name name;
};

struct Outcome {
  std::vector<Entry> entries;
  std::optional<Error> error;
  std::optional<io::FftsSlices> slices;
  std::vector<std::string> warnings;
  bool is_foreign = false;  // another format under the name of a dump
};

Outcome failed(Error error) {
  Outcome outcome;
  outcome.error = std::move(error);
  return outcome;
}

// What of an entry the name says.
Entry model_of(const Name& name) {
  Entry entry;
  if (name.content == Content::kGolden) {
    entry.operator_name = name.golden.op;
    entry.timestamp = name.golden.timestamp;
  } else {
    entry.operator_name = name.device.op;
    entry.type = name.device.type;
    entry.timestamp = name.device.timestamp;
  }
  return entry;
}

// All tensors of a decoded dump in one archive, under the names that the dump has for them.
bool holds_slots(const io::Listing& listing) {
  return std::all_of(listing.tensors.begin(), listing.tensors.end(), [](const TensorInfo& info) {
    return slot_from_tensor_name(info.name).kind != SlotKind::kOther;
  });
}

Outcome read_tensors(const Tree& tree, const Job& job, io::ReadHints hints) {
  hints.file_name = job.real_name;
  auto opened = io::open_tensor_file(tree.absolute(*job.file), hints);
  if (!opened) return failed(std::move(opened.error()));
  Outcome outcome;
  const bool is_archive = job.name.content == Content::kArchive;
  outcome.is_foreign = is_archive ? !holds_slots(opened->listing)
                                  : job.name.content == Content::kTensors &&
                                        !opened->format->name.starts_with("ascend");
  if (outcome.is_foreign) return outcome;
  outcome.warnings = std::move(opened->listing.warnings);
  Entry model = model_of(job.name);
  if (model.type != kDebugType)
    for (const auto& [key, value] : opened->listing.properties)
      if (key == "op_name") model.operator_name = value;
  for (TensorInfo& info : opened->listing.tensors) {
    Entry& entry = outcome.entries.emplace_back(model);
    entry.slot = slot_from_tensor_name(info.name);
    entry.parts.push_back(part_of(*job.file, job.real_name, info.name));
    entry.info = std::move(info);
  }
  if (job.name.content == Content::kGolden && outcome.entries.size() == 1)
    outcome.entries[0].slot.index = job.name.golden.index;
  if (job.name.device.is_ffts() && !is_archive) {
    auto slices = io::ffts_slices(opened->mapping.bytes());
    if (!slices) return failed(std::move(slices.error()).in(tree.absolute(*job.file).string()));
    outcome.slices = std::move(*slices);
  }
  return outcome;
}

Outcome read_statistics(const Tree& tree, const Job& job, bool map) {
  const auto path = tree.absolute(*job.file);
  auto mapped = MappedFile::open(path, map);
  if (!mapped) return failed(mapped.error());
  auto entries = parse_statistics_csv(as_text(mapped->bytes()));
  if (auto checked = mapped->check(path.string()); !checked) return failed(checked.error());
  if (!entries) return failed(std::move(entries.error()).in(path.string()));
  const Entry model = model_of(job.name);
  const SharedText record = job.file->path.str();
  for (Entry& entry : *entries) {
    entry.operator_name = model.operator_name;
    entry.type = model.type;
    entry.timestamp = model.timestamp;
    entry.record = record;
  }
  return {std::move(*entries), {}, {}, {}, false};
}

// One tensor, whose header is read when it is needed.
Outcome read_decoded(const Tree& tree, const Job& job) {
  const DecodedName& name = job.name.decoded;
  if (!name.is_npy && !io::parse_raw_name(job.real_name))
    return failed({"raw data says nothing about itself",
                   fmt::format("{}, byte 0: {} bytes of {} without a shape",
                               tree.absolute(*job.file).string(), job.file->size_bytes, name.dtype),
                   "dump it in a type that npy has, or compare it alone with --dtype and --shape"});
  Outcome outcome;
  Entry& entry = outcome.entries.emplace_back(model_of(job.name));
  entry.slot = name.slot;
  entry.parts.push_back(part_of(*job.file, job.real_name));
  return outcome;
}

Outcome read_job(const Tree& tree, const Job& job, const io::ReadHints& hints) {
  switch (job.name.content) {
    case Content::kStatistics: return read_statistics(tree, job, hints.map);
    case Content::kDecoded: return read_decoded(tree, job);
    case Content::kReduced: {
      auto entries =
          list_reduced(tree.absolute(*job.file), job.file->path.str(), model_of(job.name));
      if (entries) return {std::move(*entries), {}, {}, {}, false};
      Outcome outcome = failed(std::move(entries.error()));
      outcome.is_foreign = outcome.error->what == kNotReduced;
      if (outcome.is_foreign) outcome.error.reset();
      return outcome;
    }
    default: return read_tensors(tree, job, hints);
  }
}

// Of tools that decode a dump beside itself: NAME.output.0.npy where NAME is a dump that is there.
bool is_decoded_copy(const Tree& tree, const TreeFile& file) {
  for (const std::string_view end : {".npz", ".safetensors"})
    if (file.name().ends_with(end)) {
      const std::string path = file.path;
      const TreeFile* dump = tree.find(path.substr(0, path.size() - end.size()));
      return dump != nullptr && dump->size_bytes > 0;
    }
  constexpr std::string_view kEnd = ".npy";
  const std::string_view name = file.name();
  const size_t dot = name.size() < kEnd.size() ? 0 : name.rfind('.', name.size() - kEnd.size() - 1);
  const size_t start = dot == std::string_view::npos || dot == 0 ? 0 : name.rfind('.', dot - 1);
  if (!name.ends_with(kEnd) || start == std::string_view::npos || start == 0) return false;
  const auto slot =
      slot_from_tensor_name(name.substr(start + 1, name.size() - kEnd.size() - start - 1));
  const TreeFile* dump = tree.find(std::string(file.path.prefix()).append(name.substr(0, start)));
  return slot.kind != SlotKind::kOther && dump != nullptr && dump->size_bytes > 0 &&
         parse_device_name(dump->name()).has_value();
}

// Sorts the files of the tree into jobs and skipped ones.
std::vector<Job> find_jobs(const Tree& tree, const RealNames& real_names, DumpSet& set) {
  std::vector<Job> jobs;
  std::vector<const TreeFile*> unknown;
  size_t unnamed = 0;
  for (const TreeFile& file : tree.files) {
    const auto real_name = real_names.of(file);
    const auto name = real_name ? parse_name(*real_name) : std::nullopt;
    if (!real_name) {
      ++unnamed;
      set.skipped.push_back(skip_unknown(tree, file, kUnnamed));
    } else if ((!name || name->content == Content::kDecoded ||
                name->content == Content::kArchive) &&
               is_decoded_copy(tree, file)) {
      set.skipped.push_back(skip(file, "decoded copy of a dump that is there"));
    } else if (!name) {
      unknown.push_back(&file);
    } else if (file.size_bytes == 0) {
      set.skipped.push_back(skip_empty(tree, file));
    } else if (name->content == Content::kReduced && has_original(tree, file)) {
      set.skipped.push_back(skip(file, kHasOriginal));
    } else {
      jobs.push_back({&file, *real_name, *name});
    }
  }
  if (unnamed > 0) set.warnings.push_back(unnamed_warning(unnamed));
  // Content decides: a renamed dump is still one.
  std::vector<char> is_dump(unknown.size());
  for_each_index(unknown.size(), [&](size_t i) {
    if (unknown[i]->size_bytes == 0 || companion_reason(unknown[i]->name())) return;
    const io::Format* format = probe_format(tree, *unknown[i]);
    is_dump[i] = format != nullptr && format->name.starts_with("ascend");
  });
  for (size_t i = 0; i < unknown.size(); ++i) {
    const TreeFile& file = *unknown[i];
    if (is_dump[i]) {
      Job& job = jobs.emplace_back(Job{&file, file.name(), {}});
      job.name.device.op = file.name();
    } else {
      set.skipped.push_back(skip_unknown(tree, file, "not a device dump"));
    }
  }
  return jobs;
}

// Several runs into one directory leave several time directories: the newest counts.
void drop_older_runs(const Tree& tree, std::vector<Job>& jobs, DumpSet& set) {
  std::error_code ignored;
  const std::string root =
      std::filesystem::absolute(tree.root, ignored).lexically_normal().generic_string();
  using Run = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<std::string_view, Levels> by_directory;
  std::map<Run, std::string> newest;
  const auto run_of = [](const Levels& l) {
    return Run{l.above_time, l.device, l.model, l.model_id};
  };
  for (const Job& job : jobs) {
    const std::string_view directory = job.file->directory();
    if (by_directory.contains(directory)) continue;
    const Levels& levels = by_directory[directory] = parse_levels(root, directory);
    std::string& time = newest[run_of(levels)];
    time = std::max(time, levels.time);
  }
  std::map<std::string, size_t> left_out;  // by time
  std::erase_if(jobs, [&](const Job& job) {
    const Levels& levels = by_directory[job.file->directory()];
    const std::string& time = newest[run_of(levels)];
    if (levels.time.empty() || levels.time == time) return false;
    set.skipped.push_back(skip(*job.file, fmt::format("an older run; that of {} is listed", time)));
    ++left_out[levels.time];
    return true;
  });
  for (const auto& [time, files] : left_out)
    set.warnings.push_back(
        fmt::format("{} of the older run {} left out", counted(files, "file"), time));
}

// ---- FFTS+ slices ----

struct Slice {
  int64_t number;
  int64_t timestamp;
  size_t index;  // of job and outcome
};

// The first axis along which an output was cut.
std::optional<size_t> cut_axis(const io::FftsSlices& slices, const Slot& slot) {
  if (slot.kind != SlotKind::kOutput || slot.index < 0 ||
      static_cast<size_t>(slot.index) >= slices.output_cuts.size())
    return {};
  const auto& cuts = slices.output_cuts[static_cast<size_t>(slot.index)];
  for (size_t axis = 0; axis < cuts.size(); ++axis)
    if (cuts[axis] != 1) return axis;
  return {};
}

// The slices of one execution, in order, as one list of entries. Inputs, and outputs that are not
// cut, come from the first slice; without any cut the newest file stands for the operator.
std::vector<Entry> join_slices(std::span<const Slice> parts, std::vector<Outcome>& outcomes,
                               std::vector<std::string>& warnings) {
  Outcome& first = outcomes[parts.front().index];
  const io::FftsSlices slices = *first.slices;
  const auto is_cut = [&](const Entry& entry) { return cut_axis(slices, entry.slot).has_value(); };
  if (!first.entries.empty() && slices.instances != static_cast<int64_t>(parts.size()))
    warnings.push_back(fmt::format("{}: {} of {} slices are there", first.entries[0].operator_name,
                                   parts.size(), slices.instances));
  if (std::none_of(first.entries.begin(), first.entries.end(), is_cut)) {
    const auto newest =
        std::max_element(parts.begin(), parts.end(),
                         [](const Slice& a, const Slice& b) { return a.timestamp < b.timestamp; });
    return std::move(outcomes[newest->index].entries);
  }
  std::vector<Entry> joined = std::move(first.entries);
  for (Entry& entry : joined) {
    const auto axis = cut_axis(slices, entry.slot);
    if (!axis) continue;
    entry.parts.join_axis = static_cast<uint32_t>(*axis);
    for (const Slice& part : parts.subspan(1))
      for (const Entry& other : outcomes[part.index].entries)
        if (other.slot == entry.slot) entry.parts.push_back(other.parts[0]);
  }
  return joined;
}

// Replaces the entries of slices by joined ones.
void join_all(const std::vector<Job>& jobs, std::vector<Outcome>& outcomes, DumpSet& set) {
  std::map<std::tuple<std::string_view, std::string_view, std::string>, std::vector<Slice>>
      operators;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!outcomes[i].slices) continue;
    const DeviceName& name = jobs[i].name.device;
    const auto manual = parse_manual_slice(name.op);
    operators[{jobs[i].file->directory(), name.type, manual ? manual->op : std::string(name.op)}]
        .push_back({manual ? manual->slice : name.thread, name.timestamp, i});
    for (Entry& entry : outcomes[i].entries)
      if (auto whole = parse_manual_slice(entry.operator_name)) entry.operator_name = whole->op;
  }
  for (auto& [key, files] : operators) {
    std::sort(files.begin(), files.end(), [](const Slice& a, const Slice& b) {
      return std::tie(a.number, a.timestamp, a.index) < std::tie(b.number, b.timestamp, b.index);
    });
    // A slice number that comes again belongs to the operator's next execution.
    std::vector<std::vector<Slice>> executions;
    for (size_t i = 0, again = 0; i < files.size(); ++i) {
      again = i > 0 && files[i].number == files[i - 1].number ? again + 1 : 0;
      if (again == executions.size()) executions.emplace_back();
      executions[again].push_back(files[i]);
    }
    for (const std::vector<Slice>& parts : executions) {
      std::vector<Entry> joined = join_slices(parts, outcomes, set.warnings);
      std::set<FilePath> used;
      for (const Entry& entry : joined)
        for (const TensorRef& part : entry.parts) used.insert(part.file);
      for (const Slice& part : parts) {
        const TreeFile& file = *jobs[part.index].file;
        outcomes[part.index].entries.clear();
        if (!used.contains(file.path))
          set.skipped.push_back(skip(file, "slice of an operator whose outputs are not cut"));
      }
      const auto earliest = std::min_element(
          parts.begin(), parts.end(),
          [](const Slice& a, const Slice& b) { return a.timestamp < b.timestamp; });
      for (Entry& entry : joined) {
        entry.timestamp = earliest->timestamp;
        set.entries.push_back(std::move(entry));
      }
    }
  }
}

int match_device_dumps(const Tree& tree) {
  if (tree.is_single_file) {
    const io::Format* format = probe_format(tree, tree.files[0]);
    const bool is_dump = format != nullptr && format->name.starts_with("ascend");
    const auto name = parse_name(tree.files[0].name());  // a lone npy file is what it is
    return is_dump || (name && name->content != Content::kDecoded) ? 60 : 0;
  }
  const RealNames real_names(tree);
  const int percent = percent_of(tree, [&](const TreeFile& file) -> std::optional<bool> {
    const auto name = real_names.of(file);
    if (name && is_device_file_name(*name)) return true;
    if (!name || companion_reason(*name)) return {};
    return false;
  });
  return percent == 0 ? 0 : 20 + 60 * percent / 100;
}

}  // namespace

bool is_device_file_name(std::string_view name) { return parse_name(name).has_value(); }

DumpSet list_device_dumps(const Tree& tree, const io::ReadHints& hints) {
  DumpSet set;
  const RealNames real_names(tree);
  set.warnings = real_names.warnings();
  std::vector<Job> jobs = find_jobs(tree, real_names, set);
  drop_older_runs(tree, jobs, set);
  std::vector<Outcome> outcomes(jobs.size());
  for_each_index(jobs.size(), [&](size_t i) { outcomes[i] = read_job(tree, jobs[i], hints); });
  std::vector<std::string> warnings;
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (const std::string& warning : outcomes[i].warnings)
      warnings.push_back(jobs[i].file->path.str() + ": " + warning);
    if (outcomes[i].error) {
      set.skipped.push_back(skip_damaged(*jobs[i].file, std::move(*outcomes[i].error)));
    } else if (outcomes[i].is_foreign) {
      set.skipped.push_back(skip_unknown(tree, *jobs[i].file, "not a device dump"));
    } else if (outcomes[i].entries.empty()) {
      set.skipped.push_back(skip(*jobs[i].file, "holds no tensors"));
      outcomes[i].slices.reset();
    }
  }
  add_warnings(std::move(warnings), set);
  join_all(jobs, outcomes, set);
  for (Outcome& outcome : outcomes)
    for (Entry& entry : outcome.entries) set.entries.push_back(std::move(entry));
  EntryTexts texts;
  for (Entry& entry : set.entries) texts.share(entry);
  place_entries(tree.root, set.entries);
  return set;
}

extern constexpr Convention kAscendDump{
    "ascend-dump",
    "device dumps type.name.task.stream.time, also decoded, by time, device, model and step",
    match_device_dumps,
    list_device_dumps,
    {.is_device = true}};

}  // namespace plumb::dump
