// SPDX-License-Identifier: Apache-2.0
#include "scan/reduce_file.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/names.h"
#include "dump/reduced.h"
#include "io/file.h"
#include "metrics/measure.h"

namespace plumb::scan {
namespace {

using dump::ReducedFile;
using dump::ReducedTensor;

constexpr std::string_view kTemporaryEnd = ".plumb-tmp";

Result<ReducedTensor> reduced_tensor(const io::TensorFile& file, const TensorInfo& info,
                                     bool sketch) {
  auto reader = file.open(info);
  if (!reader) return reader.error();
  const DKind kind = kind_of(reader->dtype());
  // Buffers and workspaces are not in the arrays, and nobody knows their types.
  const bool is_row =
      info.name.empty() || info.name.starts_with("input.") || info.name.starts_with("output.");
  if (is_row && (kind == DKind::kOpaque || kind == DKind::kComplex))
    return Error{"the tensor has no smallest and largest value",
                 fmt::format("{}: {} is {}", file.path, info.name.empty() ? "the array" : info.name,
                             dtype_text(info)),
                 "nothing: the file is left as it is"};
  const RunContext to_the_end;  // a file once begun is finished
  auto measured = metrics::measure(io::pieces_of(*reader),
                                   {.checksum = true, .sketch = sketch && is_row}, to_the_end);
  if (!measured) return std::move(measured.error()).in(file.path);
  ReducedTensor tensor;
  tensor.slot = dump::slot_from_tensor_name(info.name);
  tensor.full = full_statistics(**measured);
  if ((*measured)->sketch) tensor.sketch = metrics::bytes_of(*(*measured)->sketch);
  return tensor;
}

Result<ReducedFile> read_dump(const std::filesystem::path& path, const FileStamp& stamp,
                              bool sketch) {
  auto file = io::open_tensor_file(path);
  if (!file) return file.error();
  const std::string name = path.filename().string();
  const auto fx = dump::parse_fx_name(name);
  const std::string_view wanted = fx ? "npy" : "ascend-dump";
  if (file->format->name != wanted)
    return Error{"the name is that of a dump, the content is not",
                 fmt::format("{}, byte 0: it is {}", path.string(), file->format->name),
                 "nothing: the file is left as it is"};
  ReducedFile reduced;
  reduced.source_bytes = stamp.size_bytes;
  reduced.source_time_ns = stamp.time_ns;
  for (const auto& [key, value] : file->listing.properties)
    if (key == "op_name") reduced.op_name = value;
  for (const TensorInfo& info : file->listing.tensors) {
    auto tensor = reduced_tensor(*file, info, sketch);
    if (!tensor) return tensor.error();
    if (fx) tensor->slot = fx->slot;
    reduced.tensors.push_back(std::move(*tensor));
  }
  if (auto checked = file->mapping.check(path.string()); !checked) return checked.error();
  return reduced;
}

// What was written must read back, from the file, as what was meant.
Result<void> verify(const std::filesystem::path& path, const ReducedFile& meant) {
  auto read = dump::read_reduced(path);
  if (!read) return read.error();
  bool same =
      read->is_ours && read->op_name == meant.op_name && read->source_bytes == meant.source_bytes &&
      read->source_time_ns == meant.source_time_ns && read->tensors.size() == meant.tensors.size();
  for (size_t i = 0; same && i < meant.tensors.size(); ++i) {
    const ReducedTensor &a = read->tensors[i], &b = meant.tensors[i];
    same = a.slot == b.slot && a.full == b.full && a.has_sketch == !b.sketch.empty();
    if (!same || !a.has_sketch) continue;
    auto sketch = dump::read_sketch(path, a.slot);
    same = sketch && *sketch == b.sketch;
  }
  if (same) return {};
  return Error{"what was written does not read back as it was meant", path.string(),
               "check the disk; the dump file was not touched"};
}

Result<void> sync_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some network file systems cannot sync directories, and say so; a rename is durable there.
  const bool failed = descriptor < 0 || (::fsync(descriptor) != 0 && errno != EINVAL);
  const int code = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!failed) return {};
  return Error{"cannot sync the directory", directory.string() + ": " + std::strerror(code),
               "check the disk; the dump files were not touched"};
}

