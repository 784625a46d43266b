// SPDX-License-Identifier: Apache-2.0
#include "input/preprocess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/number_from_text.h"

namespace plumb::input {
namespace {

using engine::Port;
using engine::Tensor;

Error bad_resize(std::string_view text, std::string why) {
  return {std::move(why), fmt::format("--resize {}", text),
          "use stretch, stretch:256x256, short:256+crop, letterbox:114 or none"};
}

bool could_be_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

std::optional<int64_t> known(int64_t size) { return size < 0 ? std::nullopt : std::optional(size); }

std::string_view layout_name(AxisOrder layout) {
  return layout == AxisOrder::kNhwc ? "NHWC" : "NCHW";
}

// ---- resizing ----

// Corners on corners: OpenCV has no such mode.
Image resized_by_corners(const Image& image, Size size, Interpolation interpolation) {
  const int64_t channels = channels_of(image.space);
  Image made{size, image.space,
             std::vector<uint8_t>(static_cast<size_t>(size.width * size.height * channels))};
  const auto place = [](int64_t i, int64_t to, int64_t from) {
    return to == 1 ? 0.0 : static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1);
  };
  const bool nearest = interpolation == Interpolation::kNearest;
  const auto at = [&](int64_t x, int64_t y, int64_t c) -> double {
    return image.bytes[static_cast<size_t>((y * image.size.width + x) * channels + c)];
  };
  uint8_t* out = made.bytes.data();
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x) {
      double sx = place(x, size.width, image.size.width);
      double sy = place(y, size.height, image.size.height);
      if (nearest) sx = std::round(sx), sy = std::round(sy);
      const auto x0 = static_cast<int64_t>(sx), y0 = static_cast<int64_t>(sy);
      const int64_t x1 = std::min(x0 + 1, image.size.width - 1);
      const int64_t y1 = std::min(y0 + 1, image.size.height - 1);
      const double fx = sx - static_cast<double>(x0), fy = sy - static_cast<double>(y0);
      for (int64_t c = 0; c < channels; ++c) {
        const double top = at(x0, y0, c) * (1 - fx) + at(x1, y0, c) * fx;
        const double bottom = at(x0, y1, c) * (1 - fx) + at(x1, y1, c) * fx;
        *out++ = static_cast<uint8_t>(std::round(top * (1 - fy) + bottom * fy));
      }
    }
  return made;
}

Error impossible_size(const Image& image, Size size) {
  return {"the picture would be resized to an impossible size",
          fmt::format("from {} to {}", to_string(image.size), to_string(size)),
          "check --resize and the model's input shape"};
}

Result<Image> resized(const Preprocess& how, const Image& image, Size size) {
  if (image.size == size) return image;
  if (size.width < 1 || size.height < 1 || size.width > kMaxPixels / size.height)
    return impossible_size(image, size);
  if (how.align_corners) {
    if (how.interpolation != Interpolation::kBilinear &&
        how.interpolation != Interpolation::kNearest)
      return Error{"--align-corners works with bilinear and nearest only", "--interp",
                   "leave one of the two out"};
    return resized_by_corners(image, size, how.interpolation);
  }
  auto codec = image_codec();
  if (!codec) return codec.error();
  return (*codec)->resize(image, size, how.interpolation);
}

// Rows [top, top + height) and columns alike.
Image cropped(const Image& image, Size size) {
  const int64_t channels = channels_of(image.space);
  Image made{size, image.space, {}};
  made.bytes.resize(static_cast<size_t>(size.width * size.height * channels));
  const int64_t left = (image.size.width - size.width) / 2;
  const int64_t top = (image.size.height - size.height) / 2;
  const auto row_bytes = static_cast<size_t>(size.width * channels);
  for (int64_t y = 0; y < size.height; ++y)
    std::memcpy(made.bytes.data() + static_cast<size_t>(y) * row_bytes,
                image.bytes.data() + ((top + y) * image.size.width + left) * channels, row_bytes);
  return made;
}

