// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <set>

#include <gtest/gtest.h>

namespace plumb {
namespace {

struct TableCase {
  DType dtype;
  std::string_view name;
  int bits;
  DKind kind;
  DType unpacked;
  DType portable;
};

constexpr TableCase kTableCases[] = {
    {DType::kBool, "bool", 8, DKind::kBool, DType::kBool, DType::kBool},
    {DType::kUint1, "uint1", 1, DKind::kInteger, DType::kUint8, DType::kUint8},
    {DType::kInt4, "int4", 4, DKind::kInteger, DType::kInt8, DType::kInt8},
    {DType::kInt64, "int64", 64, DKind::kInteger, DType::kInt64, DType::kInt64},
    {DType::kFloat8E4M3Fn, "float8_e4m3fn", 8, DKind::kFloat, DType::kFloat8E4M3Fn,
     DType::kFloat32},
    {DType::kHiFloat8, "hifloat8", 8, DKind::kFloat, DType::kHiFloat8, DType::kFloat32},
    {DType::kFloat16, "float16", 16, DKind::kFloat, DType::kFloat16, DType::kFloat16},
    {DType::kBFloat16, "bfloat16", 16, DKind::kFloat, DType::kBFloat16, DType::kFloat32},
    {DType::kComplex128, "complex128", 128, DKind::kComplex, DType::kComplex128,
     DType::kComplex128},
    {DType::kOpaque, "opaque", 8, DKind::kOpaque, DType::kOpaque, DType::kUint8},
};

TEST(DType, Table) {
  for (const TableCase& c : kTableCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(name_of(c.dtype), c.name);
    EXPECT_EQ(bits_of(c.dtype), c.bits);
    EXPECT_EQ(kind_of(c.dtype), c.kind);
    EXPECT_EQ(info_of(c.dtype).unpacked, c.unpacked);
    EXPECT_EQ(info_of(c.dtype).portable, c.portable);
  }
}

TEST(DType, EveryTypeHasAConsistentRow) {
  std::set<std::string_view> names;
  for (const DTypeInfo& info : dtypes()) {
    SCOPED_TRACE(info.name);
    EXPECT_EQ(&info_of(info.dtype), &info);
    EXPECT_TRUE(names.insert(info.name).second);
    EXPECT_EQ(bits_of(info.unpacked) % 8, 0);
    EXPECT_GE(bits_of(info.portable), info.bits);
    EXPECT_EQ(info_of(info.portable).portable, info.portable);
    if (info.dtype == DType::kOpaque)
      EXPECT_FALSE(dtype_from_name(info.name));
    else
      EXPECT_EQ(dtype_from_name(info.name), info.dtype);
  }
}

TEST(DType, ShortNames) {
  EXPECT_EQ(dtype_from_name("f16"), DType::kFloat16);
  EXPECT_EQ(dtype_from_name("half"), DType::kFloat16);
  EXPECT_EQ(dtype_from_name("bf16"), DType::kBFloat16);
  EXPECT_EQ(dtype_from_name("i8"), DType::kInt8);
  EXPECT_EQ(dtype_from_name("hif8"), DType::kHiFloat8);
  EXPECT_FALSE(dtype_from_name(""));
  EXPECT_FALSE(dtype_from_name("float17"));
  EXPECT_FALSE(dtype_from_name("FLOAT16"));
}

TEST(DType, ByteCountRoundsUpAndNoticesOverflow) {
  EXPECT_EQ(byte_count(DType::kUint1, 0), 0);
  EXPECT_EQ(byte_count(DType::kUint1, 1), 1);
  EXPECT_EQ(byte_count(DType::kUint1, 9), 2);
  EXPECT_EQ(byte_count(DType::kInt4, 3), 2);
  EXPECT_EQ(byte_count(DType::kComplex128, 3), 48);
  EXPECT_EQ(byte_count(DType::kFloat32, int64_t{1} << 60), std::nullopt);
}

}  // namespace
}  // namespace plumb
