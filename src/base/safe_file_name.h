// SPDX-License-Identifier: Apache-2.0
//
// Names of operators and tensors as file names.
#pragma once

#include <string>
#include <string_view>

namespace plumb {

// Characters outside [A-Za-z0-9_-], which some file system or dump tool treats specially, become
// '_', except those of `also_safe`. As long as it was: whoever adds to it knows how much fits.
std::string safe_file_name(std::string_view name, std::string_view also_safe = {});

}  // namespace plumb