// `image` in the middle of a picture of `size` in one colour.
Image framed(const Image& image, Size size, const std::array<uint8_t, 3>& fill) {
  const int64_t channels = channels_of(image.space);
  Image made{size, image.space, {}};
  made.bytes.reserve(static_cast<size_t>(size.width * size.height * channels));
  std::array<uint8_t, 4> pixel{fill[2], fill[1], fill[0], 0};
  if (image.space == ColorSpace::kRgb) pixel = {fill[0], fill[1], fill[2], 0};
  if (image.space == ColorSpace::kGray)
    pixel[0] = static_cast<uint8_t>((299 * fill[0] + 587 * fill[1] + 114 * fill[2] + 500) / 1000);
  for (int64_t i = 0; i < size.width * size.height; ++i)
    made.bytes.insert(made.bytes.end(), pixel.begin(), pixel.begin() + channels);
  const int64_t left = (size.width - image.size.width) / 2;
  const int64_t top = (size.height - image.size.height) / 2;
  const auto row_bytes = static_cast<size_t>(image.size.width * channels);
  for (int64_t y = 0; y < image.size.height; ++y)
    std::memcpy(made.bytes.data() + ((top + y) * size.width + left) * channels,
                image.bytes.data() + static_cast<size_t>(y) * row_bytes, row_bytes);
  return made;
}

// `wanted`: what the model takes or --crop says; sides of 0 are open.
Result<Image> fitted(const Preprocess& how, const Image& image, Size wanted) {
  const Size open = wanted;
  if (wanted.width == 0) wanted.width = image.size.width;
  if (wanted.height == 0) wanted.height = image.size.height;
  if (wanted.width > kMaxPixels / wanted.height) return impossible_size(image, wanted);
  Result<Image> made = Error{};
  switch (how.resize.kind) {
    case ResizeKind::kNone: made = image; break;
    case ResizeKind::kStretch:
      made = resized(how, image, how.resize.size.value_or(how.crop ? image.size : wanted));
      break;
    case ResizeKind::kShortSide: {
      const int64_t shorter = std::min(image.size.width, image.size.height);
      const int64_t side = how.resize.short_side;
      made = resized(how, image,
                     {image.size.width * side / shorter, image.size.height * side / shorter});
      break;
    }
    case ResizeKind::kLetterbox: {
      const double scale =
          std::min(static_cast<double>(wanted.width) / static_cast<double>(image.size.width),
                   static_cast<double>(wanted.height) / static_cast<double>(image.size.height));
      const auto side = [&](int64_t length, int64_t most) {
        const auto scaled = std::llround(static_cast<double>(length) * scale);
        return std::clamp<int64_t>(scaled, 1, most);
      };
      made =
          resized(how, image,
                  {side(image.size.width, wanted.width), side(image.size.height, wanted.height)});
      if (made) made = framed(*made, wanted, how.resize.fill);
      break;
    }
  }
  if (!made) return made;
  if (open.width == 0) wanted.width = made->size.width;
  if (open.height == 0) wanted.height = made->size.height;
  if (made->size == wanted) return made;
  if (made->size.width < wanted.width || made->size.height < wanted.height ||
      (how.resize.kind == ResizeKind::kNone && !how.crop))
    return Error{
        "the picture does not fit the model's input",
        fmt::format("the picture is {}, wanted is {}", to_string(made->size), to_string(wanted)),
        "resize it: --resize stretch, --resize short:N+crop or --resize letterbox:114"};
  return cropped(*made, wanted);
}

// ---- arithmetic ----

Result<void> check_length(const std::vector<double>& numbers, int64_t channels,
                          std::string_view name, bool is_divisor) {
  if (!numbers.empty() && numbers.size() != 1 && std::ssize(numbers) != channels)
    return Error{fmt::format("{} has {} numbers for {} channel{}", name, numbers.size(), channels,
                             channels == 1 ? "" : "s"),
                 fmt::format("{}: {}", name, fmt::join(numbers, ", ")),
                 "give one number, or one for each channel"};
  for (const double number : numbers)
    if (!std::isfinite(number) || (is_divisor && number == 0))
      return Error{fmt::format("{} cannot be used", name),
                   fmt::format("{}: {}", name, fmt::join(numbers, ", ")),
                   is_divisor ? "nothing can be divided by it" : "give finite numbers"};
  return {};
}

