// SPDX-License-Identifier: Apache-2.0
//
// What is in a tensor file or a dump, as `plumb inspect` shows it: a table or a tree of tensors,
// why files were left out, and of a single tensor its histogram.
#pragma once

#include "scan/inspect.h"

namespace plumb::report {

struct InspectionStyle {
  size_t width = 0;    // as in TerminalStyle
  bool stats = false;  // the statistics that were measured or recorded
  bool tree = false;
};
std::string inspection_text(const std::string& path, const scan::Inspection& found,
                            const InspectionStyle& style);

}  // namespace plumb::report
