// SPDX-License-Identifier: Apache-2.0
#include "input/color.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace plumb::input {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

// R, G, B from Y - offset, U - 128, V - 128.
struct Standard {
  double y_offset;
  Matrix to_rgb;
};
constexpr Standard kFullSwing{0, {{{1, 0, 1.402}, {1, -0.344136, -0.714136}, {1, 1.772, 0}}}};
constexpr Standard kStudioSwing{16,
                                {{{1.164, 0, 1.596}, {1.164, -0.392, -0.813}, {1.164, 2.017, 0}}}};

// The way back is the inverse of the same matrix: both directions belong together.
constexpr Matrix inverse(const Matrix& m) {
  const double determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  Matrix result{};
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 3; ++c) {
      const size_t r1 = (c + 1) % 3, r2 = (c + 2) % 3, c1 = (r + 1) % 3, c2 = (r + 2) % 3;
      result[r][c] = (m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]) / determinant;
    }
  return result;
}

uint8_t rounded(double value) {
  return static_cast<uint8_t>(std::clamp(std::round(value), 0.0, 255.0));
}

Triple times(const Matrix& m, const Triple& v) {
  Triple result{};
  for (size_t r = 0; r < 3; ++r) result[r] = m[r][0] * v[0] + m[r][1] * v[1] + m[r][2] * v[2];
  return result;
}

// Where the samples of pixel (x, y) lie in an image of YUV.
struct Sites {
  size_t y, u, v;
};
Sites sites_of(ColorSpace space, Size size, int64_t x, int64_t y) {
  if (space == ColorSpace::kNv12 || space == ColorSpace::kNv21) {
    const auto luma = static_cast<size_t>(y * size.width + x);
    const auto pair =
        static_cast<size_t>(size.width * size.height + y / 2 * size.width + x / 2 * 2);
    const bool vu = space == ColorSpace::kNv21;
    return {luma, pair + (vu ? 1 : 0), pair + (vu ? 0 : 1)};
  }
  const auto group = static_cast<size_t>((y * size.width + x / 2 * 2) * 2);
  const size_t odd = static_cast<size_t>(x % 2) * 2;
  if (space == ColorSpace::kYuyv) return {group + odd, group + 1, group + 3};
  return {group + 1 + odd, group, group + 2};
}

// Where R, G and B lie within a pixel.
std::array<size_t, 3> rgb_places(ColorSpace space) {
  if (space == ColorSpace::kGray) return {0, 0, 0};
  if (space == ColorSpace::kRgb) return {0, 1, 2};
  return {2, 1, 0};
}

Result<Image> empty_image(ColorSpace space, Size size) {
  const auto bytes = image_bytes(space, size);
  if (!bytes)
    return Error{fmt::format("an image of {} cannot have this size", name_of(space)),
                 fmt::format("{}: sides must be even", to_string(size)),
                 "resize to even sides first (--resize, --crop)"};
  return Image{size, space, std::vector<uint8_t>(static_cast<size_t>(*bytes))};
}

Result<Standard> standard_of(const YuvRule& rule) {
  switch (rule.standard) {
    case ColorStandard::kStudio: return kStudioSwing;
    case ColorStandard::kFull: return kFullSwing;
    case ColorStandard::kMatrix:
      return Error{"a matrix only leads from YUV to colours", "csc_mat",
                   "use --color-standard studio or full to make YUV"};
    case ColorStandard::kLegacy:
    case ColorStandard::kUnset: break;
  }
  return Error{"how YUV and RGB belong together is not known",
               rule.standard == ColorStandard::kLegacy
                   ? "CSC_LEGACY: its coefficients are not published"
                   : "no colour standard is given",
               "pass --color-standard studio or --color-standard full, as on the device"};
}

Result<Image> colours_from_yuv(const Image& image, ColorSpace to, const YuvRule& rule) {
  const bool by_matrix = rule.standard == ColorStandard::kMatrix;
  Standard standard = kFullSwing;
  if (!by_matrix) {
    auto known = standard_of(rule);
    if (!known) return known.error();
    standard = *known;
  }
  auto made = empty_image(to, image.size);
  if (!made) return made;
  const auto channels = static_cast<size_t>(channels_of(to));
  const auto places = rgb_places(to);
  uint8_t* out = made->bytes.data();
  for (int64_t y = 0; y < image.size.height; ++y)
    for (int64_t x = 0; x < image.size.width; ++x, out += channels) {
      const Sites at = sites_of(image.space, image.size, x, y);
      const double luma = image.bytes[at.y], u = image.bytes[at.u], v = image.bytes[at.v];
      if (by_matrix) {
        for (size_t r = 0; r < 3; ++r) {
          const double* row = rule.matrix.data() + r * 4;
          out[r] = rounded(row[0] * luma + row[1] * u + row[2] * v + row[3] * 256);
        }
        continue;
      }
      const Triple rgb = times(standard.to_rgb, {luma - standard.y_offset, u - 128, v - 128});
      for (size_t c = 0; c < 3; ++c) out[places[c]] = rounded(rgb[c]);
    }
  return made;
}

