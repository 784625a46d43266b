// SPDX-License-Identifier: Apache-2.0
//
// From a picture to the tensor a model takes: decoded, resized and cropped, its colours converted,
// its axes ordered, as numbers, changed by what the configuration lists, in the input's own type.
// Every stage can be looked at.
#pragma once

#include <functional>

#include "engine/engine.h"
#include "input/color.h"

namespace plumb::input {

enum class ResizeKind : uint8_t {
  kStretch,    // to `size`, or to what the model takes
  kShortSide,  // the shorter side to `short_side`, the other in proportion (rounded down)
  kLetterbox,  // as large as fits, in the middle of `fill`
  kNone,
};

struct Resize {
  ResizeKind kind = ResizeKind::kStretch;
  std::optional<Size> size;
  int64_t short_side = 0;
  std::array<uint8_t, 3> fill{};  // R, G, B
};
// "stretch", "stretch:256x256", "short:256", "short:256+crop", "letterbox:114",
// "letterbox:0,0,255", "none".
Result<Resize> resize_from_text(std::string_view text);

enum class AxisOrder : uint8_t { kNative, kNchw, kNhwc };  // kNative: told from the model's shape

// One step of arithmetic, with one number for all channels or one each, in the order of the model's
// colour space. Empty lists are neutral.
//   affine:        y = x * slope / slope_divisor + bias / bias_divisor
//   normalization: y = (x - mean) / std
struct Modification {
  enum class Kind : uint8_t { kAffine, kNormalization };
  Kind kind = Kind::kAffine;
  std::vector<double> slope, slope_divisor, bias, bias_divisor;
  std::vector<double> mean, std;
};

struct Preprocess {
  ColorSpace color =
      ColorSpace::kAuto;  // what the model takes; kAuto: 3 channels are BGR, 1 is gray
  YuvRule yuv;
  ColorSpace source_color =
      ColorSpace::kAuto;            // of files of bare pixels; kAuto: by the file's name
  std::optional<Size> source_size;  // of such files, unless it is the model's
  Resize resize;
  std::optional<Size> crop;  // from the middle; without it, what the model takes
  Interpolation interpolation = Interpolation::kBilinear;
  bool align_corners = false;  // bilinear and nearest: corners stay corners
  AxisOrder layout = AxisOrder::kNative;
  std::vector<Modification> modifications;
  bool cast = false;  // round where a type cannot hold a value exactly
};

// Called for each stage with its name ("1_decoded", ...) and the bytes as a tensor.
using StageSink = std::function<Result<void>(std::string_view stage, const engine::Tensor& tensor)>;

// The tensor for `port`, which must take one picture. Sizes that the port leaves open come from
// `crop` or from the picture. Computed in double, rounded once.
Result<engine::Tensor> apply(const Preprocess& preprocess, const Image& image,
                             const engine::Port& port, const StageSink& sink = {});

// Where a picture's axes are in a model's input.
struct PictureAxes {
  AxisOrder layout = AxisOrder::kNchw;
  size_t first = 0;                 // of the picture's axes: 1 behind a batch
  std::optional<int64_t> channels;  // nullopt: of any size
  std::optional<int64_t> height;  // rows of the tensor: of NV12 half as many again as the picture's
  std::optional<int64_t> width;
  bool has_channels = true;  // false: rows and columns only
};
Result<PictureAxes> picture_axes(const engine::Port& port, AxisOrder layout);

// The same values in another type. Fails if one does not survive, unless `cast`: then it is rounded
// to the nearest, and only what is out of an integer's range fails.
Result<engine::Tensor> converted(engine::Tensor tensor, DType to, bool cast);

}  // namespace plumb::input
