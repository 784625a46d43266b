// SPDX-License-Identifier: Apache-2.0
//
// Findings in words: culprit, cause, the numbers behind it, what to do next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"
#include "report/block.h"

namespace plumb::report {

// "overflow", "wrong fusion", ...: a cause as people call it.
std::string_view cause_in_words(std::string_view cause);
// With its detail: "its output is that of conv1", "narrower data type: float16". Names in it are as
// in the files. The page says the same (web/src/words.ts).
std::string cause_in_words(const result::Finding& finding);

// "pw2_scale: its attribute epsilon differs".
std::string finding_title(const result::Finding& finding);

// Operators one of which is to blame, as what lies between was not compared; else none.
std::vector<std::string_view> suspects_of(const result::Finding& finding);

// Somebody or something is to blame.
bool has_culprit(const result::Run& run);
// ... and a row of it can be marked: who shows an error that one of several made is none of them.
bool has_row_to_mark(const result::Run& run);
// The most probable finding in a few lines; nothing if there is none.
void add_culprit(const result::Run& run, Block& block);

// All of them, numbered from `first`.
std::string findings_text(const result::Run& run, size_t width, bool colour, size_t first = 1);

}  // namespace plumb::report