// True if a replacement is there that was made of the dump file as it is now.
bool is_done(const std::filesystem::path& replacement, const FileStamp& stamp, bool sketch) {
  if (!stamp_of(replacement)) return false;
  const auto read = dump::read_reduced(replacement);
  if (!read || !read->is_ours || read->source_bytes != stamp.size_bytes ||
      read->source_time_ns != stamp.time_ns)
    return false;
  for (const ReducedTensor& tensor : read->tensors)
    if (sketch && !tensor.has_sketch && tensor.slot.kind != dump::SlotKind::kOther) return false;
  return true;
}

// True if a process on this machine has the file open for writing: the kernel grants no lease then.
// Where leases are not to be had, nobody knows, and the file having been quiet must do.
bool is_being_written(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Somebody may open the file at this very moment: the kernel then tells by SIGIO, which would end
  // the process. SIGURG does nothing unless somebody asked for it.
  ::fcntl(descriptor, F_SETSIG, SIGURG);
  const bool refused = ::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0;
  const bool written = refused && errno == EAGAIN;
  if (!refused) ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
  ::close(descriptor);
  return written;
}

ReduceOutcome failed(ReduceState state, Error error) {
  ReduceOutcome outcome;
  outcome.state = state;
  outcome.error = std::move(error);
  return outcome;
}

ReduceOutcome changed(const std::filesystem::path& path) {
  return failed(ReduceState::kChanged, {"the file changed while it was reduced", path.string(),
                                        "wait until its writer has finished"});
}

ReduceOutcome being_written(const std::filesystem::path& path) {
  return failed(ReduceState::kBeingWritten, {"the file is still open for writing", path.string(),
                                             "reduce it when its writer has finished"});
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct ::stat s;
  if (::lstat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return {};
  return FileStamp{s.st_dev, s.st_ino, static_cast<uint64_t>(s.st_size),
                   int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

std::string temporary_name(const std::string& name) {
  return "." + name + std::string(kTemporaryEnd);
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kTemporaryEnd)) return false;
  name.remove_prefix(1);
  name.remove_suffix(std::min(name.size(), kTemporaryEnd.size()));
  return dump::reduced_name(name).has_value();
}

ReduceOutcome reduce_file(const std::filesystem::path& path, const ReduceOptions& options) {
  const std::string name = path.filename().string();
  const auto replacement_name = dump::reduced_name(name);
  const std::filesystem::path directory = path.parent_path();
  const std::filesystem::path replacement = directory / *replacement_name;
  const auto stamp = stamp_of(path);
  if (!stamp) return changed(path);
  if (is_being_written(path)) return being_written(path);

  ReduceOutcome outcome;
  outcome.bytes_before = stamp->size_bytes;
  outcome.was_done = is_done(replacement, *stamp, options.sketch);
  if (!outcome.was_done) {
    auto reduced = read_dump(path, *stamp, options.sketch);
    if (!reduced) return failed(ReduceState::kUnreadable, std::move(reduced.error()));
    auto sink = FileSink::create(replacement, temporary_name(name));
    if (!sink) return failed(ReduceState::kNotWritten, std::move(sink.error()));
    auto written = write_reduced(*sink, *reduced, replacement_name->ends_with(".npy"));
    if (written) written = sink->sync();
    if (written) written = verify(sink->temporary(), *reduced);
    if (!written) return failed(ReduceState::kNotWritten, std::move(written.error()));
    if (stamp_of(path) != stamp) return changed(path);
    if (written = sink->commit(false); !written)
      return failed(ReduceState::kNotWritten, std::move(written.error()));
  }
  if (const auto after = stamp_of(replacement)) outcome.bytes_after = after->size_bytes;
  if (options.keep) return outcome;
  if (auto synced = sync_directory(directory); !synced)
    return failed(ReduceState::kNotWritten, std::move(synced.error()));
  if (stamp_of(path) != stamp) return changed(path);
  if (is_being_written(path)) return being_written(path);
  if (::unlink(path.c_str()) != 0)
    return failed(ReduceState::kNotWritten,
                  {"cannot delete the dump file", path.string() + ": " + std::strerror(errno),
                   "its statistics are written; check who owns the directory"});
  return outcome;
}

}  // namespace plumb::scan
