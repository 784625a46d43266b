// SPDX-License-Identifier: Apache-2.0
//
// `plumb convert PATH... -o DIR`: decodes tensors to npy, npz, bin or safetensors, in plain order.
// Names are given out first, in order; then the files are worked off in parallel. A failure costs
// its tensor, not the run.
#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "base/nearest.h"
#include "base/uuid.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "dump/names.h"
#include "io/ascend_overflow.h"
#include "io/rearrange.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 255;

struct Output {
  const io::Format* format;
  std::string extension;  // with its dot
  bool is_archive;        // one output for all tensors of a source file
};

// What --layout asks for: plain order, the bytes as they lie, named axes, or a device layout.
struct Wanted {
  io::ReadOrder order;
  std::optional<Layout> device;
};

struct Item {
  std::string tensor;  // its name in the source file
  fs::path output;     // relative to the output directory; the archive for archives
  std::string key;     // inside an archive
};
struct Job {
  const dump::DumpSet* set;
  dump::TensorRef file;  // its `tensor` is not used
  bool is_overflow;      // debug records become JSON
  std::vector<Item> items;

  fs::path source() const { return set->root / file.file; }
};

Result<Output> output_from(const std::string& name) {
  if (name == "npy") return Output{io::format_by_name("npy"), ".npy", false};
  if (name == "bin") return Output{io::format_by_name("raw"), ".bin", false};
  if (name == "npz") return Output{io::format_by_name("npz"), ".npz", true};
  if (name == "safetensors") return Output{io::format_by_name("safetensors"), ".safetensors", true};
  const std::vector<std::string> names{"npy", "npz", "bin", "safetensors"};
  return Error{"cannot write '" + name + "'", "--format " + name,
               did_you_mean(name, names) + "npy, npz, bin and safetensors can be written"};
}

Result<Wanted> wanted_from(const std::string& layout) {
  Wanted wanted;
  if (layout == "plain") return wanted;
  if (layout == "stored") {
    wanted.order.stored = true;
    return wanted;
  }
  const auto known = layout_from_name(layout);
  if (!known) {
    auto names = layout_names();
    names.insert(names.end(), {"plain", "stored"});
    return Error{"unknown layout '" + layout + "'", "--layout " + layout,
                 did_you_mean(layout, names) + "`plumb formats` lists the layouts"};
  }
  if (is_plain(*known))
    wanted.order.axes = layout;
  else
    wanted.device = known;
  return wanted;
}

// A file name in any directory, on any system: everything but letters, digits and "._-" as '_'.
std::string safe_name(std::string_view text) {
  std::string safe;
  for (char c : text) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    safe += fine ? c : '_';
  }
  return safe;
}

// Dumps keep their whole name (its last field is a time, not an extension); others lose the ending.
std::string base_name(const fs::path& file) {
  static const std::set<std::string> kEndings{".npy",  ".npz",         ".bin",  ".pt",
                                              ".pth",  ".safetensors", ".pb",   ".h5",
                                              ".hdf5", ".raw",         ".quant"};
  return kEndings.contains(file.extension().string()) ? file.stem().string()
                                                      : file.filename().string();
}

// Gives every output a name of its own, and short ones where the file system would refuse.
class Names {
 public:
  fs::path give(const fs::path& directory, const std::string& stem, const std::string& extension) {
    for (int i = 0;; ++i) {
      const std::string full =
          i == 0 ? stem + extension : fmt::format("{}_{}{}", stem, i, extension);
      const bool is_long = full.size() >= kLongestName;
      const std::string name = is_long ? uuid3_hex(full) + extension : full;
      if (!taken_.insert(directory / name).second) continue;
      if (is_long) mapping_[directory] += name + "," + full + "\n";
      return directory / name;
    }
  }

