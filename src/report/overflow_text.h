// SPDX-License-Identifier: Apache-2.0
//
// Who overflowed first, as `plumb overflow` shows it: what a device recorded, and the operators
// whose tensors hold NaN, infinities or the limits of their type.
#pragma once

#include "scan/overflow.h"

namespace plumb::report {

// At most `most` records and operators. `width` as in TerminalStyle.
std::string overflow_text(const scan::OverflowFindings& findings, size_t most, size_t width,
                          bool colour);

}  // namespace plumb::report
