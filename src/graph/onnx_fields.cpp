// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_fields.h"

namespace plumb::graph {
namespace {

struct ElementType {
  uint64_t code;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {1, DType::kFloat32},       {2, DType::kUint8},       {3, DType::kInt8},
    {4, DType::kUint16},        {5, DType::kInt16},       {6, DType::kInt32},
    {7, DType::kInt64},         {9, DType::kBool},        {10, DType::kFloat16},
    {11, DType::kFloat64},      {12, DType::kUint32},     {13, DType::kUint64},
    {14, DType::kComplex64},    {15, DType::kComplex128}, {16, DType::kBFloat16},
    {17, DType::kFloat8E4M3Fn}, {19, DType::kFloat8E5M2}, {22, DType::kInt4},
};

}  // namespace

std::optional<DType> dtype_from_onnx(uint64_t code) {
  for (const ElementType& type : kElementTypes)
    if (type.code == code) return type.dtype;
  return std::nullopt;
}

std::optional<uint64_t> onnx_from_dtype(DType dtype) {
  for (const ElementType& type : kElementTypes)
    if (type.dtype == dtype) return type.code;
  return std::nullopt;
}

}  // namespace plumb::graph