  // `mapping.csv` beside the renamed files; lines that are there already stay.
  Result<void> write_mappings(const fs::path& output) const {
    for (const auto& [directory, lines] : mapping_) {
      const fs::path path = output / directory / "mapping.csv";
      std::string text;
      if (std::ifstream old(path, std::ios::binary); old)
        text.assign(std::istreambuf_iterator<char>(old), {});
      if (text.find(lines) != std::string::npos) continue;
      auto sink = FileSink::create(path);
      if (!sink) return sink.error();
      sink->write(text + lines);
      if (auto done = sink->commit(); !done) return done;
    }
    return {};
  }

 private:
  std::set<fs::path> taken_;
  std::map<fs::path, std::string> mapping_;
};

// Slices of an operator are listed as one, with the inputs of the first slice; here every file
// counts.
void add_inputs_of_slice(const dump::Entry& sliced, const io::ReadHints& hints,
                         const dump::Selection& selection, Job& job) {
  auto opened = dump::open_part(*job.set, job.file, hints);
  if (!opened) return;  // reported when its turn comes
  dump::Entry input = sliced;
  for (const TensorInfo& info : opened->listing.tensors) {
    input.slot = dump::slot_from_tensor_name(info.name);
    const auto known = [&](const Item& item) { return item.tensor == info.name; };
    if (input.slot.kind == dump::SlotKind::kInput && selection.wants(input) &&
        std::none_of(job.items.begin(), job.items.end(), known))
      job.items.push_back({info.name, {}, {}});
  }
}

// The files of a set with the tensors that are wanted of each, and a name for every output.
std::vector<Job> plan(const dump::DumpSet& set, const dump::Selection& selection,
                      const io::ReadHints& hints, const Output& target, Names& names) {
  std::vector<Job> jobs;
  std::map<std::string, size_t> job_of;
  for (const dump::Entry& entry : set.entries) {
    if (!selection.wants(entry)) continue;
    for (const dump::TensorRef& part : entry.parts) {
      const auto [at, is_new] = job_of.try_emplace(part.file, jobs.size());
      if (is_new) jobs.push_back({&set, part, entry.operator_name == io::kOverflowOperator, {}});
      jobs[at->second].items.push_back({part.tensor, {}, {}});
    }
  }
  for (const dump::Entry& entry : set.entries)
    for (size_t i = 1; i < entry.parts.size(); ++i)
      if (const auto job = job_of.find(entry.parts[i].file); job != job_of.end())
        add_inputs_of_slice(entry, hints, selection, jobs[job->second]);
  for (Job& job : jobs) {
    const std::string stem = base_name(job.source());
    const fs::path directory = fs::path(job.file.file).parent_path();
    const bool is_archive = target.is_archive && !job.is_overflow;
    const fs::path archive = is_archive ? names.give(directory, stem, target.extension) : "";
    for (Item& item : job.items) {
      std::string_view key = item.tensor;
      while (key.starts_with('/')) key.remove_prefix(1);
      item.key = key.empty() ? "data" : std::string(key);
      const bool scratch = key.starts_with("l1buffer.") || key.starts_with("space.");
      const std::string extension = scratch ? ".bin" : job.is_overflow ? ".json" : target.extension;
      const std::string own = key.empty() ? stem : stem + "." + safe_name(key);
      item.output = is_archive && !scratch ? archive : names.give(directory, own, extension);
    }
  }
  return jobs;
}

class Converter {
 public:
  Converter(const Output& target, const Wanted& wanted, fs::path output, io::ReadHints hints,
            RunContext& context)
      : target_(target),
        wanted_(wanted),
        output_(std::move(output)),
        hints_(hints),
        context_(context) {}

