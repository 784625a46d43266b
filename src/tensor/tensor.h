// SPDX-License-Identifier: Apache-2.0
//
// What is known of a stored tensor without touching its data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plumb/result.h"
#include "tensor/dtype.h"
#include "tensor/layout/layout.h"
#include "tensor/shape.h"

namespace plumb {

// How a tensor's bytes lie in its file.
enum class Packing : uint8_t {
  kPlain,     // `size_bytes` bytes at `offset_bytes`, as they are
  kDeflated,  // a raw deflate stream there; the elements start `skip_bytes` into what it unpacks to
  kFormat,    // only the format itself knows: ask its `load`
  kValues,    // in `values`: the file has them in a form that is no tensor
};

struct TensorInfo {
  std::string name;  // inside its file: "output.0", "layer.weight"; empty if it is the only one
  DType dtype = DType::kFloat32;
  std::string dtype_name;  // the file's own word, only for DType::kOpaque
  bool big_endian = false;
  Shape shape;    // as stored; for a device layout the padded device shape
  Layout layout;  // how `shape` is to be read; row-major, axes unnamed, unless the file says more
  Shape strides;  // in elements, one per axis of `shape`; empty = row-major
  int64_t first_element =
      0;  // where element (0, 0, ...) lies among the stored ones, with `strides`
  std::optional<Shape> logical_shape;  // before the device layout was applied
  Packing packing = Packing::kPlain;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;        // in the file, packed
  uint64_t skip_bytes = 0;        // kDeflated: bytes of the member before the first element
  std::optional<uint32_t> crc32;  // kDeflated and stored zip members: of the whole unpacked member
  uint64_t crc_offset_bytes = 0;  // kPlain zip members: where the bytes under `crc32` start
  uint64_t crc_size_bytes = 0;    // ... and how many they are; kDeflated: of the member, unpacked
  std::shared_ptr<const std::vector<std::byte>> values;  // kValues: the elements, plain
  std::vector<std::string> notes;  // oddities worth telling, e.g. "8 bytes of padding ignored"
  std::optional<Error> error;      // listed, but cannot be read
};

// The file's word for an undecodable type, else ours.
inline std::string dtype_text(const TensorInfo& info) {
  return info.dtype == DType::kOpaque && !info.dtype_name.empty()
             ? info.dtype_name
             : std::string(name_of(info.dtype));
}

}  // namespace plumb
