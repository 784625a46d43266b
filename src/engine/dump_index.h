// SPDX-License-Identifier: Apache-2.0
//
// dump.json, the index of what `plumb dump` wrote (schema "plumb.dump/1", see docs/dump.md).
#pragma once

#include "engine/dump_model.h"

namespace plumb::engine {

// `input_files`: by operator, the file of each input; `timestamps`: by operator.
Result<void> write_index(const Dump& dump, const LoadedModel& model, const DumpWishes& wishes,
                         const std::vector<std::vector<std::string>>& input_files,
                         const std::vector<int64_t>& timestamps);

}  // namespace plumb::engine
