// SPDX-License-Identifier: Apache-2.0
//
// The header of a gzip file (RFC 1952): what is behind it is a deflate stream.
#pragma once

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::input {

bool is_gzip(Bytes file);

// The stream, without the eight bytes of checksum and size behind it.
Result<Bytes> gzip_stream(Bytes file);

}  // namespace plumb::input
