// SPDX-License-Identifier: Apache-2.0
//
// What all verdicts are written with, whether values, records or sketches tell them: reasons and
// clauses of a row, and numbers with as many digits as it takes.
#pragma once

#include <string>
#include <string_view>

#include "judge/profile.h"
#include "plumb/row.h"

namespace plumb::judge {

double rounded(double value, int digits);
// Three significant digits; near 1 the distance from it matters: 0.99987, 1.0013.
int digits_of(double value);
// The nearest short number that is not below (`up`) or not above the value.
double rounded_outwards(double value, bool up);
// With as many digits as it takes to see that the limit is broken.
std::string text_of(const Limit& limit, double value);
std::string plain_clause(const Limit& limit, double value);  // "cosine 0.98 is below 0.99"
std::string limit_reason(const Limit& limit);                // "limit:cosine"
// Within a factor of two: the error is more than half of what the limit allows.
bool is_near(const Limit& limit, double value);

void start(result::Row& row);  // as if nothing had been said of it
void say(result::Row& row, std::string_view clause);
void add(result::Row& row, std::string reason, std::string_view clause);
bool has_reason(const result::Row& row, std::string_view reason);
void settle(result::Row& row, result::Verdict verdict);  // a failure outweighs a doubt
void fail(result::Row& row, std::string reason, std::string_view clause);
void doubt(result::Row& row, std::string reason, std::string_view clause);

}  // namespace plumb::judge
