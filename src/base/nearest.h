// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean ...?": the known name nearest to one that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// By edit distance; empty if nothing is near enough to be a slip of the finger.
std::string nearest_name(std::string_view unknown, std::span<const std::string> known);

// "did you mean 'cosine'? " or "".
std::string did_you_mean(std::string_view unknown, std::span<const std::string> known);

}  // namespace plumb
