// SPDX-License-Identifier: Apache-2.0
//
// Text in XML documents.
#pragma once

#include <string>
#include <string_view>

namespace plumb::report {

// For text and attributes. XML 1.0 has no way to write most control characters: they are dropped,
// line ends and tabs become spaces.
std::string xml_text(std::string_view text);

}  // namespace plumb::report
