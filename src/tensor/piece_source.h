// SPDX-License-Identifier: Apache-2.0
//
// A tensor that is read piece by piece, wherever it is stored: all that measuring it needs to know
// of files. Readers hand one out (io/reader.h, dump/dump.h); it borrows from them.
#pragma once

#include <functional>

#include "base/bytes.h"
#include "plumb/result.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb {

struct PieceSource {
  DType dtype = DType::kFloat32;  // as read: one element per whole byte(s), little-endian
  Shape shape = {};
  int64_t count = 0;
  // Elements [first, first + count) in plain order, valid until the next call.
  std::function<Result<Bytes>(int64_t first, int64_t count)> read = {};
  // Another source of the same tensor, for another thread, which borrows nothing; empty if the work
  // of reading would be done twice.
  std::function<Result<PieceSource>()> again = {};
  // To be asked after the last use of what was read: an error if it is not what was stored. May be
  // empty.
  std::function<Result<void>()> check = {};
};

}  // namespace plumb
