// SPDX-License-Identifier: Apache-2.0
#include "engine/dump_index.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_sink.h"

namespace plumb::engine {
namespace {

using Json = nlohmann::ordered_json;

Json edge(const graph::Edge& from) {
  return {{"producer", from.producer}, {"output", from.output}};
}

Json output_of(const graph::Output& output, const DumpedTensor& tensor) {
  Json item{{"tensor", tensor.tensor}};
  if (!tensor.file.empty()) {
    item["dtype"] = name_of(tensor.dtype);
    item["shape"] = tensor.shape;
    item["file"] = tensor.file;
    if (!tensor.member.empty()) item["member"] = tensor.member;
  } else if (!tensor.problem.empty()) {
    item["problem"] = tensor.problem;
  }
  if (!output.origin.empty()) {
    item["origin"] = output.origin;
    item["origin_output"] = output.origin_output.value_or(0);
  }
  return item;
}

}  // namespace

Result<void> write_index(const std::filesystem::path& directory, const Dump& dump,
                         const LoadedModel& model, Optimization optimization,
                         const std::vector<std::vector<InputFile>>& input_files, bool synced) {
  constexpr auto kReplace = Json::error_handler_t::replace;
  auto sink = FileSink::create(directory / "dump.json");
  if (!sink) return sink.error();
  Json head{{"schema", "plumb.dump/1"},
            {"tool", {{"name", "plumb"}, {"version", PLUMB_VERSION}}},
            {"engine", model.engine().version()},
            {"optimization", text_of(optimization)},
            {"model",
             {{"path", std::filesystem::path(model.path()).filename().string()},
              {"format", model.graph().format}}}};
  if (dump.has_saved_graph) head["saved_graph"] = kSavedGraph;
  std::string text = head.dump(-1, ' ', false, kReplace);
  text.pop_back();  // the closing brace: operators follow, one on each line
  text += ",\n\"operators\":[";
  size_t next = 0;
  for (size_t i = 0; i < dump.graph.operators.size(); ++i) {
    const graph::Operator& op = dump.graph.operators[i];
    Json item{{"name", op.name}, {"type", op.type}, {"timestamp", dump.timestamps[i]}};
    if (!op.subgraph.empty()) item["subgraph"] = op.subgraph;
    item["inputs"] = Json::array();
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      Json input = edge(op.inputs[k]);
      if (i < input_files.size() && k < input_files[i].size() && !input_files[i][k].file.empty()) {
        input["file"] = input_files[i][k].file;
        if (!input_files[i][k].member.empty()) input["member"] = input_files[i][k].member;
      }
      item["inputs"].push_back(std::move(input));
    }
    item["outputs"] = Json::array();
    for (const graph::Output& output : op.outputs)
      item["outputs"].push_back(output_of(output, dump.tensors[next++]));
    if (op.origins) item["origins"] = *op.origins;
    text += fmt::format("{}\n{}", i == 0 ? "" : ",", item.dump(-1, ' ', false, kReplace));
    if (text.size() > (1 << 20)) {
      sink->write(text);
      text.clear();
    }
  }
  Json outputs = Json::array();
  for (const graph::Edge& from : dump.graph.outputs) outputs.push_back(edge(from));
  text += fmt::format("\n],\n\"outputs\":{}}}\n", outputs.dump(-1, ' ', false, kReplace));
  sink->write(text);
  return sink->commit(synced);
}

}  // namespace plumb::engine