  void convert(const Job& job) {
    auto file = dump::open_part(*job.set, job.file, hints_);
    if (!file) return fail(file.error());
    if (job.is_overflow) return convert_overflow(*file, job);
    std::vector<Prepared> archive;
    fs::path archive_path;
    for (const Item& item : job.items) {
      if (context_.cancelled) return;
      auto found = dump::find_tensor(*file, item.tensor);
      if (!found) {
        fail(found.error());
        continue;
      }
      const TensorInfo* info = *found;
      auto write_item = prepare(*file, *info, item);
      if (!write_item) {
        fail(write_item.error());
      } else if (target_.is_archive && item.output.extension() == target_.extension) {
        archive.push_back(std::move(*write_item));
        archive_path = item.output;
      } else {
        const bool raw = info->dtype == DType::kOpaque;
        write(item.output, raw ? *io::format_by_name("raw") : *target_.format,
              {std::move(*write_item)});
      }
    }
    if (!archive.empty()) write(archive_path, *target_.format, std::move(archive));
  }

  // No file of the dump may be overwritten, whether its tensors are asked for or not.
  void protect(const dump::DumpSet& set) {
    std::set<std::string_view> files;
    for (const dump::Entry& entry : set.entries) {
      if (entry.parts.empty()) files.insert(entry.record);
      for (const dump::TensorRef& part : entry.parts) files.insert(part.file);
    }
    for (const dump::Skipped& skipped : set.skipped) files.insert(skipped.file);
    for (std::string_view file : files) {
      struct stat status;
      if (::stat((set.root / file).c_str(), &status) == 0 && S_ISREG(status.st_mode))
        sources_.insert({status.st_dev, status.st_ino});
    }
  }

  void fail(const Error& error) {
    std::lock_guard lock(guard_);
    failures_.push_back(error);
  }

  int64_t written() const { return written_; }
  int64_t bytes() const { return bytes_; }
  const std::vector<Error>& failures() const { return failures_; }

 private:
  struct Prepared {
    io::WriteItem item;
    std::string place;  // of the source, for messages
  };

  static std::string place_of(const io::TensorFile& file, const TensorInfo& info) {
    return file.path + (info.name.empty() ? "" : ", tensor '" + info.name + "'");
  }

  // Opens the tensor once, so that what cannot be read is known before anything is written.
  Result<Prepared> prepare(const io::TensorFile& file, const TensorInfo& info,
                           const Item& item) const {
    const bool raw_target = target_.format->name == "raw" || item.output.extension() == ".bin";
    if (info.dtype == DType::kOpaque && !raw_target && !info.error)
      return Error{"type " + dtype_text(info) + " cannot be decoded", place_of(file, info),
                   "--format bin writes the bytes as they are"};
    Wanted wanted = wanted_;
    if (hints_.shape && file.format->name != "raw") wanted.order.logical = hints_.shape;
    const bool native = target_.format->writable == nullptr || target_.format->writable(info.dtype);
    wanted.order.portable = !native && !raw_target;
    if (!native && !raw_target && target_.format->writable != nullptr &&
        !target_.format->writable(info_of(info_of(info.dtype).unpacked).portable))
      return Error{fmt::format("{} has no word for {}", target_.format->name, dtype_text(info)),
                   place_of(file, info), "write npy or npz instead"};
    const auto open = [&file, info, wanted]() -> Result<io::TensorReader> {
      auto reader = file.open(info, wanted.order);
      if (!reader || !wanted.device) return reader;
      auto laid_out = io::rearranged(*reader, info, *wanted.device);
      if (!laid_out) return std::move(laid_out.error()).in(place_of(file, info));
      return laid_out;
    };
    auto reader = open();
    if (!reader) return std::move(reader.error());
    io::WriteItem out{item.key, reader->dtype(), reader->shape(), open};
    // A scalar of a dump lies there as one element; the dump tools' own converters write (1,).
    if (wanted.order.stored && out.shape.empty() && file.format->name.starts_with("ascend"))
      out.shape = {1};
    return Prepared{std::move(out), place_of(file, info)};
  }

