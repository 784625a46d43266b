// SPDX-License-Identifier: Apache-2.0
//
// What to do next, by what a run shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

struct NextStep {
  std::string text;                   // printable
  std::vector<std::string> commands;  // to be copied as they are
};

// Where to start looking, where no finding says it.
std::optional<NextStep> first_look(const result::Run& run, const result::Summary& summary);
// What else, most urgent first.
std::vector<NextStep> next_steps(const result::Run& run, const result::Summary& summary);

}  // namespace plumb::report