Result<void> check(const Modification& change, int64_t channels) {
  using Line = std::tuple<const std::vector<double>&, std::string_view, bool>;
  for (const auto& [numbers, name, is_divisor] :
       {Line{change.slope, "slope", false}, Line{change.slope_divisor, "slope_divisor", true},
        Line{change.bias, "bias", false}, Line{change.bias_divisor, "bias_divisor", true},
        Line{change.mean, "mean", false}, Line{change.std, "std", true}})
    if (auto fine = check_length(numbers, channels, name, is_divisor); !fine) return fine;
  return {};
}

double of_channel(const std::vector<double>& numbers, size_t channel, double neutral) {
  if (numbers.empty()) return neutral;
  return numbers.size() == 1 ? numbers[0] : numbers[channel];
}

double modified(const Modification& change, double x, size_t channel) {
  if (change.kind == Modification::Kind::kNormalization)
    return (x - of_channel(change.mean, channel, 0)) / of_channel(change.std, channel, 1);
  return x * of_channel(change.slope, channel, 1) / of_channel(change.slope_divisor, channel, 1) +
         of_channel(change.bias, channel, 0) / of_channel(change.bias_divisor, channel, 1);
}

// ---- tensors ----

Shape pixels_shape(const Image& image) {
  switch (image.space) {
    case ColorSpace::kNv12:
    case ColorSpace::kNv21: return {image.size.height / 2 * 3, image.size.width, 1};
    default: return {image.size.height, image.size.width, channels_of(image.space)};
  }
}

Tensor tensor_of(const Image& image) {
  Tensor tensor{DType::kUint8, pixels_shape(image), {}};
  tensor.bytes.resize(image.bytes.size());
  std::memcpy(tensor.bytes.data(), image.bytes.data(), image.bytes.size());
  return tensor;
}

ColorSpace color_for(ColorSpace wanted, const PictureAxes& axes, const Image& image) {
  if (wanted != ColorSpace::kAuto) return wanted;
  if (!axes.has_channels || axes.channels == 1) return ColorSpace::kGray;
  if (axes.channels == 4) return ColorSpace::kBgr0;
  if (axes.channels == 3) return ColorSpace::kBgr;
  return image.space == ColorSpace::kGray ? ColorSpace::kGray : ColorSpace::kBgr;
}

// Rows, columns and channels of a picture in this colour space, seen as a tensor.
Result<Size> wanted_size(const Preprocess& how, const PictureAxes& axes, ColorSpace color,
                         const Port& port) {
  Size size{axes.width.value_or(0), axes.height.value_or(0)};
  if (color == ColorSpace::kNv12 || color == ColorSpace::kNv21) {
    if (size.height % 3 != 0)
      return Error{fmt::format("this input cannot be {}", name_of(color)),
                   fmt::format("input '{}' {}: {} rows are no picture and half of one", port.name,
                               to_string(port.shape), size.height),
                   "check --input-color"};
    size.height = size.height / 3 * 2;
  }
  if (!how.crop) return size;
  if ((size.width != 0 && size.width != how.crop->width) ||
      (size.height != 0 && size.height != how.crop->height))
    return Error{"--crop is not the size the model takes",
                 fmt::format("--crop {}, input '{}' takes {}", to_string(*how.crop), port.name,
                             to_string(size)),
                 "leave out --crop: the model's size is used"};
  return *how.crop;
}

// Rows, columns and channels of 8 bits in the order the model takes, behind a batch of one.
Tensor with_axes(const Tensor& pixels, const PictureAxes& axes) {
  const int64_t height = pixels.shape[0], width = pixels.shape[1], channels = pixels.shape[2];
  Tensor ordered{DType::kUint8, {}, pixels.bytes};
  if (!axes.has_channels) {
    ordered.shape = {height, width};
    return ordered;
  }
  if (axes.first == 1) ordered.shape.push_back(1);
  if (axes.layout == AxisOrder::kNhwc) {
    ordered.shape.insert(ordered.shape.end(), {height, width, channels});
    return ordered;
  }
  ordered.shape.insert(ordered.shape.end(), {channels, height, width});
  const auto area = static_cast<size_t>(height * width), step = static_cast<size_t>(channels);
  for (size_t c = 0; c < step; ++c)
    for (size_t i = 0; i < area; ++i) ordered.bytes[c * area + i] = pixels.bytes[i * step + c];
  return ordered;
}

