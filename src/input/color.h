// SPDX-License-Identifier: Apache-2.0
//
// Between colour spaces. Conversions from and to YUV are those of BT.601, computed in double and
// rounded half away from zero, so that they are the same everywhere; other programs, with tables of
// integers, differ by one now and then.
#pragma once

#include <array>

#include "input/image.h"

namespace plumb::input {

// How YUV and RGB belong together. kLegacy is a default of vendors' tools whose numbers are not
// published: it can be read in a configuration, but nothing can be converted by it.
enum class ColorStandard : uint8_t { kUnset, kLegacy, kStudio, kFull, kMatrix };

struct YuvRule {
  ColorStandard standard = ColorStandard::kUnset;
  // kMatrix: three rows of four numbers; row r gives channel r of the wanted colour space from Y,
  // U, V and 1/256.
  std::array<double, 12> matrix{};
};

// The image in another colour space, kAuto excepted. `rule` is asked only if exactly one of the two
// is YUV; then it must be kStudio, kFull or, from YUV to colours, kMatrix.
Result<Image> converted(const Image& image, ColorSpace to, const YuvRule& rule);

}  // namespace plumb::input
