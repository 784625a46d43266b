// SPDX-License-Identifier: Apache-2.0
//
// A raw deflate stream, unpacked piece by piece: memory stays small whatever the stream claims.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::io {

class Inflater {
 public:
  explicit Inflater(Bytes packed);
  ~Inflater();
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;

  // Fills `out` completely, or says at which packed byte the stream breaks or ends too early.
  Result<void> read(std::byte* out, size_t size);
  uint64_t position() const;  // unpacked bytes handed out so far

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace plumb::io
