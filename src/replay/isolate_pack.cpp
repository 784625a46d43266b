// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate_pack.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/safe_file_name.h"
#include "engine/dump_model.h"
#include "io/zip.h"

namespace plumb::replay {

namespace fs = std::filesystem;

Result<Reproduction> Reproduction::create() {
  auto directory = TemporaryDirectory::make({}, "plumb-isolate");
  if (!directory) return directory.error();
  return Reproduction(std::move(*directory));
}

Result<void> Reproduction::add(const std::string& file, std::string_view text) const {
  auto sink = FileSink::create(path() / file);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit(false);
}

Result<std::string> Reproduction::add(const std::string& folder, std::string_view name,
                                      const engine::Tensor& tensor) {
  std::error_code code;
  fs::create_directories(path() / folder, code);
  constexpr size_t kLongest = 120;
  const std::string stem = folder + "/" + safe_file_name(name.substr(0, kLongest));
  std::string file = stem + ".npy";
  for (int copy = 2; !used_.insert(file).second; ++copy)
    file = fmt::format("{}_{}.npy", stem, copy);
  auto written = engine::write_npy(path() / file, tensor.view());
  if (!written) return written.error();
  return file;
}

Result<uint64_t> Reproduction::pack(const fs::path& zip) const {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::recursive_directory_iterator at(path(), code), end; !code && at != end;
       at.increment(code))
    if (at->is_regular_file(code)) files.push_back(at->path().lexically_relative(path()).string());
  std::sort(files.begin(), files.end());
  auto sink = FileSink::create(zip);
  if (!sink) return sink.error();
  io::ZipWriter archive(*sink, io::ZipWriter::Packing::kDeflated);
  for (const std::string& file : files) {
    auto mapped = MappedFile::open((path() / file).string());
    if (!mapped) return mapped.error();
    if (auto begun = archive.begin(file); !begun) return begun.error();
    archive.write(mapped->bytes());
  }
  archive.finish();
  const uint64_t size = sink->position();
  if (auto done = sink->commit(); !done) return done.error();
  return size;
}

}  // namespace plumb::replay
