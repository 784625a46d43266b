// SPDX-License-Identifier: Apache-2.0
//
// Reads a result document back (schema name plumb.result/1, docs/result.schema.json), so that later
// stages need no dumps: what json_write.h wrote becomes the same Run again. Totals are not read but
// counted anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"
#include "plumb/row.h"

namespace plumb::result {

struct Saved {
  Run run;
  std::string version;             // of the program that wrote it
  std::vector<std::string> notes;  // what was left out: metrics this program does not know
};

// Members that are not known are ignored: a later version may have added them.
Result<Saved> read_result(Bytes document);
Result<Saved> load_result(const std::filesystem::path& path);

}  // namespace plumb::result
