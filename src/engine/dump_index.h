// SPDX-License-Identifier: Apache-2.0
//
// dump.json, the index of what `plumb dump` wrote (schema "plumb.dump/1", see docs/dump.md).
#pragma once

#include "engine/dump_model.h"

namespace plumb::engine {

struct InputFile {
  std::string file, member;  // empty: there is none
};

// `input_files`: by operator, the file of each input.
Result<void> write_index(const std::filesystem::path& directory, const Dump& dump,
                         const LoadedModel& model, Optimization optimization,
                         const std::vector<std::vector<InputFile>>& input_files, bool synced);

}  // namespace plumb::engine
