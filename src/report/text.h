// SPDX-License-Identifier: Apache-2.0
//
// How names, counts and numbers read in every output. Names come from files and may hold anything;
// numbers print the same digits on every machine and, where programs read them, round-trip.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "result/row.h"

namespace plumb::report {

// On screen, in columns: Chinese characters take two.
size_t display_width(std::string_view text);
// As much of the start or end as fits.
std::string_view starting(std::string_view text, size_t width);
std::string_view ending(std::string_view text, size_t width);

// Nothing but visible ASCII, as nearly every name there is.
bool is_plain(std::string_view text);

// Control characters, which a hostile file name could use to repaint the screen, and bytes that are
// no UTF-8, as \xNN: one line, whatever the name.
std::string printable(std::string_view text);

// True for text that a spreadsheet would run, were it typed in. The wide forms count too: some
// spreadsheets fold them.
bool starts_like_formula(std::string_view text);

// The text with bytes that are no UTF-8 replaced by U+FFFD: parsers refuse a document with them.
std::string valid_utf8(std::string_view text);

// "1 tensor", "12 tensors".
std::string counted(size_t n, std::string_view noun);

// "1.2 GB", decimal units.
std::string bytes_text(double bytes);

// "[1, 64]"; empty if not known.
std::string shape_text(const result::Side& side);

// "conv1 output:0", and where there are several, "[step 0, rank 1]" behind it. Not made printable.
std::string place_text(const result::Row& row);

// "limit:cosine, limit:max_abs". Not made printable.
std::string reasons_text(const result::Row& row);

// A defined number as programs read it: shortest digits that read back to the same double, counts
// without a fraction, checksums in hexadecimal, "nan", "inf", "-inf".
std::string exact_text(const metrics::Metric& metric, double number);
void append_exact(std::string& text, const metrics::Metric& metric, double number);

// A value as people read it: about six digits, "<=0.012" for a bound, "-" for undefined. What is
// not quite 1 never shows as 1.
std::string rounded_text(const metrics::Metric& metric, const metrics::Value& value);

// Why an undefined value has no number: "golden is all zeros", "at most 0.012: ...".
std::string undefined_text(const metrics::Value& value);

}  // namespace plumb::report
