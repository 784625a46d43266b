// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <cmath>
#include <limits>

#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb {
namespace {

using Wide = long double;
static_assert(LDBL_MANT_DIG >= 64, "a 64-bit integer must fit");

template <class T>
Wide load(const std::byte* at) {
  return static_cast<Wide>(load_le<T>(at));
}

// The value of an element that need not fit a float.
Wide value_at(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kInt64: return load<int64_t>(at);
    case DType::kUint64: return load<uint64_t>(at);
    case DType::kInt32: return load<int32_t>(at);
    case DType::kUint32: return load<uint32_t>(at);
    default: return load<double>(at);
  }
}

// The values of a tensor, one after the other; types that fit a float are decoded in blocks.
class Values {
 public:
  Values(DType dtype, Bytes elements)
      : dtype_(dtype),
        elements_(elements),
        item_(static_cast<size_t>(bits_of(dtype) / 8)),
        count_(elements.size() / item_),
        is_block_(fits_float(dtype)) {}

  size_t count() const { return count_; }
  Wide operator[](size_t i) {
    const std::byte* at = elements_.data() + i * item_;
    if (!is_block_) return value_at(dtype_, at);
    if (i % kBlock == 0)
      decode_float(dtype_, at, static_cast<int64_t>(std::min(kBlock, count_ - i)), block_.data());
    return block_[i % kBlock];
  }

 private:
  static constexpr size_t kBlock = 1024;
  DType dtype_;
  Bytes elements_;
  size_t item_, count_;
  bool is_block_;
  std::array<float, kBlock> block_{};
};

// An element, and the value it really has; false: it cannot be put into this type at all.
template <class T>
bool put_integer(Wide value, std::byte* at, Wide& became) {
  const Wide whole = std::nearbyint(value);
  if (!(whole >= static_cast<Wide>(std::numeric_limits<T>::min()) &&
        whole <= static_cast<Wide>(std::numeric_limits<T>::max())))
    return false;
  const T stored = static_cast<T>(whole);
  std::memcpy(at, &stored, sizeof stored);
  became = whole;
  return true;
}

template <class T>
bool put(T stored, Wide value, std::byte* at, Wide& became) {
  std::memcpy(at, &stored, sizeof stored);
  became = value;
  return true;
}

bool put_value(DType dtype, Wide value, std::byte* at, Wide& became) {
  switch (dtype) {
    case DType::kInt8: return put_integer<int8_t>(value, at, became);
    case DType::kUint8: return put_integer<uint8_t>(value, at, became);
    case DType::kInt16: return put_integer<int16_t>(value, at, became);
    case DType::kUint16: return put_integer<uint16_t>(value, at, became);
    case DType::kInt32: return put_integer<int32_t>(value, at, became);
    case DType::kUint32: return put_integer<uint32_t>(value, at, became);
    case DType::kInt64: return put_integer<int64_t>(value, at, became);
    case DType::kUint64: return put_integer<uint64_t>(value, at, became);
    case DType::kBool: return (value == 0 || value == 1) && put_integer<uint8_t>(value, at, became);
    case DType::kFloat64: {
      const auto stored = static_cast<double>(value);
      return put(stored, stored, at, became);
    }
    case DType::kFloat32: {
      const auto stored = static_cast<float>(value);
      return put(stored, stored, at, became);
    }
    case DType::kFloat16: {
      const uint16_t stored = half_from_float(static_cast<float>(value));
      return put(stored, float_from_half(stored), at, became);
    }
    case DType::kBFloat16: {
      const uint16_t stored = bfloat16_from_float(static_cast<float>(value));
      return put(stored, float_from_bfloat16(stored), at, became);
    }
    default: return false;
  }
}

bool is_real(DType dtype) {
  const DKind kind = kind_of(dtype);
  return (kind == DKind::kInteger || kind == DKind::kFloat || kind == DKind::kBool) &&
         bits_of(dtype) >= 8;
}

}  // namespace

bool can_convert(DType from, DType to) {
  return is_real(from) && is_real(to) && to != DType::kFloat8E4M3Fn && to != DType::kFloat8E5M2 &&
         to != DType::kHiFloat8;
}

std::optional<Misfit> convert(DType from, Bytes elements, DType to, bool rounds,
                              std::span<std::byte> out) {
  Values values(from, elements);
  const auto item = static_cast<size_t>(bits_of(to) / 8);
  assert(out.size() == values.count() * item);
  if (to == DType::kFloat32 && fits_float(from)) {  // nothing can be lost
    decode_float(from, elements.data(), static_cast<int64_t>(values.count()),
                 reinterpret_cast<float*>(out.data()));
    return std::nullopt;
  }
  for (size_t i = 0; i < values.count(); ++i) {
    const Wide value = values[i];
    Wide became = 0;
    const bool fits = put_value(to, value, out.data() + i * item, became);
    const bool survives = became == value || (std::isnan(became) && std::isnan(value));
    if (fits && (survives || rounds)) continue;
    Misfit misfit{static_cast<int64_t>(i), static_cast<double>(value), std::nullopt};
    if (fits) misfit.nearest = static_cast<double>(became);
    return misfit;
  }
  return std::nullopt;
}

}  // namespace plumb
