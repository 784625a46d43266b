// SPDX-License-Identifier: Apache-2.0
//
// A constant of a model as numbers: what the file stores, and what the model does to it before an
// operator reads it (cast, dequantized, axes in another order). Nothing is unpacked before it is
// read, and then only the part that is asked for: weights of gigabytes are streamed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::graph {

class ConstantTensor {
 public:
  // Elements in plain order, one per whole byte(s) or packed as the type says; as many as the shape
  // says, which the caller has checked. `owner` keeps the bytes alive; null: somebody else does.
  ConstantTensor(DType dtype, Shape shape, Bytes bytes, std::shared_ptr<const void> owner = {});

  DType dtype() const { return dtype_; }  // of the numbers that are read
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }

  // Elements from `first` on, row-major, as many as there is room for.
  void read(int64_t first, std::span<double> out) const;
  std::vector<double> all() const;  // for small ones

  // The same bytes, read the same way: equal without a look at each number.
  bool is_same_data(const ConstantTensor& other) const;

  // Views of it, which share its bytes. Axis `i` of the new one is axis `order[i]`.
  ConstantTensor permuted(std::span<const int64_t> order) const;
  // Another shape of as many elements; nullopt if what is done along an axis stands in the way.
  std::optional<ConstantTensor> reshaped(Shape shape) const;
  ConstantTensor cast(DType dtype) const;
  // Number * scale + offset, one of each for all or for each index of `axis`, in double. With
  // `rounded` to that type.
  ConstantTensor scaled(std::vector<double> scale, std::vector<double> offset, int64_t axis,
                        std::optional<DType> rounded = {}) const;
  // (number - zero) * scale as DequantizeLinear computes it.
  ConstantTensor dequantized(std::vector<double> scale, std::vector<double> zero, int64_t axis,
                             DType to) const;
  // round(number / scale) + zero, within the type's range.
  ConstantTensor quantized(std::vector<double> scale, std::vector<double> zero, int64_t axis,
                           DType to) const;

 private:
  struct Step {
    enum class Kind : uint8_t { kCast, kScale, kDequantize, kQuantize };
    Kind kind = Kind::kCast;
    std::optional<DType> to;
    std::vector<double> scale, offset;  // one, or one for each index of `axis`
    int64_t axis = 0;
  };
  bool is_plain() const { return strides_.empty(); }
  void gather(int64_t first, std::span<double> out) const;
  void apply(const Step& step, int64_t first, std::span<double> numbers) const;

  DType stored_, dtype_;
  Shape shape_;
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  int64_t elements_ = 0;
  std::vector<int64_t> strides_;  // in elements as stored, by axis; empty: plain order
  std::vector<Step> steps_;
};

// The nearest number that a type has: floats of 16 and 32 bits; others stay as they are.
double rounded_to(DType dtype, double value);

}  // namespace plumb::graph