// All steps on every value, in double.
Tensor modified(const Tensor& ordered, const std::vector<Modification>& changes, int64_t channels,
                AxisOrder layout) {
  const size_t count = ordered.bytes.size(), step = static_cast<size_t>(channels);
  const size_t area = std::max<size_t>(count / step, 1);
  Tensor values{DType::kFloat64, ordered.shape, std::vector<std::byte>(count * sizeof(double))};
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = layout == AxisOrder::kNchw ? i / area : i % step;
    double x = std::to_integer<uint8_t>(ordered.bytes[i]);
    for (const Modification& change : changes) x = modified(change, x, channel);
    std::memcpy(values.bytes.data() + i * sizeof x, &x, sizeof x);
  }
  return values;
}

}  // namespace

Result<Resize> resize_from_text(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  Resize resize;
  if (word == "none" && rest.empty()) {
    resize.kind = ResizeKind::kNone;
    return resize;
  }
  if (word == "stretch") {
    if (colon == text.npos) return resize;
    resize.size = size_from_text(rest);
    if (!resize.size) return bad_resize(text, "a size was expected after 'stretch:'");
    return resize;
  }
  if (word == "short") {
    resize.kind = ResizeKind::kShortSide;
    if (rest.ends_with("+crop")) rest.remove_suffix(5);
    resize.short_side = number_from_text<decltype(resize.short_side)>(rest).value_or(0);
    if (resize.short_side < 1 || resize.short_side > 1 << 16)
      return bad_resize(text, "the length of the shorter side was expected after 'short:'");
    return resize;
  }
  if (word == "letterbox") {
    resize.kind = ResizeKind::kLetterbox;
    if (colon == text.npos) return resize;
    size_t count = 0;
    const char* at = rest.data();
    const char* end = at + rest.size();
    for (; count < 3; ++count) {
      const auto read = std::from_chars(at, end, resize.fill[count]);
      if (read.ec != std::errc()) break;
      at = read.ptr;
      if (at == end || *at != ',') {
        ++count;
        break;
      }
      ++at;
    }
    if (at != end || rest.ends_with(',') || (count != 1 && count != 3))
      return bad_resize(text, "a colour was expected after 'letterbox:', one number or R,G,B");
    if (count == 1) resize.fill.fill(resize.fill[0]);
    return resize;
  }
  const std::vector<std::string> words{"stretch", "short", "letterbox", "none"};
  Error error = bad_resize(text, fmt::format("unknown way to resize '{}'", word));
  error.remedy = did_you_mean(word, words) + error.remedy;
  return error;
}

Result<PictureAxes> picture_axes(const Port& port, AxisOrder layout) {
  PictureAxes axes;
  const size_t rank = port.shape.size();
  const Error no_picture{
      "a picture cannot be fed to this input",
      fmt::format("input '{}' takes {}", port.name, to_string(port.shape)),
      "save the values to an .npy file and pass that, or name another input: --input NAME=FILE"};
  if (rank == 2) {
    axes.has_channels = false;
    axes.height = known(port.shape[0]);
    axes.width = known(port.shape[1]);
    return axes;
  }
  if (rank != 3 && rank != 4) return no_picture;
  axes.first = rank - 3;
  if (axes.first == 1 && port.shape[0] > 1)
    return Error{"this input takes several pictures at once",
                 fmt::format("input '{}' takes {}", port.name, to_string(port.shape)),
                 "save a batch to an .npy file, or make the model's batch size 1 or open"};
  const int64_t before = port.shape[axes.first], behind = port.shape[axes.first + 2];
  axes.layout = layout;
  if (layout == AxisOrder::kNative) {
    axes.layout = could_be_channels(before) || !could_be_channels(behind) ? AxisOrder::kNchw
                                                                          : AxisOrder::kNhwc;
    // Channels that are open are the first axis only if nothing else could be.
    if (before < 0 && could_be_channels(behind)) axes.layout = AxisOrder::kNhwc;
  }
  const bool first = axes.layout == AxisOrder::kNchw;
  axes.channels = known(first ? before : behind);
  axes.height = known(port.shape[axes.first + (first ? 1 : 0)]);
  axes.width = known(port.shape[axes.first + (first ? 2 : 1)]);
  return axes;
}

