// SPDX-License-Identifier: Apache-2.0
//
// What replaying an operator showed, as it is told: on the screen, as the README of a reproduction,
// and for programs.
#pragma once

#include <string>

#include "result/replayed.h"

namespace plumb::report {

std::string render(const result::Replayed& replayed, size_t width);
std::string readme_of(const result::Replayed& replayed);
std::string json_of(const result::Replayed& replayed);

}  // namespace plumb::report
