// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_constant.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

constexpr size_t kEndBytes = 1024;

// FNV-1a.
void mix(uint64_t& print, Bytes bytes) {
  for (const std::byte byte : bytes) print = (print ^ static_cast<uint64_t>(byte)) * 1099511628211U;
}
void mix(uint64_t& print, uint64_t number) { mix(print, std::as_bytes(std::span(&number, 1))); }

// float_data, int32_data, ..., raw_data, double_data, uint64_data.
bool is_data(uint32_t field) { return field >= 4 && field <= 11 && field != tensor_field::kName; }

}  // namespace

Constant constant_of(Bytes tensor) {
  Constant constant{14695981039346656037U, 1};
  std::vector<int64_t> sizes;
  uint64_t dtype = 0;
  Bytes data;  // whatever the list: those of floats are stored as raw data are
  ProtoReader reader(tensor);
  each_field(tensor, [&](const ProtoField& field, Bytes) {
    if (field.number == tensor_field::kDims)
      reader.append_varints(field, sizes, 64);
    else if (field.number == tensor_field::kDataType)
      dtype = field.value;
    else if (field.number == tensor_field::kExternalData)
      mix(constant.print, field.bytes);
    else if (is_data(field.number) && field.bytes.size() > data.size())
      data = field.bytes;
  });
  mix(constant.print, dtype);
  for (const int64_t size : sizes) {
    mix(constant.print, static_cast<uint64_t>(size));
    constant.elements = checked_mul(constant.elements, size).value_or(0);
  }
  mix(constant.print, data.size());
  mix(constant.print, data.first(std::min(data.size(), kEndBytes)));
  mix(constant.print, data.last(std::min(data.size(), kEndBytes)));
  return constant;
}

}  // namespace plumb::graph
