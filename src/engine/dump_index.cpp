// SPDX-License-Identifier: Apache-2.0
#include "engine/dump_index.h"

#include <fmt/format.h>

#include "base/dump_schema.h"
#include "base/file_sink.h"
#include "base/json_values.h"

namespace plumb::engine {
namespace {

namespace field = dump_schema::field;

Json edge(const graph::Edge& from) {
  return {{field::kProducer, from.producer}, {field::kOutput, from.output}};
}

Json output_of(const graph::Output& output, const DumpedTensor& tensor) {
  Json item{{field::kTensor, tensor.tensor}};
  if (!tensor.file.empty()) {
    item[field::kDtype] = name_of(tensor.dtype);
    item[field::kShape] = tensor.shape;
    if (!tensor.layout.empty()) item[field::kLayout] = tensor.layout;
    item[field::kDataFile] = tensor.file;
    if (!tensor.member.empty()) item[field::kMember] = tensor.member;
  } else if (!tensor.problem.empty()) {
    item[field::kProblem] = tensor.problem;
  }
  if (!output.origin.empty()) {
    item[field::kOrigin] = output.origin;
    item[field::kOriginOutput] = output.origin_output.value_or(0);
  }
  return item;
}

// `tensors` begins with the outputs of this operator; `files` may be fewer than its inputs.
Json operator_of(const graph::Operator& op, int64_t timestamp, std::span<const InputFile> files,
                 std::span<const DumpedTensor> tensors) {
  Json item{{field::kName, op.name}, {field::kType, op.type}, {field::kTimestamp, timestamp}};
  if (!op.subgraph.empty()) item[field::kSubgraph] = op.subgraph;
  Json& inputs = item[field::kInputs] = Json::array();
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    Json& input = inputs.emplace_back(edge(op.inputs[k]));
    if (k >= files.size() || files[k].file.empty()) continue;
    input[field::kDataFile] = files[k].file;
    if (!files[k].member.empty()) input[field::kMember] = files[k].member;
  }
  Json& outputs = item[field::kOutputs] = Json::array();
  for (size_t k = 0; k < op.outputs.size(); ++k)
    outputs.push_back(output_of(op.outputs[k], tensors[k]));
  if (op.origins) item[field::kOrigins] = *op.origins;
  if (op.narrow) item[field::kPrecision] = name_of(*op.narrow);
  for (const graph::Constant& constant : op.constants)
    item[field::kConstants].push_back({{field::kPrint, fmt::format("{:016x}", constant.print)},
                                       {field::kElements, constant.elements}});
  return item;
}

}  // namespace

Result<void> write_index(const std::filesystem::path& directory, const Dump& dump,
                         const LoadedModel& model, Optimization optimization,
                         const std::vector<std::vector<InputFile>>& input_files, bool synced) {
  auto sink = FileSink::create(directory / dump_schema::kFile);
  if (!sink) return sink.error();
  Json head{{field::kSchema, dump_schema::kSchema},
            {field::kTool, {{field::kName, "plumb"}, {field::kVersion, PLUMB_VERSION}}},
            {field::kEngine, model.engine().version()},
            {field::kOptimization, text_of(optimization)},
            {field::kModel,
             {{field::kPath, std::filesystem::path(model.path()).filename().string()},
              {field::kFormat, model.graph().format}}}};
  if (dump.has_saved_graph) head[field::kSavedGraph] = kSavedGraph;
  std::string text = line_of_json(head);
  text.pop_back();  // the closing brace: operators follow, one on each line
  text += fmt::format(",\n\"{}\":[", field::kOperators);
  std::span<const DumpedTensor> tensors = dump.tensors;
  for (size_t i = 0; i < dump.graph->operators.size(); ++i) {
    const graph::Operator& op = dump.graph->operators[i];
    const auto files =
        i < input_files.size() ? std::span(input_files[i]) : std::span<const InputFile>();
    const Json item = operator_of(op, dump.timestamps[i], files, tensors);
    tensors = tensors.subspan(op.outputs.size());
    text += fmt::format("{}\n{}", i == 0 ? "" : ",", line_of_json(item));
    if (text.size() > (1 << 20)) {
      sink->write(text);
      text.clear();
    }
  }
  Json outputs = Json::array();
  for (const graph::Edge& from : dump.graph->outputs) outputs.push_back(edge(from));
  text += fmt::format("\n],\n\"{}\":{}}}\n", field::kOutputs, line_of_json(outputs));
  sink->write(text);
  return sink->commit(synced);
}

}  // namespace plumb::engine
