// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text in a page: compressed (gzip, RFC 1952), then base64. Written piece by piece, so
// that nothing stands in memory twice.
#pragma once

#include <string>

#include "base/bytes.h"
#include "io/deflate.h"
#include "report/writer.h"

namespace plumb::report {

class PackedText {
 public:
  explicit PackedText(const Put& put);

  void write(Bytes bytes);
  void write(std::string_view text) { write(as_bytes(text)); }
  void finish();  // once, behind all bytes

 private:
  void append(Bytes packed);

  const Put& put_;
  std::string held_;  // packed bytes that are no three yet
  uint32_t crc_ = 0, size_ = 0;
  io::Deflater deflater_;
};

}  // namespace plumb::report
