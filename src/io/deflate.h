// SPDX-License-Identifier: Apache-2.0
//
// A raw deflate stream, packed piece by piece: memory stays small whatever its length.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"

namespace plumb::io {

class Deflater {
 public:
  // Packed bytes go to `out` as they become known.
  explicit Deflater(std::function<void(Bytes)> out);
  ~Deflater();

  void write(Bytes data);
  void finish();  // once, behind all data

 private:
  void pack(Bytes data, bool is_last);
  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::function<void(Bytes)> out_;
};

}  // namespace plumb::io
