// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate_pack.h"

#include <fmt/format.h>

#include "base/safe_file_name.h"
#include "engine/dump_model.h"
#include "io/npy.h"
#include "io/zip.h"

namespace plumb::replay {

void Reproduction::add(const std::string& file, std::string text) {
  files_[file] = {std::move(text), {}};
}

std::string Reproduction::add(const std::string& folder, std::string_view name,
                              const engine::Tensor& tensor) {
  constexpr size_t kLongest = 120;
  const std::string stem = folder + "/" + safe_file_name(name.substr(0, kLongest));
  std::string file = stem + ".npy";
  for (int copy = 2; files_.contains(file); ++copy) file = fmt::format("{}_{}.npy", stem, copy);
  engine::Tensor written = engine::portable(tensor.view());
  std::string head = io::npy_header(written.dtype, written.shape);
  files_[file] = {std::move(head), std::move(written)};
  return file;
}

void Reproduction::add(const std::string& prefix, const Reproduction& other) {
  for (const auto& [name, file] : other.files_) files_[prefix + name] = file;
}

Result<uint64_t> Reproduction::pack(const std::filesystem::path& zip) const {
  auto sink = FileSink::create(zip);
  if (!sink) return sink.error();
  io::ZipWriter archive(*sink, io::ZipWriter::Packing::kDeflated);
  for (const auto& [name, file] : files_) {
    if (auto begun = archive.begin(name); !begun) return begun.error();
    archive.write(as_bytes(file.head));
    archive.write(file.tensor.bytes);
  }
  archive.finish();
  const uint64_t size = sink->position();
  if (auto done = sink->commit(); !done) return done.error();
  return size;
}

}  // namespace plumb::replay
