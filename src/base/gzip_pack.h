// SPDX-License-Identifier: Apache-2.0
//
// Bytes packed as a gzip file (RFC 1952) in one go, for blocks that are in memory anyway: many
// times as fast as packing them piece by piece. The same bytes give the same file.
#pragma once

#include <string>

#include "base/bytes.h"

namespace plumb {

std::string gzip_pack(Bytes bytes);

}  // namespace plumb
