// SPDX-License-Identifier: Apache-2.0
//
// Every model description that can be read, one line each.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "graph/graph.h"
#include "plumb/result.h"

namespace plumb::graph {

struct Importer {
  std::string_view name;     // "ge-json", "ge-text", "onnx", "prototxt"
  std::string_view title;    // what users call it
  std::string_view summary;  // one line for `plumb formats`
  // True if `head`, the first bytes of a file, looks like this description. Content decides, never
  // the file's name.
  bool (*probe)(Bytes head);
  Result<Graph> (*read)(Bytes file);
  bool is_runnable = false;  // by `plumb dump` and `plumb run`
};

std::span<const Importer> importers();

// The one whose description a file looks like; null if none.
const Importer* importer_of(Bytes file);

// Errors name the place in the file.
Result<Graph> graph_from_bytes(Bytes file);

// The graph in a file of any known description. Errors name file and place.
// With `map` false it is read into memory whatever its size.
Result<Graph> load_graph(const std::filesystem::path& path, bool map = true);

}  // namespace plumb::graph
