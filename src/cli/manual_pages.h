// SPDX-License-Identifier: Apache-2.0
//
// Manual pages (man(7)) of the program and of each command, from what the commands declare.
#pragma once

#include "cli/command.h"

namespace plumb::cli {

struct ManualPage {
  std::string file;  // "plumb-compare.1"
  std::string text;
};
// `texts`: what describe() says of each command.
std::vector<ManualPage> manual_pages(std::span<const Command> commands,
                                     std::span<const CommandText> texts);

}  // namespace plumb::cli