  void write(const fs::path& relative, const io::Format& format, std::vector<Prepared> items) {
    bool source_failed = false;
    auto size = try_write(relative, format, items, source_failed);
    if (source_failed && !context_.cancelled) {
      // A tensor whose data turns out damaged half-way costs itself, not the archive.
      const size_t before = items.size();
      std::erase_if(items, [&](const Prepared& prepared) {
        auto reader = prepared.item.open();
        auto read = reader ? io::for_each_piece(*reader, [](Bytes, int64_t, int64_t) {})
                           : Result<void>(reader.error());
        if (!read) fail(reader ? std::move(read.error()).in(prepared.place) : reader.error());
        return !read.ok();
      });
      if (items.empty()) return;
      if (items.size() < before) size = try_write(relative, format, items, source_failed);
    }
    if (!size) return fail(size.error());
    written_ += std::ssize(items);
    bytes_ += static_cast<int64_t>(*size);
    context_.advance(static_cast<int64_t>(*size));
  }

  Result<uint64_t> try_write(const fs::path& relative, const io::Format& format,
                             std::span<const Prepared> prepared, bool& source_failed) const {
    auto sink = create(relative);
    if (!sink) return sink.error();
    std::vector<io::WriteItem> items;
    for (const Prepared& each : prepared) items.push_back(each.item);
    auto filled = format.write(*sink, items);  // what the disk refuses shows at the end
    source_failed = !filled.ok();
    if (source_failed) return filled.error();
    if (context_.cancelled) return Error{"interrupted", relative.string(), "run again"};
    const uint64_t size = sink->position();
    if (auto done = sink->commit(/*sync=*/false); !done) return done.error();
    return size;
  }

  void convert_overflow(const io::TensorFile& file, const Job& job) {
    for (const Item& item : job.items) {
      auto info = dump::find_tensor(file, item.tensor);
      auto record = info ? io::decode_overflow(file.mapping.bytes(), **info)
                         : Result<io::OverflowRecord>(info.error());
      if (!record) {
        fail(std::move(record.error()).in(file.path));
        continue;
      }
      auto sink = create(item.output);
      if (sink) sink->write(io::to_json(*record));
      auto done = sink ? sink->commit(/*sync=*/false) : Result<void>(sink.error());
      if (!done)
        fail(done.error());
      else
        ++written_;
    }
  }

  // Never over something that is being read.
  Result<FileSink> create(const fs::path& relative) const {
    const fs::path path = output_ / relative;
    struct stat status;
    if (::stat(path.c_str(), &status) == 0 && sources_.contains({status.st_dev, status.st_ino}))
      return Error{"the result would replace its source", path.string(),
                   "choose another directory with -o"};
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    if (code)
      return Error{"cannot create the directory",
                   path.parent_path().string() + ": " + code.message(),
                   "choose another one with -o, or check its permissions"};
    return FileSink::create(path);
  }

