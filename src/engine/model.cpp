// SPDX-License-Identifier: Apache-2.0
#include "engine/model.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/run_command.h"
#include "graph/caffe_onnx.h"
#include "graph/importers.h"
#include "graph/model_content.h"
#include "graph/onnx_external.h"

namespace plumb::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLevels[] = {"disabled", "basic", "extended", "all"};  // by Optimization

Result<std::shared_ptr<const MappedFile>> open_file(const fs::path& path) {
  auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  return std::shared_ptr<const MappedFile>(new MappedFile(std::move(*file)));
}

}  // namespace

bool is_model(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return false;
  const auto file = MappedFile::open(path.string());
  if (!file) return path.extension() == ".onnx" || path.extension() == ".prototxt";
  const graph::Importer* importer = graph::importer_of(file->bytes());
  return importer != nullptr && importer->is_runnable;
}

std::optional<Error> why_not_run(const fs::path& path) {
  const auto file = MappedFile::open(path.string());
  const graph::Importer* importer = file ? graph::importer_of(file->bytes()) : nullptr;
  if (importer == nullptr || importer->is_runnable) return std::nullopt;
  return Error{"this description of a model cannot be run",
               fmt::format("{}: {}", path.string(), importer->title),
               fmt::format("name an .onnx or a .prototxt; or compare what its device dumped, "
                           "`plumb compare DUMP GOLDEN --graph {}`",
                           shell_word(path.string()))};
}

std::string_view text_of(Optimization optimization) {
  return kLevels[static_cast<size_t>(optimization)];
}

std::optional<Optimization> optimization_from_text(std::string_view text) {
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (kLevels[i] == text) return static_cast<Optimization>(i);
  return std::nullopt;
}

Result<LoadedModel> LoadedModel::open(const ModelFile& wanted) {
  LoadedModel model;
  model.path_ = wanted.path.string();
  model.data_ = wanted.data ? *wanted.data : graph::data_place_of(wanted.path);
  if (auto refused = why_not_run(wanted.path)) return std::move(*refused);
  auto graph = graph::load_graph(wanted.path);
  if (!graph) return graph.error();
  model.graph_ = std::move(*graph);
  if (!model.is_caffe() && !wanted.weights.empty())
    return Error{"an ONNX model brings its own weights", wanted.weights.string(), "leave it out"};
  const std::string_view natural = model.is_caffe() ? "opencv" : "onnxruntime";
  const std::string_view name = wanted.engine.empty() ? natural : wanted.engine;
  auto file = open_file(wanted.path);
  if (!file) return file.error();
  model.file_ = *file;
  if (!model.is_caffe())  // before anything is written; the engine checks edited models, too
    if (auto checked = graph::check_external(model.file_->bytes(), model.data_); !checked)
      return std::move(checked.error()).in(model.path_);
  if (model.is_caffe()) {
    auto path = wanted.weights.empty() ? graph::find_caffe_weights(wanted.path) : wanted.weights;
    if (!path) return path.error();
    auto weights = open_file(*path);
    if (!weights) return weights.error();
    model.weights_ = *weights;
  }
  model.engine_ = wanted.runs_in;
  if (!model.engine_) {
    auto engine = load_engine(name, wanted.limits);
    if (!engine) return engine.error();
    model.engine_ = *engine;
  }
  model.engine_name_ = name;
  if (model.is_caffe() && name == "onnxruntime")  // it takes ONNX only
    if (auto translated = model.translate(wanted.merges_scale); !translated)
      return translated.error();
  return model;
}

Result<void> LoadedModel::translate(bool merges_scale) {
  auto content = graph::content_from_caffe(file_->bytes(), weights_->bytes());
  if (!content) return std::move(content.error()).in(path_);
  auto onnx = graph::translate_caffe(*content, {merges_scale});
  if (!onnx) return std::move(onnx.error()).in(path_);
  weights_.reset();
  return replace(graph::write_onnx(*onnx));
}

std::vector<Port> LoadedModel::inputs() const {
  std::vector<Port> ports;
  for (const graph::Operator& op : graph_.operators) {
    if ((op.type != "Input" && op.type != "Data") || !op.subgraph.empty()) continue;
    for (const graph::Output& output : op.outputs) {
      Port& port = ports.emplace_back();
      port.name = output.name;
      port.dtype = is_caffe() ? DType::kFloat32 : output.dtype;
      if (!port.dtype) port.kind = "no tensor of numbers";
      port.shape = output.shape.value_or(Shape{});
    }
  }
  return ports;
}

Model LoadedModel::view() const {
  Model model;
  model.graph = edited_.empty() ? file_->bytes() : as_bytes(edited_);
  if (weights_) model.weights = weights_->bytes();
  model.data = data_;
  model.inputs = inputs();
  return model;
}

Result<void> LoadedModel::replace(std::string onnx) {
  auto graph = graph::graph_from_bytes(as_bytes(onnx));
  if (!graph) return std::move(graph.error()).in(path_);
  graph_ = std::move(*graph);
  edited_ = std::move(onnx);
  return {};
}

}  // namespace plumb::engine
