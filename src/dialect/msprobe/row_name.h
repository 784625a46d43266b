// SPDX-License-Identifier: Apache-2.0
//
// Rows of general dumps: what a tensor or argument is called in results and mapping files, and
// which comes first.
#pragma once

#include <string>

#include "dump/dump.h"

namespace plumb::msprobe {

// "Functional.relu.0.forward.input.0"; of a value saved by hand "x.0.debug", or "x.0.debug.1.key"
// where lists and dictionaries were saved. `set` holds the entry.
std::string row_name(const dump::DumpSet& set, const dump::Entry& entry);
void append_row_name(std::string& text, const dump::DumpSet& set, const dump::Entry& entry);
std::string row_name(std::string_view op, const dump::Slot& slot);

// By PrecisionDebugger.save: neither input nor output of a call.
bool is_saved_by_hand(std::string_view call);

// The second word of a call's name, what it does: "all_reduce" of
// "Distributed.all_reduce.0.forward"
std::string_view function_of(std::string_view call);

// In the order of calls; of one call inputs, parameters, outputs, gradients, each as the dump lists
// them.
bool row_is_before(const dump::Entry& a, const dump::Entry& b);

}  // namespace plumb::msprobe