// Chroma is the mean over the pixels that share it, rounded once.
Result<Image> yuv_from_colours(const Image& image, ColorSpace to, const YuvRule& rule) {
  auto standard = standard_of(rule);
  if (!standard) return standard.error();
  auto made = empty_image(to, image.size);
  if (!made) return made;
  const Matrix to_yuv = inverse(standard->to_rgb);
  const auto channels = channels_of(image.space);
  const auto places = rgb_places(image.space);
  const int64_t rows = to == ColorSpace::kNv12 || to == ColorSpace::kNv21 ? 2 : 1;
  for (int64_t y = 0; y < image.size.height; y += rows)
    for (int64_t x = 0; x < image.size.width; x += 2) {
      double u = 0, v = 0;
      for (int64_t dy = 0; dy < rows; ++dy)
        for (int64_t dx = 0; dx < 2; ++dx) {
          const uint8_t* pixel =
              image.bytes.data() + ((y + dy) * image.size.width + x + dx) * channels;
          const Triple yuv = times(
              to_yuv, {static_cast<double>(pixel[places[0]]), static_cast<double>(pixel[places[1]]),
                       static_cast<double>(pixel[places[2]])});
          made->bytes[sites_of(to, image.size, x + dx, y + dy).y] =
              rounded(yuv[0] + standard->y_offset);
          u += yuv[1];
          v += yuv[2];
        }
      const Sites at = sites_of(to, image.size, x, y);
      const auto pixels = static_cast<double>(rows * 2);
      made->bytes[at.u] = rounded(u / pixels + 128);
      made->bytes[at.v] = rounded(v / pixels + 128);
    }
  return made;
}

// The same samples in other places; chroma that is shared by more pixels than before is their mean.
Result<Image> yuv_from_yuv(const Image& image, ColorSpace to) {
  auto made = empty_image(to, image.size);
  if (!made) return made;
  const int64_t rows = to == ColorSpace::kNv12 || to == ColorSpace::kNv21 ? 2 : 1;
  for (int64_t y = 0; y < image.size.height; y += rows)
    for (int64_t x = 0; x < image.size.width; x += 2) {
      double u = 0, v = 0;
      for (int64_t dy = 0; dy < rows; ++dy) {
        const Sites left = sites_of(image.space, image.size, x, y + dy);
        const Sites right = sites_of(image.space, image.size, x + 1, y + dy);
        made->bytes[sites_of(to, image.size, x, y + dy).y] = image.bytes[left.y];
        made->bytes[sites_of(to, image.size, x + 1, y + dy).y] = image.bytes[right.y];
        u += image.bytes[left.u];
        v += image.bytes[left.v];
      }
      const Sites at = sites_of(to, image.size, x, y);
      made->bytes[at.u] = rounded(u / static_cast<double>(rows));
      made->bytes[at.v] = rounded(v / static_cast<double>(rows));
    }
  return made;
}

Image packed(const Image& image, ColorSpace to) {
  const auto from_channels = static_cast<size_t>(channels_of(image.space));
  const auto to_channels = static_cast<size_t>(channels_of(to));
  const auto from = rgb_places(image.space), into = rgb_places(to);
  const size_t pixels = static_cast<size_t>(image.size.width * image.size.height);
  Image made{image.size, to, std::vector<uint8_t>(pixels * to_channels)};
  const uint8_t* in = image.bytes.data();
  uint8_t* out = made.bytes.data();
  for (size_t i = 0; i < pixels; ++i, in += from_channels, out += to_channels) {
    if (to == ColorSpace::kGray)
      // In thousandths the sum is exact, and so is the tie.
      *out = static_cast<uint8_t>(
          (299 * in[from[0]] + 587 * in[from[1]] + 114 * in[from[2]] + 500) / 1000);
    else
      for (size_t c = 0; c < 3; ++c) out[into[c]] = in[from[c]];
  }
  return made;
}

}  // namespace

Result<Image> converted(const Image& image, ColorSpace to, const YuvRule& rule) {
  if (image.space == to) return image;
  const bool from_yuv = is_yuv(image.space);
  if (from_yuv && is_yuv(to)) return yuv_from_yuv(image, to);
  if (from_yuv && to == ColorSpace::kGray) {
    auto colours = colours_from_yuv(image, ColorSpace::kRgb, rule);
    if (!colours) return colours;
    return packed(*colours, to);
  }
  if (from_yuv) return colours_from_yuv(image, to, rule);
  if (is_yuv(to)) return yuv_from_colours(image, to, rule);
  return packed(image, to);
}

}  // namespace plumb::input
