// SPDX-License-Identifier: Apache-2.0
//
// Which operators overflowed first, from the debug records that the device left among the dumps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dialect/msaccucmp/code.h"
#include "dialect/msaccucmp/tensors.h"

namespace plumb::msaccucmp {

struct OverflowReport {
  std::string summary;  // the text of overflow_summary_*.txt; empty if there are no records
  std::vector<std::string> warnings;
};

// Reports the first `top` records below `dumps` and writes them (json) and the tensors of their
// operators (npy) to `output`.
Outcome<OverflowReport> analyse_overflow(const std::filesystem::path& dumps, int64_t top,
                                         const std::filesystem::path& output);

// A number as numpy prints it in its type: "2.7" for a float16.
std::string numpy_text(DType dtype, double value);

}  // namespace plumb::msaccucmp
