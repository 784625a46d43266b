// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text (RFC 4648, with padding): where a document takes nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace plumb {

void append_base64(std::string& text, Bytes bytes);

// nullopt if it is anything else, white space included.
std::optional<std::vector<uint8_t>> from_base64(std::string_view text);

}  // namespace plumb
