// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean ...?" of paths.
#pragma once

#include <filesystem>
#include <string>

namespace plumb {

// "did you mean 'net/model.om'? " or "": what lies beside a path that is not there, or beside the
// first of its directories that is not. "it is a link to 'gone.om': " if that is what is there.
std::string did_you_mean_path(const std::filesystem::path& missing);

}  // namespace plumb
