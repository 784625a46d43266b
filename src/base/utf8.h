// SPDX-License-Identifier: Apache-2.0
//
// Names come from files and may hold any bytes: where the characters are, and the text as documents
// can carry it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

// Nothing but visible ASCII, as nearly every name there is.
bool is_plain_text(std::string_view text);

// The length of the UTF-8 character at `i`; 0 if there is none: overlong forms, surrogates and what
// lies beyond U+10FFFF count as none.
size_t character_length(std::string_view text, size_t i);

char32_t code_point(std::string_view character);  // a valid one

// The text with bytes that are no UTF-8 replaced by U+FFFD: parsers refuse a document with them.
std::string valid_utf8(std::string_view text);

// Appends a JSON string.
void append_json_text(std::string& json, std::string_view text);
std::string json_text(std::string_view text);

}  // namespace plumb
