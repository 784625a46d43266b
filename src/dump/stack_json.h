// SPDX-License-Identifier: Apache-2.0
//
// stack.json of msprobe's dumps: which lines of code called an API. Newer versions list each stack
// once with the APIs that share it, {"0": [[names], [frames]]}, older ones {name: [frames]}.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::dump {

// Frames joined by line breaks, by name of the API. Many APIs share one stack.
using Stacks = std::unordered_map<std::string, std::shared_ptr<const std::string>>;
Result<Stacks> parse_stack_json(Bytes file);

}  // namespace plumb::dump
