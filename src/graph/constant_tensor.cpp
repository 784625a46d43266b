// SPDX-License-Identifier: Apache-2.0
#include "graph/constant_tensor.h"

#include <algorithm>
#include <cmath>

#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::graph {
namespace {

std::vector<int64_t> plain_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

struct Range {
  double low, high;
};
Range range_of(DType dtype) {
  const int bits = bits_of(dtype);
  const bool is_unsigned = dtype == DType::kUint8 || dtype == DType::kUint16 ||
                           dtype == DType::kUint32 || dtype == DType::kUint1;
  if (is_unsigned) return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

}  // namespace

double rounded_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16: return float_from_half(half_from_float(static_cast<float>(value)));
    case DType::kBFloat16:
      return float_from_bfloat16(bfloat16_from_float(static_cast<float>(value)));
    case DType::kFloat32: return static_cast<double>(static_cast<float>(value));
    default: return value;
  }
}

ConstantTensor::ConstantTensor(DType dtype, Shape shape, Bytes bytes,
                               std::shared_ptr<const void> owner)
    : stored_(dtype),
      dtype_(dtype),
      shape_(std::move(shape)),
      bytes_(bytes),
      owner_(std::move(owner)),
      elements_(element_count(shape_).value_or(0)) {}

std::vector<double> ConstantTensor::all() const {
  std::vector<double> numbers(static_cast<size_t>(elements_));
  read(0, numbers);
  return numbers;
}

bool ConstantTensor::is_same_data(const ConstantTensor& other) const {
  if (shape_ != other.shape_ || stored_ != other.stored_ || dtype_ != other.dtype_ ||
      !steps_.empty() || !other.steps_.empty() || strides_ != other.strides_)
    return false;
  return bytes_.data() == other.bytes_.data() ||
         (bytes_.size() == other.bytes_.size() &&
          std::equal(bytes_.begin(), bytes_.end(), other.bytes_.begin()));
}

void ConstantTensor::read(int64_t first, std::span<double> out) const {
  if (out.empty()) return;
  if (is_plain()) {
    const auto count = static_cast<int64_t>(out.size());
    const int bits = bits_of(stored_);
    if (bits < 8) {
      std::vector<std::byte> bytes(out.size());
      unpack(stored_, bytes_.data(), first, count, bytes.data());
      decode_double(info_of(stored_).unpacked, bytes.data(), count, out.data());
    } else {
      decode_double(stored_, bytes_.data() + first * (bits / 8), count, out.data());
    }
  } else {
    gather(first, out);
  }
  for (const Step& step : steps_) apply(step, first, out);
}

// Elements that are not side by side.
void ConstantTensor::gather(int64_t first, std::span<double> out) const {
  std::vector<int64_t> index(shape_.size());
  int64_t rest = first, place = 0;
  for (size_t i = shape_.size(); i-- > 0;) {
    index[i] = rest % shape_[i];
    rest /= shape_[i];
    place += index[i] * strides_[i];
  }
  const int bits = bits_of(stored_);
  for (double& number : out) {
    if (bits < 8) {
      std::byte one;
      unpack(stored_, bytes_.data(), place, 1, &one);
      decode_double(info_of(stored_).unpacked, &one, 1, &number);
    } else {
      decode_double(stored_, bytes_.data() + place * (bits / 8), 1, &number);
    }
    for (size_t i = shape_.size(); i-- > 0;) {
      place += strides_[i];
      if (++index[i] < shape_[i]) break;
      place -= strides_[i] * shape_[i];
      index[i] = 0;
    }
  }
}

void ConstantTensor::apply(const Step& step, int64_t first, std::span<double> numbers) const {
  if (step.kind == Step::Kind::kCast) {
    const bool truncates = kind_of(*step.to) == DKind::kInteger;
    for (double& number : numbers)
      number = truncates ? std::trunc(number) : rounded_to(*step.to, number);
    return;
  }
  const bool is_one = step.scale.size() <= 1;
  int64_t inner = 1, channels = 1;
  if (!is_one) {
    channels = shape_[static_cast<size_t>(step.axis)];
    for (size_t i = static_cast<size_t>(step.axis) + 1; i < shape_.size(); ++i) inner *= shape_[i];
  }
  const Range range = step.to ? range_of(*step.to) : Range{0, 0};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t channel =
        is_one ? 0 : static_cast<size_t>((first + static_cast<int64_t>(i)) / inner % channels);
    const double scale = step.scale[channel];
    const double offset =
        step.offset.size() <= 1 ? (step.offset.empty() ? 0 : step.offset[0]) : step.offset[channel];
    double& number = numbers[i];
    switch (step.kind) {
      case Step::Kind::kDequantize: number = rounded_to(*step.to, (number - offset) * scale); break;
      case Step::Kind::kQuantize:
        number = std::clamp(std::nearbyint(number / scale) + offset, range.low, range.high);
        break;
      default:
        number = number * scale + offset;
        if (step.to) number = rounded_to(*step.to, number);
    }
  }
}

ConstantTensor ConstantTensor::permuted(std::span<const int64_t> order) const {
  ConstantTensor view = *this;
  const std::vector<int64_t> strides = is_plain() ? plain_strides(shape_) : strides_;
  view.strides_.resize(order.size());
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<size_t>(order[i]);
    view.shape_[i] = shape_[from];
    view.strides_[i] = strides[from];
    back[from] = static_cast<int64_t>(i);
  }
  for (Step& step : view.steps_)
    if (step.scale.size() > 1) step.axis = back[static_cast<size_t>(step.axis)];
  const std::vector<int64_t> plain = plain_strides(view.shape_);
  bool is_plain_order = true;  // an axis of length 1 may be anywhere
  for (size_t i = 0; i < plain.size(); ++i)
    is_plain_order &= view.shape_[i] == 1 || view.strides_[i] == plain[i];
  if (is_plain_order) view.strides_.clear();
  return view;
}

std::optional<ConstantTensor> ConstantTensor::reshaped(Shape shape) const {
  if (element_count(shape) != elements_) return std::nullopt;
  const auto is_along_axis = [](const Step& step) { return step.scale.size() > 1; };
  if (!is_plain() || std::any_of(steps_.begin(), steps_.end(), is_along_axis)) {
    if (shape != shape_) return std::nullopt;
    return *this;
  }
  ConstantTensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

ConstantTensor ConstantTensor::cast(DType dtype) const {
  ConstantTensor view = *this;
  view.dtype_ = dtype;
  view.steps_.push_back({Step::Kind::kCast, dtype, {}, {}, 0});
  return view;
}

ConstantTensor ConstantTensor::scaled(std::vector<double> scale, std::vector<double> offset,
                                      int64_t axis, std::optional<DType> rounded) const {
  ConstantTensor view = *this;
  view.steps_.push_back({Step::Kind::kScale, rounded, std::move(scale), std::move(offset), axis});
  return view;
}

ConstantTensor ConstantTensor::dequantized(std::vector<double> scale, std::vector<double> zero,
                                           int64_t axis, DType to) const {
  ConstantTensor view = *this;
  view.dtype_ = to;
  view.steps_.push_back({Step::Kind::kDequantize, to, std::move(scale), std::move(zero), axis});
  return view;
}

ConstantTensor ConstantTensor::quantized(std::vector<double> scale, std::vector<double> zero,
                                         int64_t axis, DType to) const {
  ConstantTensor view = *this;
  view.dtype_ = to;
  view.steps_.push_back({Step::Kind::kQuantize, to, std::move(scale), std::move(zero), axis});
  return view;
}

}  // namespace plumb::graph
