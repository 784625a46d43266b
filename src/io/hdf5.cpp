// SPDX-License-Identifier: Apache-2.0
//
// HDF5 files, among them PyTorch's `.h5` dumps. The format is described in "HDF5 File Format
// Specification"; libhdf5 reads it, from a plug-in library that a worker process opens and calls in
// a sandbox. What lies in the file in one piece is then read from the file directly.
#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "io/hdf5_records.h"
#include "io/sandbox.h"

namespace plumb::io {

extern const Format kHdf5;

namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr uint64_t kMiB = 1 << 20;

// A file may start with other data, of 512 bytes or a power of two times that.
bool probe_hdf5(Bytes head, uint64_t) {
  for (size_t at : {0, 512, 1024, 2048})
    if (at < head.size() && as_text(head.subspan(at)).starts_with(kSignature)) return true;
  return false;
}

Result<Sandbox> ask(Bytes file, const std::optional<std::string>& dataset,
                    uint64_t unpacked_bytes) {
  SandboxLimits limits;
  limits.memory_bytes = 256 * kMiB + 4 * file.size() + 3 * unpacked_bytes;
  limits.cpu_seconds = static_cast<unsigned>(20 + unpacked_bytes / (32 * kMiB));
  limits.silent_seconds = 60 + 6 * limits.cpu_seconds;  // other programs may keep the machine busy
  return Sandbox::start(limits, file, dataset);
}

// Why the answer is not complete.
Error failed(const SandboxEnd& end) {
  const char* again = "the file is damaged or was made to do harm; write it again";
  if (end.timed_out)
    return {"the HDF5 library takes too long on this file", "it was stopped", again};
  if (end.signal == SIGBUS)
    return {"the file shrank while it was being read", "", "wait until its writer has finished"};
  if (end.signal != 0)
    return {fmt::format("the HDF5 library failed on this file (signal {})", end.signal), "", again};
  return {"the HDF5 library failed on this file", fmt::format("exit status {}", end.status), again};
}

Error garbled_field(std::string_view field, uint64_t value) {
  return {"the HDF5 plug-in gave an answer that makes no sense", fmt::format("{} {}", field, value),
          "write the file again"};
}

Result<Listing> list_hdf5(Bytes file, const ReadHints&) {
  auto sandbox = ask(file, std::nullopt, 0);
  if (!sandbox) return sandbox.error();
  // What is said about a dataset is about as long as its header in the file.
  const uint64_t limit = kMiB + 16 * file.size();
  std::vector<std::byte> records;
  size_t got = 0;
  do {
    if (records.size() > limit)
      return Error{
          "HDF5 file describes far more than it can hold",
          fmt::format("more than {} bytes of names and shapes in {} bytes", limit, file.size()),
          "write the file again; it is damaged"};
    const size_t before = records.size();
    records.resize(before + 64 * 1024);
    got = sandbox->read(records.data() + before, records.size() - before);
    records.resize(before + got);
  } while (got > 0);
  if (const SandboxEnd end = sandbox->finish(); !end.ok()) return failed(end);
  return hdf5::listing_from_records(records, file.size());
}

// Room for elements that the caller found plausible; a machine may still not have it.
Result<std::byte*> reserve(Buffer& scratch, uint64_t size) {
  try {
    return scratch.reserve(static_cast<size_t>(size));
  } catch (const std::bad_alloc&) {
    return Error{"not enough memory for the dataset", fmt::format("it takes {} bytes", size),
                 "use a machine with more memory"};
  }
}

Result<Bytes> load_elements(Sandbox& sandbox, uint64_t file_size, uint64_t size, Buffer& scratch) {
  std::byte* elements = nullptr;
  uint64_t filled = 0;
  while (true) {
    std::array<std::byte, 512> fields;
    const auto next = [&](size_t bytes) { return sandbox.read(fields.data(), bytes) == bytes; };
    const auto number = [&](size_t at) { return load_le<uint64_t>(fields.data() + at); };
    if (!next(1)) return failed(sandbox.finish());
    switch (static_cast<hdf5::Record>(fields[0])) {
      case hdf5::Record::kSize: {
        if (!next(16)) return failed(sandbox.finish());
        if (elements != nullptr || number(8) != size) return garbled_field("size", number(8));
        if (auto doubt = hdf5::implausible(size, number(0), file_size)) return *doubt;
        auto room = reserve(scratch, size + 1);
        if (!room) return room.error();
        elements = *room;
        break;
      }
      case hdf5::Record::kData: {
        if (!next(8)) return failed(sandbox.finish());
        const uint64_t count = number(0);
        if (elements == nullptr || count > size - filled) return garbled_field("count", count);
        if (sandbox.read(elements + filled, count) != count) return failed(sandbox.finish());
        filled += count;
        break;
      }
      case hdf5::Record::kError: {
        ByteReader record(Bytes(fields.data(), sandbox.read(fields.data(), fields.size())));
        return hdf5::read_fault(record);
      }
      case hdf5::Record::kEnd:
        if (elements == nullptr || filled != size) return garbled_field("end", filled);
        return Bytes(elements, static_cast<size_t>(size));
      default: return garbled_field("record", static_cast<uint64_t>(fields[0]));
    }
  }
}

Result<Bytes> load_hdf5(Bytes file, const TensorInfo& info, Buffer& scratch) {
  if (info.error) return *info.error;
  auto sandbox = ask(file, info.name, info.size_bytes);
  if (!sandbox) return sandbox.error();
  auto elements = load_elements(*sandbox, file.size(), info.size_bytes, scratch);
  sandbox->finish();  // the next dataset may have its worker
  if (!elements) return std::move(elements.error()).in(info.name);
  return elements;
}

}  // namespace

extern constexpr Format kHdf5{
    "hdf5",     "HDF5 datasets, among them PyTorch's .h5 dumps",
    probe_hdf5, list_hdf5,
    load_hdf5,  nullptr,
    nullptr,
};

}  // namespace plumb::io
