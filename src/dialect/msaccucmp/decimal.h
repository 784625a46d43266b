// SPDX-License-Identifier: Apache-2.0
//
// Numbers as "%.6f" writes them, an order of magnitude faster: the tables of single operators have
// four of them in each of a million rows.
#pragma once

namespace plumb::msaccucmp {

constexpr int kMostDecimalChars = 320;

// Writes a finite number behind `out`, which has room for kMostDecimalChars; returns the end.
char* append_decimal(double value, char* out);

}  // namespace plumb::msaccucmp
