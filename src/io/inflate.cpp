// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <algorithm>

#include <zlib.h>

namespace plumb::io {

struct Inflater::Stream {
  z_stream z = {};
  Bytes packed;
  size_t fed = 0;
  uint64_t position = 0;
  ~Stream() { inflateEnd(&z); }
};

Inflater::Inflater(Bytes packed) : stream_(std::make_unique<Stream>()) {
  stream_->packed = packed;
  inflateInit2(&stream_->z, -15);  // raw deflate, 32 KiB window
}
Inflater::~Inflater() = default;
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;

uint64_t Inflater::position() const { return stream_->position; }

Result<void> Inflater::read(std::byte* out, size_t size) {
  constexpr size_t kStep = size_t{1} << 30;  // z_stream counts in 32 bits
  z_stream& z = stream_->z;
  while (size > 0) {
    if (z.avail_in == 0) {
      Bytes rest = stream_->packed.subspan(stream_->fed);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));
      z.avail_in = static_cast<uInt>(std::min(rest.size(), kStep));
      stream_->fed += z.avail_in;
    }
    const size_t want = std::min(size, kStep);
    z.next_out = reinterpret_cast<Bytef*>(out);
    z.avail_out = static_cast<uInt>(want);
    const int code = inflate(&z, Z_NO_FLUSH);
    const size_t got = want - z.avail_out;
    out += got;
    size -= got;
    stream_->position += got;
    if (size == 0) break;
    const bool starved = z.avail_in == 0 && stream_->fed == stream_->packed.size();
    if (code == Z_STREAM_END || (got == 0 && starved))
      return Error{"compressed data ends too early",
                   "unpacked to " + std::to_string(stream_->position) + " bytes, " +
                       std::to_string(size) + " more were promised",
                   "write the file again; it is truncated or damaged"};
    if (code != Z_OK && code != Z_BUF_ERROR)
      return Error{"compressed data is damaged",
                   "packed byte " + std::to_string(stream_->fed - z.avail_in) + ": " +
                       (z.msg != nullptr ? z.msg : "invalid deflate data"),
                   "write the file again"};
  }
  return {};
}

}  // namespace plumb::io
