// SPDX-License-Identifier: Apache-2.0
#include "input/idx.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/crc32.h"
#include "input/gzip.h"
#include "io/inflate.h"

namespace plumb::input {
namespace {

constexpr size_t kImagesHeaderBytes = 16;
constexpr std::string_view kImagesMagic{"\0\0\x08\x03", 4};

uint32_t idx_number(const std::byte* at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(at[i]);
  return value;
}

}  // namespace

bool is_idx_images(Bytes file) {
  if (!is_gzip(file))
    return file.size() >= kImagesHeaderBytes && as_text(file).starts_with(kImagesMagic);
  auto stream = gzip_stream(file);
  if (!stream) return false;
  std::array<std::byte, 4> head;
  io::Inflater inflater(*stream);
  return inflater.read(head.data(), head.size()) && as_text(head) == kImagesMagic;
}

Result<IdxImages> read_idx_images(Bytes file) {
  const bool packed = is_gzip(file);
  Bytes stream = file;
  if (packed) {
    auto found = gzip_stream(file);
    if (!found) return found.error();
    stream = *found;
  }
  io::Inflater inflater(packed ? stream : Bytes());
  size_t position = 0;
  const auto take = [&](std::byte* to, size_t size) -> Result<void> {
    if (packed) return inflater.read(to, size);
    if (stream.size() - position < size)
      return Error{"the file of pictures is cut off",
                   fmt::format("byte {}: {} bytes are needed, {} are left", position, size,
                               stream.size() - position),
                   "copy it again"};
    if (size > 0) std::memcpy(to, stream.data() + position, size);  // there may be no pictures
    position += size;
    return {};
  };
  std::array<std::byte, kImagesHeaderBytes> head;
  if (auto read = take(head.data(), head.size()); !read) return read.error();
  if (as_text(Bytes(head).first(4)) != kImagesMagic)
    return Error{"not a file of pictures", "byte 0: the magic number is not 00000803",
                 "use the file of images (idx3-ubyte), not of labels"};
  IdxImages images;
  images.count = idx_number(head.data() + 4);
  images.size = {idx_number(head.data() + 12), idx_number(head.data() + 8)};
  const auto area = image_bytes(ColorSpace::kGray, images.size);
  const auto bytes = area ? checked_mul(*area, images.count) : std::nullopt;
  // Deflate packs at most 1032 to 1.
  const auto most = static_cast<int64_t>(packed ? file.size() * 1032 : file.size());
  if (!bytes || *bytes > most)
    return Error{"the file of pictures promises more than it can hold",
                 fmt::format("byte 4: {} pictures of {} in {} bytes", images.count,
                             to_string(images.size), file.size()),
                 "copy it again"};
  images.pixels.resize(static_cast<size_t>(*bytes));
  const Bytes pixels = std::as_bytes(std::span(images.pixels));
  if (auto read = take(reinterpret_cast<std::byte*>(images.pixels.data()), images.pixels.size());
      !read)
    return read.error();
  if (packed) {
    const auto recorded = load_le<uint32_t>(file.data() + file.size() - 8);
    const uint32_t found = crc32(crc32(0, head), pixels);
    if (recorded != found)
      return Error{
          "the checksum of the pictures is wrong",
          fmt::format("byte {}: recorded {:08x}, found {:08x}", file.size() - 8, recorded, found),
          "copy the file again; it is damaged"};
  }
  return images;
}

Result<Image> IdxImages::at(int64_t index) const {
  if (index < 0 || index >= count)
    return Error{fmt::format("there is no picture {}", index),
                 fmt::format("byte 4: the file has {}", count),
                 fmt::format("use #0 to #{}", count - 1)};
  const auto area = size.width * size.height;
  Image image{size, ColorSpace::kGray, {}};
  image.bytes.assign(pixels.begin() + index * area, pixels.begin() + (index + 1) * area);
  return image;
}

}  // namespace plumb::input
