// SPDX-License-Identifier: Apache-2.0
//
// Pictures of 8 bits a sample, and what a library does with them: decoding and resizing come from a
// plug-in with OpenCV, opened when the first picture turns up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::input {

using plumb::name_of;    // of element types, beside those below
using plumb::to_string;  // of shapes

// kBgr0 has a fourth byte per pixel, zero. NV12 and NV21 are a plane of Y and one of chroma pairs
// (UV, VU) of half the size each way; YUYV and UYVY have four bytes for two pixels.
enum class ColorSpace : uint8_t { kAuto, kBgr, kRgb, kGray, kNv12, kNv21, kBgr0, kYuyv, kUyvy };

inline bool is_yuv(ColorSpace space) {
  return space == ColorSpace::kNv12 || space == ColorSpace::kNv21 || space == ColorSpace::kYuyv ||
         space == ColorSpace::kUyvy;
}
std::string_view name_of(ColorSpace space);  // "NV12"
std::optional<ColorSpace> color_space_from_name(std::string_view name);

struct Size {
  int64_t width = 0;
  int64_t height = 0;
  bool operator==(const Size&) const = default;
};
std::string to_string(Size size);                           // "640x480"
std::optional<Size> size_from_text(std::string_view text);  // also "224" for 224x224

inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

struct Image {
  Size size;
  ColorSpace space = ColorSpace::kBgr;  // never kAuto
  std::vector<uint8_t> bytes;           // rows without gaps
};

// How many bytes an image takes; nullopt if this space has no such size (odd sides of NV12) or it
// is beyond kMaxPixels.
std::optional<int64_t> image_bytes(ColorSpace space, Size size);

// Samples of one pixel: 3, 1 for gray, 4 for BGR0. The planes of NV12 have 1, the pairs of YUYV 2.
inline int64_t channels_of(ColorSpace space) {
  switch (space) {
    case ColorSpace::kBgr:
    case ColorSpace::kRgb:
    case ColorSpace::kAuto: return 3;
    case ColorSpace::kBgr0: return 4;
    case ColorSpace::kYuyv:
    case ColorSpace::kUyvy: return 2;
    default: return 1;
  }
}

// True if these are the first bytes of a picture file that is decoded here: JPEG, PNG, BMP.
bool is_image_file(Bytes head);

// What the header says; the error if it is cut off or the picture is too large to decode.
Result<Size> image_file_size(Bytes file);

enum class Interpolation : uint8_t { kBilinear, kNearest, kArea, kCubic };

// What the plug-in can do. `resize` takes packed pixels (not YUV) and maps centres to centres, with
// OpenCV's own rounding.
struct ImageCodec {
  const char* version;                             // "OpenCV 4.6.0"
  Result<Image> (*decode)(Bytes file, Size size);  // always BGR, pixels as stored in the file
  Result<Image> (*resize)(const Image& image, Size size, Interpolation interpolation);
};
Result<const ImageCodec*> image_codec();

// Checks the header, then decodes. Errors say "byte N".
Result<Image> decode_image(Bytes file);

}  // namespace plumb::input