namespace {

// Pixels of height, width, channels in the colours that the model takes.
Result<void> check_fit(const Tensor& pixels, const PictureAxes& axes, ColorSpace color,
                       const Port& port) {
  const int64_t height = pixels.shape[0], width = pixels.shape[1], channels = pixels.shape[2];
  if ((axes.has_channels ? axes.channels.value_or(channels) : 1) != channels)
    return Error{"the colours do not fit the model's input",
                 fmt::format("{} has {} channel{}, input '{}' takes {} ({})", name_of(color),
                             channels, channels == 1 ? "" : "s", port.name, to_string(port.shape),
                             layout_name(axes.layout)),
                 "pass --input-color GRAY, BGR or RGB, or --layout NHWC if the channels are last"};
  if (axes.height.value_or(height) != height || axes.width.value_or(width) != width)
    return Error{"the picture does not fit the model's input",
                 fmt::format("the picture is {}x{}, input '{}' takes {} ({})", width, height,
                             port.name, to_string(port.shape), layout_name(axes.layout)),
                 "check --layout and --resize"};
  return {};
}

// Of the wanted type. Numbers that were computed are rounded to a float in any case; to an integer
// only if told to.
Result<Tensor> as_computed(Tensor values, DType dtype, bool cast) {
  auto tensor = converted(std::move(values), dtype, cast || kind_of(dtype) == DKind::kFloat);
  if (!tensor)
    tensor.error().remedy =
        "leave out mean, std and scale for this input, which takes whole numbers (in `plumb run`, "
        "--golden-config and --target-config are for one side alone); or pass --cast to round";
  return tensor;
}

}  // namespace

Result<Tensor> apply(const Preprocess& how, const Image& image, const Port& port,
                     const StageSink& sink) {
  if (!port.dtype)
    return Error{"a picture cannot be fed to this input",
                 fmt::format("input '{}' is {}", port.name, port.kind), "name another input"};
  const auto tell = [&](std::string_view stage, const Tensor& tensor) {
    return sink ? sink(stage, tensor) : Result<void>();
  };
  const auto axes = picture_axes(port, how.layout);
  if (!axes) return axes.error();
  const ColorSpace color = color_for(how.color, *axes, image);
  const auto wanted = wanted_size(how, *axes, color, port);
  if (!wanted) return wanted.error();
  if (auto told = tell("1_decoded", tensor_of(image)); !told) return told.error();

  // Bare YUV of the right kind and size is what the model takes; otherwise colours are resized.
  const bool as_it_is = image.space == color && is_yuv(color) &&
                        (wanted->width == 0 || wanted->width == image.size.width) &&
                        (wanted->height == 0 || wanted->height == image.size.height);
  Result<Image> made = image;
  if (!as_it_is) {
    if (is_yuv(image.space)) made = converted(image, ColorSpace::kBgr, how.yuv);
    if (made) made = fitted(how, *made, *wanted);
    if (!made) return made.error();
  }
  if (auto told = tell("2_resized", tensor_of(*made)); !told) return told.error();
  made = converted(*made, color, how.yuv);
  if (!made) return made.error();
  const Tensor pixels = tensor_of(*made);
  if (auto told = tell("3_color", pixels); !told) return told.error();

  if (auto fits = check_fit(pixels, *axes, color, port); !fits) return fits.error();
  const int64_t channels = pixels.shape[2];
  for (const Modification& change : how.modifications)
    if (auto fine = check(change, channels); !fine) return fine.error();

  Tensor ordered = with_axes(pixels, *axes);
  if (auto told = tell("4_layout", ordered); !told) return told.error();
  if (how.modifications.empty()) {
    auto tensor = converted(std::move(ordered), *port.dtype, how.cast);
    if (!tensor) return tensor;
    if (auto told = tell("6_tensor", *tensor); !told) return told.error();
    return tensor;
  }
  Tensor values = modified(ordered, how.modifications, channels, axes->layout);
  if (auto told = tell("5_modified", values); !told) return told.error();
  auto tensor = as_computed(std::move(values), *port.dtype, how.cast);
  if (!tensor) return tensor;
  if (auto told = tell("6_tensor", *tensor); !told) return told.error();
  return tensor;
}

}  // namespace plumb::input
