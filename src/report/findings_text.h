// SPDX-License-Identifier: Apache-2.0
//
// Findings in words: culprit, cause, the numbers behind it, what to do next.
#pragma once

#include <string>
#include <string_view>

#include "plumb/row.h"
#include "report/block.h"

namespace plumb::report {

// "overflow", "wrong fusion", ...: a cause as people call it.
std::string_view cause_in_words(std::string_view cause);

// Somebody or something is to blame.
bool has_culprit(const result::Run& run);
// The most probable finding in a few lines; nothing if there is none.
void add_culprit(const result::Run& run, Block& block);

// All of them, numbered from `first`. `result` is the file that commands to copy name.
std::string findings_text(const result::Run& run, std::string_view result, size_t width,
                          bool colour, size_t first = 1);

}  // namespace plumb::report
