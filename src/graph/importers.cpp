// SPDX-License-Identifier: Apache-2.0
#include "graph/importers.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "graph/oddity.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr size_t kHeadBytes = 4096;

constexpr Importer kImporters[] = {
    {"plumb-dump", "index of a dump", "dump.json of `plumb dump`: the model as it was run",
     is_dump_index, graph_from_dump_index},
    {"om", "Ascend offline model",
     "Ascend offline model itself, of any version of ATC; weights are not read", is_om,
     graph_from_om},
    {"ge-json", "Ascend model as JSON",
     "Ascend model as JSON, written by `atc --mode=1` or by AMCT", is_ge_json, graph_from_ge_json},
    {"ge-text", "GE graph as text",
     "GE graph as protobuf text, ge_proto_*.txt or TorchAir's dynamo_*.txt", is_ge_text,
     graph_from_ge_text},
    {"prototxt", "Caffe network", "Caffe network", is_prototxt, graph_from_prototxt, true},
    {"onnx", "ONNX model", "ONNX model; weights are not read", is_onnx, graph_from_onnx, true},
};

// Dumps and edges know operators by name, so the user should know that some share one.
void tell_repeated_names(Graph& graph) {
  const auto by_name = graph.by_name();
  Oddity repeated;
  for (const Operator& op : graph.operators)
    if (by_name.at(op.name) != &op) repeated.add(op.name);
  repeated.tell("operators with the name of an earlier one", graph.warnings);
}

}  // namespace

std::span<const Importer> importers() { return kImporters; }

const Importer* importer_of(Bytes file) {
  const Bytes head = file.first(std::min(file.size(), kHeadBytes));
  for (const Importer& importer : importers())
    if (importer.probe(head)) return &importer;
  return nullptr;
}

Result<Graph> graph_from_bytes(Bytes file) {
  const Importer* importer = importer_of(file);
  if (importer == nullptr)
    return Error{
        "not a model description that can be read", "",
        "give an .om, the json that atc or AMCT wrote, a GE text graph, an .onnx or a .prototxt"};
  auto graph = importer->read(file);
  if (!graph) return graph;
  graph->format = importer->name;
  tell_repeated_names(*graph);
  return graph;
}

Result<Graph> load_graph(const std::filesystem::path& path, bool map) {
  auto file = MappedFile::open(path, map);
  if (!file) return file.error();
  auto graph = graph_from_bytes(file->bytes());
  if (!graph) return std::move(graph.error()).in(path.string());
  if (auto checked = file->check(path.string()); !checked) return checked.error();
  return graph;
}

}  // namespace plumb::graph
