// SPDX-License-Identifier: Apache-2.0
//
// The sentences that sum a run up, the same in every output that is read by people.
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::report {

// "4 of 17 compared tensors differ": the run's verdict as a clause.
std::string headline(const result::Run& run, const result::Summary& summary);

// "1 of 1 differs, and 19 of 117 layers": what users of the model see, and what is inside. Only
// where a graph tells the outputs.
std::string outputs_text(const result::Summary& summary);

// "22 = 12 pass + 4 fail + 1 inconclusive + 5 not compared"
std::string totals_text(const result::Summary& summary);

// "80.9 %, 17 of 21 tensors": never rounded up to 100 %.
std::string coverage_text(const result::Summary& summary);

}  // namespace plumb::report
