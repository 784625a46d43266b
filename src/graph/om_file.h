// SPDX-License-Identifier: Apache-2.0
//
// The container around Ascend's offline model (.om): a header of 256 bytes, then for each model a
// table and the partitions it lists, of which one holds the graph. Only the header, the tables and
// that partition are looked at: weights and kernels of gigabytes stay on the disk. The layout is
// that of GE's om_file_helper, the same from 2020 (version 1.0) to CANN 8.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::graph {

struct OmFile {
  Bytes graph;            // protobuf ge.proto.ModelDef of the first model; borrowed from the file
  uint64_t graph_at = 0;  // its position in the file
  std::vector<std::string> warnings;
};

// Errors say what kind of file it is, if it holds no graph that can be read.
Result<OmFile> open_om(Bytes file);

// What to do instead, where the graph cannot be had from this file.
inline constexpr const char* kOmRemedy =
    "copy the file again; if it is whole, give the json of it: "
    "atc --mode=1 --om=MODEL.om --json=MODEL.json";

}  // namespace plumb::graph
