// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

namespace plumb::io {

Result<TensorReader> TensorFile::open(const TensorInfo& info, const ReadOrder& order) const {
  auto reader = TensorReader::open(*format, mapping.bytes(), info, order, &mapping);
  if (reader) return reader;
  const bool names_its_place = info.error || info.name.empty();
  return std::move(reader.error())
      .in(path + (names_its_place ? "" : ", tensor '" + info.name + "'"));
}

namespace {

Result<TensorFile> open_file(const std::string& path, ReadHints hints, bool listed) {
  auto mapping = MappedFile::open(path, hints.map);
  if (!mapping) return mapping.error();
  TensorFile file{path, std::move(*mapping), nullptr, {}};
  if (hints.file_name.empty()) hints.file_name = std::string_view(path).substr(path.rfind('/') + 1);
  auto format = detect_format(file.mapping.bytes(), hints);
  if (!format) return std::move(format.error()).in(path);
  file.format = *format;
  if (!listed) return file;
  auto listing = file.format->list(file.mapping.bytes(), hints);
  if (!listing) return std::move(listing.error()).in(path);
  file.listing = std::move(*listing);
  return file;
}

}  // namespace

Result<TensorFile> open_tensor_file(const std::string& path, ReadHints hints) {
  return open_file(path, hints, true);
}

Result<TensorFile> open_unlisted(const std::string& path, ReadHints hints) {
  return open_file(path, hints, false);
}

}  // namespace plumb::io
