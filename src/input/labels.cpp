// SPDX-License-Identifier: Apache-2.0
#include "input/labels.h"

#include <array>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "input/gzip.h"
#include "io/inflate.h"

namespace plumb::input {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr std::string_view kMagic{"\0\0\x08\x01", 4};  // bytes, one axis

Result<Labels> labels_from_idx(Bytes header, Bytes classes) {
  uint32_t count = 0;
  for (size_t i = 4; i < kHeaderBytes; ++i)
    count = count << 8 | std::to_integer<uint32_t>(header[i]);
  if (count != classes.size())
    return Error{"the file of labels is cut off",
                 fmt::format("byte 4: {} labels are promised, {} are there", count, classes.size()),
                 "copy it again"};
  Labels labels;
  for (const std::byte one : classes) labels.by_place.push_back(std::to_integer<int64_t>(one));
  return labels;
}

Result<std::vector<std::byte>> unpacked(Bytes file) {
  auto stream = gzip_stream(file);
  if (!stream) return stream.error();
  // The last four bytes of such a file are its unpacked size; deflate packs at most 1032 to 1.
  const auto size = load_le<uint32_t>(file.data() + file.size() - 4);
  if (size > file.size() * 1032)
    return Error{"the packed file promises more than it can hold",
                 fmt::format("byte {}: {} bytes", file.size() - 4, size), "copy it again"};
  std::vector<std::byte> bytes(size);
  if (bytes.empty()) return bytes;
  io::Inflater inflater(*stream);
  if (auto read = inflater.read(bytes.data(), bytes.size()); !read) return read.error();
  return bytes;
}

std::string base_name(std::string_view path) {
  return std::filesystem::path(path).filename().string();
}

Result<Labels> labels_from_text(std::string_view text) {
  Labels labels;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t comma = line.find(',');
    const std::string_view field = line.substr(comma == line.npos ? 0 : comma + 1);
    int64_t value = 0;
    const char* const last = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), last, value);
    const bool is_number = error == std::errc{} && (stop == last || *stop == ',');
    if (!is_number && number == 1) continue;  // titles
    if (!is_number)
      return Error{"a label is no number", fmt::format("line {}: '{}'", number, line),
                   "write lines of CLASS or of FILE,CLASS"};
    if (comma == line.npos) {
      labels.by_place.push_back(value);
      continue;
    }
    const std::string file = base_name(line.substr(0, comma));
    const auto known = labels.by_file.try_emplace(file, value).first->second;
    if (known != value)
      return Error{"a file has two labels",
                   fmt::format("line {}: '{}' is {}, before it was {}", number, file, value, known),
                   "files are known by their names without directories: give each its own"};
  }
  return labels;
}

Result<Labels> labels_from_bytes(Bytes file) {
  if (file.size() >= kHeaderBytes && as_text(file).starts_with(kMagic))
    return labels_from_idx(file.first(kHeaderBytes), file.subspan(kHeaderBytes));
  return labels_from_text(as_text(file));
}

}  // namespace

std::optional<int64_t> Labels::of(size_t sample, const std::vector<std::string>& files) const {
  for (const std::string& file : files)
    if (const auto found = by_file.find(base_name(file)); found != by_file.end())
      return found->second;
  if (by_file.empty() && sample < by_place.size()) return by_place[sample];
  return std::nullopt;
}

Result<Labels> read_labels(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  if (is_gzip(file->bytes())) {
    auto bytes = unpacked(file->bytes());
    if (!bytes) return std::move(bytes.error()).in(path);
    auto labels = labels_from_bytes(*bytes);
    return labels ? labels : std::move(labels.error()).in(path);
  }
  auto labels = labels_from_bytes(file->bytes());
  return labels ? labels : std::move(labels.error()).in(path);
}

}  // namespace plumb::input
