// SPDX-License-Identifier: Apache-2.0
//
// Opens one tensor of a dump and measures it.
#pragma once

#include "dump/dump.h"
#include "metrics/measure.h"

namespace plumb::scan {

using metrics::Measured;

// nullopt if the run was cancelled.
Result<std::optional<Measured>> measure(const dump::DumpSet& set, const dump::Entry& entry,
                                        const io::ReadHints& hints, const RunContext& context,
                                        const metrics::Extras& extras = {.histogram = true});

}  // namespace plumb::scan
