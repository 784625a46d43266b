// SPDX-License-Identifier: Apache-2.0
//
// construct.json, in which msprobe keeps the tree of modules: each call with the call of the module
// it ran in. With several micro steps a value is a list of that and the number of the step.
#pragma once

#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::dump {

using Parents = std::unordered_map<std::string, std::string>;  // by call; those with a parent only
Result<Parents> parse_construct_json(Bytes file);

}  // namespace plumb::dump
