// SPDX-License-Identifier: Apache-2.0
//
// Element types, shapes, and tensors that a caller holds in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb {

using Bytes = std::span<const std::byte>;
using Shape = std::vector<int64_t>;

enum class DType : uint8_t {
  kBool,   // one byte, any non-zero value is true
  kUint1,  // eight to a byte, most significant bit first
  kInt4,   // two to a byte, low nibble first, two's complement
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat8E4M3Fn,
  kFloat8E5M2,
  kHiFloat8,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kOpaque,  // bytes of a type nobody can decode here; counted in bytes, kept, never interpreted
};

enum class DKind : uint8_t { kBool, kInteger, kFloat, kComplex, kOpaque };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // in options, JSON and reports, e.g. "float16"
  int bits;
  DKind kind;
  DType unpacked;  // one element per whole byte(s): int4 -> int8, uint1 -> uint8, others themselves
  DType portable;  // the nearest lossless type that numpy knows: bfloat16 -> float32, ...
};

std::span<const DTypeInfo> dtypes();
const DTypeInfo& info_of(DType dtype);

inline std::string_view name_of(DType dtype) { return info_of(dtype).name; }
inline int bits_of(DType dtype) { return info_of(dtype).bits; }
inline DKind kind_of(DType dtype) { return info_of(dtype).kind; }

// By our own names and the usual short ones ("f16", "half", "bf16", "i8").
std::optional<DType> dtype_from_name(std::string_view name);

// A tensor that the caller, or `owner`, keeps alive.
struct NamedTensor {
  std::string op;  // operator
  std::string slot = "output:0";
  DType dtype = DType::kFloat32;
  Shape shape = {};
  Bytes bytes = {};           // little-endian; int4 and uint1 packed as in files
  Shape strides = {};         // in elements, may be negative; empty: row-major
  int64_t first_element = 0;  // where element (0, 0, ...) lies in `bytes`, with `strides`
  std::optional<int64_t> step = {};
  std::shared_ptr<const void> owner = nullptr;  // keeps `bytes` alive; null: the caller does
};

}  // namespace plumb
#pragma GCC visibility pop
