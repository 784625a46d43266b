// SPDX-License-Identifier: Apache-2.0
//
// Tensors in memory as a dump set: what an engine, a test or a Python program holds is compared
// like files, through the same reader.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

struct MemoryTensor {
  std::string op;
  Slot slot = {};
  DType dtype = DType::kFloat32;
  Shape shape = {};
  Shape strides = {};                           // in elements, may be negative; empty = row-major
  Bytes bytes = {};                             // little-endian; int4 and uint1 packed as in files
  std::shared_ptr<const void> owner = nullptr;  // keeps `bytes` alive; null: the caller does
  std::optional<int64_t> step = {};
  int64_t first_element = 0;  // where element (0, 0, ...) lies in `bytes`, with `strides`
  int64_t timestamp = 0;      // order of execution, if it is known
  std::string type = {};      // of the operator
  std::string graph = {};     // sub-graph it stands in, if there are several
  std::string file = {};      // that it would be in, for reports
  Layout layout = {};         // how `shape` is to be read
};

// Entries as a directory would give them, in the same order; a name that comes twice is two
// entries. `name` stands for the path in messages. Fails if there are no tensors, or if the bytes
// of one do not cover its shape and strides.
Result<DumpSet> dump_of_tensors(std::vector<MemoryTensor> tensors, std::string name = "memory");
// Those of a caller of the library; fails also if a slot is none.
Result<DumpSet> dump_of_tensors(std::span<const NamedTensor> tensors);

}  // namespace plumb::dump
