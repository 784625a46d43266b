// SPDX-License-Identifier: Apache-2.0
#include "cli/isolate_pack.h"

#include <algorithm>

#include <fmt/format.h>
#include <stdlib.h>

#include "base/mapped_file.h"
#include "engine/dump_model.h"
#include "io/zip.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

std::string safe_name(std::string_view name) {
  constexpr size_t kLongest = 120;
  std::string safe;
  for (const char c : name.substr(0, kLongest)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-';
    safe += is_plain ? c : '_';
  }
  return safe;
}

}  // namespace

Result<Reproduction> Reproduction::create() {
  std::error_code code;
  std::string pattern = (fs::temp_directory_path(code) / "plumb-isolate-XXXXXX").string();
  if (code || ::mkdtemp(pattern.data()) == nullptr)
    return Error{"no temporary directory can be made", pattern,
                 "set TMPDIR to a directory with free space"};
  Reproduction reproduction;
  reproduction.path_ = pattern;
  return reproduction;
}

Reproduction::~Reproduction() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<void> Reproduction::add(const std::string& file, std::string_view text) const {
  auto sink = FileSink::create(path_ / file);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit(false);
}

Result<std::string> Reproduction::add(const std::string& folder, std::string_view name,
                                      const engine::Tensor& tensor) {
  std::error_code code;
  fs::create_directories(path_ / folder, code);
  const std::string stem = folder + "/" + safe_name(name);
  std::string file = stem + ".npy";
  for (int copy = 2; !used_.insert(file).second; ++copy)
    file = fmt::format("{}_{}.npy", stem, copy);
  auto written = engine::write_npy(path_ / file, tensor.view());
  if (!written) return written.error();
  return file;
}

Result<uint64_t> Reproduction::pack(const fs::path& zip) const {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::recursive_directory_iterator at(path_, code), end; !code && at != end;
       at.increment(code))
    if (at->is_regular_file(code)) files.push_back(at->path().lexically_relative(path_).string());
  std::sort(files.begin(), files.end());
  auto sink = FileSink::create(zip);
  if (!sink) return sink.error();
  io::ZipWriter archive(*sink, io::ZipWriter::Packing::kDeflated);
  for (const std::string& file : files) {
    auto mapped = MappedFile::open((path_ / file).string());
    if (!mapped) return mapped.error();
    if (auto begun = archive.begin(file); !begun) return begun.error();
    archive.write(mapped->bytes());
  }
  archive.finish();
  const uint64_t size = sink->position();
  if (auto done = sink->commit(); !done) return done.error();
  return size;
}

}  // namespace plumb::cli
