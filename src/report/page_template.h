// SPDX-License-Identifier: Apache-2.0
//
// The report page without its data: web/dist/report.html, as it was when the program was built.
#pragma once

#include <string_view>

namespace plumb::report {

inline constexpr std::string_view kPageMarker = "<!--plumb:data-->";  // where the data go, once

std::string_view page_template();

}  // namespace plumb::report
