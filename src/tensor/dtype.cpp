// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>

namespace plumb {
namespace {

using enum DType;

constexpr std::array kDTypes{
    DTypeInfo{kBool, "bool", 8, DKind::kBool, kBool, kBool},
    DTypeInfo{kUint1, "uint1", 1, DKind::kInteger, kUint8, kUint8},
    DTypeInfo{kInt4, "int4", 4, DKind::kInteger, kInt8, kInt8},
    DTypeInfo{kInt8, "int8", 8, DKind::kInteger, kInt8, kInt8},
    DTypeInfo{kUint8, "uint8", 8, DKind::kInteger, kUint8, kUint8},
    DTypeInfo{kInt16, "int16", 16, DKind::kInteger, kInt16, kInt16},
    DTypeInfo{kUint16, "uint16", 16, DKind::kInteger, kUint16, kUint16},
    DTypeInfo{kInt32, "int32", 32, DKind::kInteger, kInt32, kInt32},
    DTypeInfo{kUint32, "uint32", 32, DKind::kInteger, kUint32, kUint32},
    DTypeInfo{kInt64, "int64", 64, DKind::kInteger, kInt64, kInt64},
    DTypeInfo{kUint64, "uint64", 64, DKind::kInteger, kUint64, kUint64},
    DTypeInfo{kFloat8E4M3Fn, "float8_e4m3fn", 8, DKind::kFloat, kFloat8E4M3Fn, kFloat32},
    DTypeInfo{kFloat8E5M2, "float8_e5m2", 8, DKind::kFloat, kFloat8E5M2, kFloat32},
    DTypeInfo{kHiFloat8, "hifloat8", 8, DKind::kFloat, kHiFloat8, kFloat32},
    DTypeInfo{kFloat16, "float16", 16, DKind::kFloat, kFloat16, kFloat16},
    DTypeInfo{kBFloat16, "bfloat16", 16, DKind::kFloat, kBFloat16, kFloat32},
    DTypeInfo{kFloat32, "float32", 32, DKind::kFloat, kFloat32, kFloat32},
    DTypeInfo{kFloat64, "float64", 64, DKind::kFloat, kFloat64, kFloat64},
    DTypeInfo{kComplex64, "complex64", 64, DKind::kComplex, kComplex64, kComplex64},
    DTypeInfo{kComplex128, "complex128", 128, DKind::kComplex, kComplex128, kComplex128},
    DTypeInfo{kOpaque, "opaque", 8, DKind::kOpaque, kOpaque, kUint8},
};

constexpr bool in_enum_order() {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<size_t>(kDTypes[i].dtype) != i) return false;
  return true;
}
static_assert(in_enum_order());

struct DTypeAlias {
  std::string_view alias;
  DType dtype;
};
constexpr DTypeAlias kDTypeAliases[] = {
    {"f16", kFloat16},
    {"fp16", kFloat16},
    {"half", kFloat16},
    {"bf16", kBFloat16},
    {"f32", kFloat32},
    {"fp32", kFloat32},
    {"float", kFloat32},
    {"f64", kFloat64},
    {"fp64", kFloat64},
    {"double", kFloat64},
    {"i8", kInt8},
    {"u8", kUint8},
    {"i16", kInt16},
    {"u16", kUint16},
    {"i32", kInt32},
    {"u32", kUint32},
    {"i64", kInt64},
    {"u64", kUint64},
    {"fp8_e4m3fn", kFloat8E4M3Fn},
    {"e4m3fn", kFloat8E4M3Fn},
    {"fp8_e5m2", kFloat8E5M2},
    {"e5m2", kFloat8E5M2},
    {"hif8", kHiFloat8},
    {"c64", kComplex64},
    {"c128", kComplex128},
};

}  // namespace

std::span<const DTypeInfo> dtypes() { return kDTypes; }

const DTypeInfo& info_of(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kDTypes)
    if (info.name == name && info.dtype != kOpaque) return info.dtype;
  for (const DTypeAlias& alias : kDTypeAliases)
    if (alias.alias == name) return alias.dtype;
  return std::nullopt;
}

}  // namespace plumb
