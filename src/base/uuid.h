// SPDX-License-Identifier: Apache-2.0
//
// Name-based UUIDs (version 3): how dump tools shorten file names that the file system refuses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

std::array<uint8_t, 16> md5(std::string_view data);  // RFC 1321; for names only, it is not secure

// The 32 hex digits of the version-3 UUID of `name` in the DNS name space (RFC 4122).
std::string uuid3_hex(std::string_view name);

}  // namespace plumb
