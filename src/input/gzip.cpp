// SPDX-License-Identifier: Apache-2.0
#include "input/gzip.h"

#include <fmt/format.h>

namespace plumb::input {

bool is_gzip(Bytes file) { return as_text(file).starts_with("\x1f\x8b\x08"); }

Result<Bytes> gzip_stream(Bytes file) {
  ByteReader reader(file);
  reader.skip(3);
  const unsigned flags = reader.u8();
  reader.skip(6);
  if ((flags & 4) != 0) reader.skip(reader.u16());  // extra field
  for (const unsigned flag : {8u, 16u})             // file name, comment
    if ((flags & flag) != 0)
      while (reader.ok() && reader.u8() != 0) {
      }
  if ((flags & 2) != 0) reader.skip(2);
  if (!reader.ok() || reader.left() < 8)
    return Error{"the gzip file is cut off", fmt::format("byte {}", reader.position()),
                 "copy it again"};
  return file.subspan(reader.position(), reader.left() - 8);
}

}  // namespace plumb::input
