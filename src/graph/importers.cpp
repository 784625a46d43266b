// SPDX-License-Identifier: Apache-2.0
#include "graph/importers.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr size_t kHeadBytes = 4096;

constexpr Importer kImporters[] = {
    {"ge-json", "Ascend model as JSON, written by `atc --mode=1` or by AMCT", is_ge_json,
     graph_from_ge_json},
};

}  // namespace

std::span<const Importer> importers() { return kImporters; }

Result<Graph> load_graph(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  const Bytes bytes = file->bytes();
  const Bytes head = bytes.first(std::min(bytes.size(), kHeadBytes));
  for (const Importer& importer : importers()) {
    if (!importer.probe(head)) continue;
    auto graph = importer.read(bytes);
    if (!graph) return std::move(graph.error()).in(path.string());
    graph->format = importer.name;
    return graph;
  }
  return Error{"not a model description that can be read", path.string(),
               "give the json that atc or AMCT wrote, a GE text graph, an .onnx or a .prototxt"};
}

}  // namespace plumb::graph
