// SPDX-License-Identifier: Apache-2.0
//
// The only code that decodes and resizes pictures, in a library of its own: OpenCV's codecs bring a
// hundred libraries with them, which no other command should wait for.
#include <climits>
#include <cstring>
#include <exception>
#include <string>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "input/image.h"

namespace plumb::input {
namespace {

constexpr const char* kVersion = "OpenCV " CV_VERSION;

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

Image image_from(const cv::Mat& pixels, ColorSpace space) {
  Image image{{pixels.cols, pixels.rows}, space, {}};
  const size_t row_bytes = static_cast<size_t>(pixels.cols) * pixels.elemSize();
  image.bytes.resize(row_bytes * static_cast<size_t>(pixels.rows));
  for (int y = 0; y < pixels.rows; ++y)
    std::memcpy(image.bytes.data() + static_cast<size_t>(y) * row_bytes, pixels.ptr(y), row_bytes);
  return image;
}

Result<Image> decode(Bytes file, Size size) {
  try {
    if (file.size() > static_cast<size_t>(INT_MAX))
      return Error{"the picture's file is too large", "byte 0", "save it again, smaller"};
    // OpenCV only reads from it.
    const cv::Mat encoded(1, static_cast<int>(file.size()), CV_8UC1,
                          const_cast<std::byte*>(file.data()));
    // Pixels as they lie in the file: turning them by what a camera noted is the user's decision.
    const cv::Mat pixels = cv::imdecode(encoded, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    if (pixels.empty() || pixels.type() != CV_8UC3)
      return Error{"the picture cannot be decoded", std::string("byte 0: ") + kVersion + " refuses",
                   "save it again; it is damaged or of an unusual kind"};
    if (pixels.cols != size.width || pixels.rows != size.height)
      return Error{
          "the picture is not of the size its header says",
          "byte 0: header " + text_of(size) + ", decoded " + text_of({pixels.cols, pixels.rows}),
          "save it again"};
    return image_from(pixels, ColorSpace::kBgr);
  } catch (const std::exception& failure) {
    return Error{"the picture cannot be decoded", std::string("byte 0: ") + failure.what(),
                 "save it again; it is damaged or too large for this machine"};
  }
}

int flag_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest: return cv::INTER_NEAREST;
    case Interpolation::kArea: return cv::INTER_AREA;
    case Interpolation::kCubic: return cv::INTER_CUBIC;
    case Interpolation::kBilinear: break;
  }
  return cv::INTER_LINEAR;
}

Result<Image> resize(const Image& image, Size size, Interpolation interpolation) {
  try {
    const cv::Mat source(static_cast<int>(image.size.height), static_cast<int>(image.size.width),
                         CV_8UC(static_cast<int>(channels_of(image.space))),
                         const_cast<uint8_t*>(image.bytes.data()));
    cv::Mat resized;
    cv::resize(source, resized, {static_cast<int>(size.width), static_cast<int>(size.height)}, 0, 0,
               flag_of(interpolation));
    return image_from(resized, image.space);
  } catch (const std::exception& failure) {
    return Error{"the picture cannot be resized", failure.what(), "use a smaller size"};
  }
}

constexpr ImageCodec kCodec{kVersion, decode, resize};

}  // namespace
}  // namespace plumb::input

extern "C" __attribute__((visibility("default"))) const plumb::input::ImageCodec* plumb_image_1() {
  return &plumb::input::kCodec;
}
