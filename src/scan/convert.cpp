// SPDX-License-Identifier: Apache-2.0
#include "scan/convert.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <sys/stat.h>
#include <tbb/parallel_for.h>

#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "base/threads.h"
#include "io/ascend_overflow.h"
#include "io/rearrange.h"
#include "scan/convert_plan.h"
#include "scan/inspect_model.h"

namespace plumb::scan {
namespace {

namespace fs = std::filesystem;

class Converter {
 public:
  Converter(const ConvertTarget& target, const ConvertOrder& order, const ConvertOptions& options,
            const RunContext& context)
      : target_(target),
        order_(order),
        output_(options.output),
        hints_(options.read.hints),
        context_(context) {}

  void convert(const ConvertJob& job) {
    auto file = dump::open_part(*job.set, job.file, hints_);
    if (!file) return fail(file.error());
    if (job.is_overflow) return convert_overflow(*file, job);
    std::vector<Prepared> archive;
    fs::path archive_path;
    for (const ConvertItem& item : job.items) {
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
    std::set<std::string> files;
    for (const dump::Entry& entry : set.entries) {
      if (entry.parts.empty()) files.insert(entry.record);
      for (const dump::TensorRef& part : entry.parts) files.insert(part.file);
    }
    for (const dump::Skipped& skipped : set.skipped) files.insert(skipped.file);
    for (const std::string& file : files) {
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
  std::vector<Error> take_failures() { return std::move(failures_); }

 private:
  struct Prepared {
    io::WriteItem item;
    std::string place;  // of the source, for messages
    const io::TensorFile* file;
  };

  static std::string place_of(const io::TensorFile& file, const TensorInfo& info) {
    return file.path + (info.name.empty() ? "" : ", tensor '" + info.name + "'");
  }

  // Opens the tensor once, so that what cannot be read is known before anything is written.
  Result<Prepared> prepare(const io::TensorFile& file, const TensorInfo& info,
                           const ConvertItem& item) const {
    const bool raw_target = target_.format->name == "raw" || item.output.extension() == ".bin";
    if (info.dtype == DType::kOpaque && !raw_target && !info.error)
      return Error{"type " + dtype_text(info) + " cannot be decoded", place_of(file, info),
                   "--format bin writes the bytes as they are"};
    ConvertOrder wanted = order_;
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
    return Prepared{std::move(out), place_of(file, info), &file};
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
    for (const Prepared& each : prepared)
      if (auto checked = each.file->mapping.check(each.file->path); !checked)
        return checked.error();
    const uint64_t size = sink->position();
    if (auto done = sink->commit(/*sync=*/false); !done) return done.error();
    return size;
  }

  void convert_overflow(const io::TensorFile& file, const ConvertJob& job) {
    for (const ConvertItem& item : job.items) {
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

  const ConvertTarget& target_;
  const ConvertOrder& order_;
  const fs::path output_;
  const io::ReadHints& hints_;
  const RunContext& context_;
  std::mutex guard_;
  std::vector<Error> failures_;
  std::set<std::pair<dev_t, ino_t>> sources_;
  std::atomic<int64_t> written_{0};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace

struct Conversion::State {
  std::vector<std::string> paths;
  ConvertOptions options;
  ConvertTarget target;
  ConvertOrder order;
  std::vector<std::unique_ptr<const dump::DumpSet>> sets;
  std::vector<ConvertJob> jobs;  // refer to the sets
  OutputNames names;
  std::vector<Error> failures;
  size_t left_out = 0, recorded_only = 0;
  bool is_path_unreadable = false;

  void add(dump::DumpSet opened) {
    sets.push_back(std::make_unique<const dump::DumpSet>(std::move(opened)));
    const dump::DumpSet& set = *sets.back();
    for (const dump::Skipped& skipped : set.skipped) {
      if (skipped.error)
        failures.push_back(*skipped.error);
      else
        ++left_out;
    }
    for (const dump::Entry& entry : set.entries)
      recorded_only += entry.parts.empty() && options.read.selection.wants(entry);
    auto planned = plan_jobs(set, options.read, target, names);
    std::move(planned.begin(), planned.end(), std::back_inserter(jobs));
  }
};

Conversion::Conversion(std::unique_ptr<State> state) : state_(std::move(state)) {}
Conversion::Conversion(Conversion&&) noexcept = default;
Conversion::~Conversion() = default;

Result<Conversion> Conversion::plan(const std::vector<std::string>& paths, ConvertOptions options,
                                    const RunContext& context) {
  auto target = target_from(options.format);
  if (!target) return target.error();
  auto order = order_from(options.layout);
  if (!order) return order.error();
  auto state = std::make_unique<State>();
  state->paths = paths;
  state->options = std::move(options);
  state->target = std::move(*target);
  state->order = std::move(*order);
  const Request& read = state->options.read;
  on_threads_of(context, [&] {
    for (const std::string& path : paths) {
      auto set = dump::open_dump(path, read.hints, read.convention);
      if (set) {
        state->add(std::move(*set));
      } else {
        state->failures.push_back(why_no_tensors(path, set.error()));
        state->is_path_unreadable = true;
      }
    }
  });
  return Conversion(std::move(state));
}

std::vector<std::string> Conversion::warnings() const {
  std::vector<std::string> all;
  for (const auto& set : state_->sets)
    all.insert(all.end(), set->warnings.begin(), set->warnings.end());
  return all;
}

Result<void> Conversion::check() const {
  if (!state_->jobs.empty() || !state_->failures.empty()) return {};
  const std::string path = state_->paths.empty() ? "" : state_->paths.front();
  if (const size_t recorded = state_->recorded_only; recorded > 0)
    return Error{
        "only statistics of the tensors were recorded",
        fmt::format("{}: {} tensor{} without data", path, recorded, recorded == 1 ? "" : "s"),
        "dump the tensors themselves; `plumb inspect --stats` shows what was recorded"};
  std::vector<const dump::DumpSet*> sets;
  for (const auto& set : state_->sets) sets.push_back(set.get());
  if (auto known = state_->options.read.selection.check(sets); !known) return known;
  return Error{"no tensor to convert", path,
               "`plumb inspect` shows what is there; check --op, --slot, --step and --rank"};
}

int64_t Conversion::source_bytes() const {
  int64_t total = 0;
  for (const ConvertJob& job : state_->jobs) {
    std::error_code code;
    const auto size = fs::file_size(job.source(), code);
    if (!code) total += static_cast<int64_t>(size);
  }
  return total;
}

ConvertReport Conversion::run(const RunContext& context) const {
  const State& plan = *state_;
  ConvertReport refused{0, 0, plan.failures, plan.left_out, plan.is_path_unreadable};
  if (plan.jobs.empty()) return refused;
  auto lock = DirectoryLock::make(plan.options.output);
  if (!lock) {
    refused.failures.push_back(std::move(lock.error()));
    return refused;
  }
  Converter converter(plan.target, plan.order, plan.options, context);
  for (const auto& set : plan.sets) converter.protect(*set);
  on_threads_of(context, [&] {
    tbb::parallel_for(size_t{0}, plan.jobs.size(), [&](size_t i) {
      if (!context.cancelled) converter.convert(plan.jobs[i]);
    });
  });
  if (converter.written() > 0)
    if (auto mapped = plan.names.write_mappings(plan.options.output); !mapped)
      converter.fail(mapped.error());
  ConvertReport report{converter.written(), converter.bytes(), plan.failures, plan.left_out,
                       plan.is_path_unreadable};
  for (Error& error : converter.take_failures()) report.failures.push_back(std::move(error));
  return report;
}

}  // namespace plumb::scan
