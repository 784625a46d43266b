// SPDX-License-Identifier: Apache-2.0
//
// What `plumb run` shows: a line for each layer with the columns that users of `pulsar run` know,
// over all samples if there are several, and whether classes agree.
#pragma once

#include "replay/scores.h"

namespace plumb::cli {

std::string score_table(const result::Run& run, const replay::Scores& scores, bool has_colour,
                        bool all);

}  // namespace plumb::cli