  const Output& target_;
  const Wanted& wanted_;
  fs::path output_;
  io::ReadHints hints_;
  RunContext& context_;
  std::mutex guard_;
  std::vector<Error> failures_;
  std::set<std::pair<dev_t, ino_t>> sources_;
  std::atomic<int64_t> written_{0};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace

int run_convert(int argc, char** argv, RunContext& context) {
  Options options(
      "convert", "Decode tensor files and dumps to npy, npz, bin or safetensors.",
      "Dumps become F.input.K.npy and F.output.K.npy, containers F.KEY.npy, overflow records\n"
      "F.output.K.json. Names that are too long are shortened and listed in mapping.csv.\n\n"
      "examples\n"
      "  plumb convert npu_dump/ -o npy/\n"
      "  plumb convert Conv2D.conv1.3.17.1682931245 -o npy/ --slot output:0 --layout NHWC\n"
      "  plumb convert checkpoint.pt -o out/ --format safetensors\n"
      "exit status: 0 all converted, 1 some tensor failed, 2 nothing converted or a path is "
      "unreadable");
  std::vector<std::string> paths;
  std::string output, format = "npy", layout = "plain";
  SelectionOptions selecting;
  const dump::Selection& selection = selecting.selection;
  CommonOptions common;
  options.arguments("PATH...", paths, "files or directories");
  options.group("output");
  options.text("-o,--output", "DIR", output, "directory for the results");
  options.text("--format", "NAME", format, "npy (default), npz, bin or safetensors");
  options.text("--layout", "NAME", layout,
               "plain (default: row-major, logical shape), stored (as\n"
               "in the file), or a layout such as NCHW or FRACTAL_Z");
  selecting.declare(options);
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;

  if (output.empty()) {
    print_error({"where should the results go?", "plumb convert", "name a directory: -o DIR"});
    return kTrouble;
  }
  auto hints = selecting.hints();
  auto target = output_from(format);
  auto wanted = wanted_from(layout);
  for (const Error* error : {hints ? nullptr : &hints.error(), target ? nullptr : &target.error(),
                             wanted ? nullptr : &wanted.error()}) {
    if (error == nullptr) continue;
    print_error(*error);
    return kTrouble;
  }
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));

  Converter converter(*target, *wanted, output, *hints, context);
  Names names;
  std::vector<std::unique_ptr<dump::DumpSet>> sets;  // the jobs refer to them
  std::vector<Job> jobs;
  size_t left_out = 0, recorded_only = 0;
  bool unreadable = false;
  for (const std::string& path : paths) {
    auto set = dump::open_dump(path, *hints, selecting.convention);
    if (!set) {
      converter.fail(set.error());
      unreadable = true;
      continue;
    }
    sets.push_back(std::make_unique<dump::DumpSet>(std::move(*set)));
    for (const dump::Skipped& skipped : sets.back()->skipped) {
      if (skipped.error)
        converter.fail(*skipped.error);
      else
        ++left_out;
    }
    for (const dump::Entry& entry : sets.back()->entries)
      recorded_only += entry.parts.empty() && selection.wants(entry);
    converter.protect(*sets.back());
    auto planned = plan(*sets.back(), selection, *hints, *target, names);
    std::move(planned.begin(), planned.end(), std::back_inserter(jobs));
    if (!common.quiet)
      for (const std::string& warning : sets.back()->warnings) print_warning(warning);
  }
  if (jobs.empty() && recorded_only > 0 && converter.failures().empty()) {
    print_error(
        {"only statistics of the tensors were recorded",
         fmt::format("{}: {} without data", paths.front(), counted(recorded_only, "tensor")),
         "dump the tensors themselves; `plumb inspect --stats` shows what was recorded"});
    return kTrouble;
  }
  if (jobs.empty() && converter.failures().empty()) {
    print_error({"no tensor to convert", paths.front(),
                 "`plumb inspect` shows what is there; check --op, --slot, --step and --rank"});
    return kTrouble;
  }
  int64_t total = 0;
  for (const Job& job : jobs) {
    std::error_code code;
    const auto size = fs::file_size(job.source(), code);
    if (!code) total += static_cast<int64_t>(size);
  }
  {
    ProgressBar bar(context, common, total);
    tbb::parallel_for(size_t{0}, jobs.size(), [&](size_t i) {
      if (!context.cancelled) converter.convert(jobs[i]);
    });
  }
  if (converter.written() > 0)
    if (auto mapped = names.write_mappings(output); !mapped) converter.fail(mapped.error());

  // What hinders every file, such as a directory that cannot be made, is said once.
  std::set<std::pair<std::string_view, std::string_view>> told;
  for (const Error& error : converter.failures())
    if (told.insert({error.what, error.where}).second) print_error(error);
  if (!common.quiet && converter.written() > 0) {
    fmt::print("{} written to {} ({})", counted(static_cast<size_t>(converter.written()), "tensor"),
               output, bytes_text(static_cast<double>(converter.bytes())));
    if (!converter.failures().empty()) fmt::print(", {} failed", converter.failures().size());
    if (left_out > 0)
      fmt::print(", {} left out (`plumb inspect --json` says why)", counted(left_out, "file"));
    fmt::print("\n");
  }
  if (converter.written() == 0 || unreadable) return kTrouble;
  return converter.failures().empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
