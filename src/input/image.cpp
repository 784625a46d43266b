// SPDX-License-Identifier: Apache-2.0
#include "input/image.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/plugin.h"

namespace plumb::input {
namespace {

constexpr std::array<std::pair<ColorSpace, std::string_view>, 9> kColorNames{{
    {ColorSpace::kAuto, "AUTO"},
    {ColorSpace::kBgr, "BGR"},
    {ColorSpace::kRgb, "RGB"},
    {ColorSpace::kGray, "GRAY"},
    {ColorSpace::kNv12, "NV12"},
    {ColorSpace::kNv21, "NV21"},
    {ColorSpace::kBgr0, "BGR0"},
    {ColorSpace::kYuyv, "YUYV"},
    {ColorSpace::kUyvy, "UYVY"},
}};

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpeg = "\xFF\xD8\xFF";
constexpr std::string_view kBmp = "BM";

uint32_t big_endian(Bytes file, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<uint32_t>(file[at + i]);
  return value;
}

Error cut_off(size_t at, size_t size) {
  return {"the picture's header is cut off", fmt::format("byte {}: the file has {}", at, size),
          "copy the file again"};
}

Result<Size> png_size(Bytes file) {
  if (file.size() < 33) return cut_off(file.size(), file.size());
  if (as_text(file.subspan(12, 4)) != "IHDR")
    return Error{"the picture's header is damaged", "byte 12: no IHDR chunk", "save it again"};
  return Size{big_endian(file, 16, 4), big_endian(file, 20, 4)};
}

// Segments up to the first scan: a marker, then a length that counts itself. The end of the picture
// must be there: the library would fill what is missing with grey and say nothing.
Result<Size> jpeg_size(Bytes file) {
  std::optional<Size> size;
  size_t at = 2;
  while (at + 4 <= file.size()) {
    if (file[at] != std::byte{0xFF})
      return Error{"the picture's header is damaged",
                   fmt::format("byte {}: a marker was expected", at), "save it again"};
    const auto marker = std::to_integer<unsigned>(file[at + 1]);
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {  // without a length
      at += 2;
      continue;
    }
    const size_t length = big_endian(file, at + 2, 2);
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame && at + 9 <= file.size())
      size = {big_endian(file, at + 7, 2), big_endian(file, at + 5, 2)};
    if (length < 2 || marker == 0xD9 || (marker == 0xDA && !size))
      return Error{"the picture has no frame header",
                   fmt::format("byte {}: marker {:02x}", at, marker), "save it again"};
    if (marker == 0xDA) {
      if (as_text(file).find("\xFF\xD9", at) != std::string_view::npos) return *size;
      return Error{"the picture is cut off",
                   fmt::format("byte {}: the file ends before the picture does", file.size()),
                   "copy or save it again"};
    }
    at += 2 + length;
  }
  return cut_off(at, file.size());
}

Result<Size> bmp_size(Bytes file) {
  if (file.size() < 26) return cut_off(file.size(), file.size());
  const auto header = load_le<uint32_t>(file.data() + 14);
  if (header == 12)
    return Size{load_le<uint16_t>(file.data() + 18), load_le<uint16_t>(file.data() + 20)};
  const int64_t height = load_le<int32_t>(file.data() + 22);  // negative: the first row comes first
  return Size{load_le<int32_t>(file.data() + 18), height < 0 ? -height : height};
}

}  // namespace

std::string_view name_of(ColorSpace space) {
  return kColorNames[static_cast<size_t>(space)].second;
}

std::optional<ColorSpace> color_space_from_name(std::string_view name) {
  for (const auto& [space, known] : kColorNames) {
    if (known.size() != name.size()) continue;
    bool same = true;
    for (size_t i = 0; i < name.size(); ++i)
      same &= (name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]) == known[i];
    if (same) return space;
  }
  return std::nullopt;
}

std::string to_string(Size size) { return fmt::format("{}x{}", size.width, size.height); }

std::optional<Size> size_from_text(std::string_view text) {
  Size size;
  const char* end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec != std::errc()) return std::nullopt;
  size.height = size.width;
  if (width.ptr != end) {
    if (*width.ptr != 'x' && *width.ptr != 'X') return std::nullopt;
    const auto height = std::from_chars(width.ptr + 1, end, size.height);
    if (height.ec != std::errc() || height.ptr != end) return std::nullopt;
  }
  if (size.width < 1 || size.height < 1 || size.width > kMaxPixels / size.height)
    return std::nullopt;
  return size;
}

std::optional<int64_t> image_bytes(ColorSpace space, Size size) {
  if (size.width < 1 || size.height < 1 || size.width > kMaxPixels / size.height)
    return std::nullopt;
  const int64_t pixels = size.width * size.height;
  switch (space) {
    case ColorSpace::kNv12:
    case ColorSpace::kNv21:
      if (size.width % 2 != 0 || size.height % 2 != 0) return std::nullopt;
      return pixels / 2 * 3;
    case ColorSpace::kYuyv:
    case ColorSpace::kUyvy:
      if (size.width % 2 != 0) return std::nullopt;
      return pixels * 2;
    default: return pixels * channels_of(space);
  }
}

bool is_image_file(Bytes head) {
  const std::string_view text = as_text(head);
  // Two letters are few: a bitmap also says how long its second header is.
  return text.starts_with(kPng) || text.starts_with(kJpeg) ||
         (text.starts_with(kBmp) && head.size() >= 26 && load_le<uint32_t>(head.data() + 6) == 0 &&
          load_le<uint32_t>(head.data() + 14) >= 12 && load_le<uint32_t>(head.data() + 14) <= 124);
}

Result<Size> image_file_size(Bytes file) {
  if (file.empty()) return Error{"the file is empty", "byte 0", "write or copy it again"};
  if (!is_image_file(file))
    return Error{"the picture cannot be decoded", "byte 0: it does not begin like one",
                 "use JPEG, PNG or BMP files"};
  const std::string_view text = as_text(file);
  auto size = text.starts_with(kPng)    ? png_size(file)
              : text.starts_with(kJpeg) ? jpeg_size(file)
                                        : bmp_size(file);
  if (!size) return size;
  // PNG packs 1032 to 1 at best, and eight pixels into a byte; the others pack less.
  const auto most = static_cast<int64_t>(std::min<uint64_t>(file.size(), 1 << 20)) * 8 * 1032;
  if (size->width > 0 && size->height > 0 && size->width > most / size->height)
    return Error{"the picture promises more than its file can hold",
                 fmt::format("byte 0: {} pixels in {} bytes", to_string(*size), file.size()),
                 "copy or save it again"};
  if (size->width < 1 || size->height < 1 || size->width > kMaxPixels / size->height)
    return Error{
        "the picture is empty or too large",
        fmt::format("byte 0: {} pixels, at most {} are decoded", to_string(*size), kMaxPixels),
        "make it smaller first"};
  return size;
}

Result<const ImageCodec*> image_codec() {
  auto function = open_plugin({"libplumb_image.so", "plumb_image_1", "decode or resize pictures",
                               "libopencv-imgcodecs-dev", "-DPLUMB_IMAGE=ON"});
  if (!function) return function.error();
  return reinterpret_cast<const ImageCodec* (*)()>(*function)();
}

Result<Image> decode_image(Bytes file) {
  auto size = image_file_size(file);
  if (!size) return size.error();
  auto codec = image_codec();
  if (!codec) return codec.error();
  return (*codec)->decode(file, *size);
}

}  // namespace plumb::input
