// SPDX-License-Identifier: Apache-2.0
//
// A walk as people and programs read it.
#pragma once

#include "guide/walk.h"

namespace plumb::guide {

// The verdict, the path step by step with reasons, then what to do. `directory`: where results of
// the comparisons are kept; empty: nowhere.
std::string verdict_text(const Walk& walk, const std::string& directory, size_t width, bool colour);
std::string path_text(const Walk& walk, size_t width, bool colour);

std::string to_json(const Walk& walk);  // schema plumb.guide/1

}  // namespace plumb::guide
