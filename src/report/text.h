// SPDX-License-Identifier: Apache-2.0
//
// How names, counts and numbers read in every output that is read by people. Names come from files
// and may hold anything. Numbers for programs: result/value_text.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

// On screen, in columns: Chinese characters take two.
size_t display_width(std::string_view text);
// As much of the start or end as fits.
std::string_view starting(std::string_view text, size_t width);
std::string_view ending(std::string_view text, size_t width);

// Control characters, which a hostile file name could use to repaint the screen, and bytes that are
// no UTF-8, as \xNN: one line, whatever the name.
std::string printable(std::string_view text);

// "1 tensor", "12 tensors".
std::string counted(size_t n, std::string_view noun);

// "1.2 GB", decimal units.
std::string bytes_text(double bytes);

// "[1, 64]"; empty if not known.
std::string shape_text(const result::Side& side);

// "standard", and what the target computes in, if the user said so. Not made printable.
std::string limits_text(const result::Run& run);

// "conv1 output:0", and where there are several, "[step 0, rank 1]" behind it. Not made printable.
std::string place_text(const result::Row& row);

// "top-1 of prob: the same class on 98 of 100 samples; ...". Not made printable.
std::string accuracy_text(const result::Run& run, const result::Accuracy& of);

// "limit:cosine, limit:max_abs". Not made printable.
std::string reasons_text(const result::Row& row);
// What a person should know of a row: its message, or its reasons. Not made printable.
std::string why_text(const result::Row& row);

// "✗ fail": the mark tells rows apart where there are no colours.
std::string_view marked_verdict(const result::Row& row);
// "fail", "nothing compared": of a run.
std::string_view verdict_word(const result::Summary& summary);

std::string_view sgr(result::Colour colour);  // "31": what makes a terminal write in it

// "0.0123457": six digits, whatever the number means.
std::string short_number(long double value);
// A value as people read it: about six digits, "<=0.012" for a bound, "-" for undefined. What is
// not quite 1 never shows as 1.
std::string rounded_text(const metrics::Metric& metric, const metrics::Value& value);
// ... of a row whose values are parallel to `columns`; "-" too if it is not among them.
std::string rounded_text(const std::vector<const metrics::Metric*>& columns, const result::Row& row,
                         std::string_view metric);

}  // namespace plumb::report
