// SPDX-License-Identifier: Apache-2.0
//
// The words of a command, for commands that go on with it.
#pragma once

#include <string>
#include <vector>

namespace plumb::cli {

// Those that were typed, without these options; each has a value.
std::vector<std::string> words_without(int argc, char** argv,
                                       const std::vector<std::string>& dropped);

}  // namespace plumb::cli
