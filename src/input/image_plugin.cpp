// SPDX-License-Identifier: Apache-2.0
//
// The only code that decodes and resizes pictures, in a library of its own: OpenCV's codecs bring a
// hundred libraries with them, which no other command should wait for.
#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <sys/mman.h>
#include <unistd.h>

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

// libpng prints on stderr, and OpenCV has no switch for it. While this lives, stderr is a piece of
// memory; the process has only one, so nobody else decodes meanwhile. Warnings of libpng are about
// colours that nobody here looks at; everything else is passed on, damage in a JPEG for one.
class QuietLibpng {
 public:
  QuietLibpng() : lock_(mutex()), stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    if (stderr_ < 0) return;
    memory_ = ::memfd_create("stderr", MFD_CLOEXEC);
    if (memory_ >= 0) ::dup2(memory_, STDERR_FILENO);
  }
  QuietLibpng(const QuietLibpng&) = delete;
  QuietLibpng& operator=(const QuietLibpng&) = delete;
  ~QuietLibpng() { end(); }

  // Gives stderr back. What libpng called an error, if it did.
  std::string end() {
    std::string error;
    if (memory_ >= 0) {
      ::dup2(stderr_, STDERR_FILENO);
      error = sort_out();
      ::close(memory_);
    }
    if (stderr_ >= 0) ::close(stderr_);
    memory_ = stderr_ = -1;
    return error;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  std::string sort_out() const {
    constexpr size_t kMost = 65536;
    std::string printed(kMost, '\0');
    const ssize_t read = ::pread(memory_, printed.data(), printed.size(), 0);
    printed.resize(read < 0 ? 0 : static_cast<size_t>(read));
    std::string error, others;
    for (size_t at = 0; at < printed.size();) {
      const size_t end = std::min(printed.find('\n', at), printed.size() - 1) + 1;
      const std::string line = printed.substr(at, end - at);
      at = end;
      if (line.starts_with("libpng error: "))
        error = line.substr(0, line.find('\n'));
      else if (!line.starts_with("libpng warning: "))
        others += line;
    }
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, others.data(), others.size());
    return error;
  }

  const std::lock_guard<std::mutex> lock_;
  int stderr_ = -1, memory_ = -1;
};

Result<Image> decode(Bytes file, Size size) {
  try {
    if (file.size() > static_cast<size_t>(INT_MAX))
      return Error{"the picture's file is too large", "byte 0", "save it again, smaller"};
    // OpenCV only reads from it.
    const cv::Mat encoded(1, static_cast<int>(file.size()), CV_8UC1,
                          const_cast<std::byte*>(file.data()));
    // Pixels as they lie in the file: turning them by what a camera noted is the user's decision.
    QuietLibpng quiet;
    const cv::Mat pixels = cv::imdecode(encoded, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    const std::string reason = quiet.end();
    if (pixels.empty() || pixels.type() != CV_8UC3)
      return Error{
          "the picture cannot be decoded",
          std::string("byte 0: ") + kVersion + " refuses" + (reason.empty() ? "" : ": " + reason),
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
