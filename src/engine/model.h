// SPDX-License-Identifier: Apache-2.0
//
// A model on disk, ready to be run: its files, its graph, and the engine that runs such models.
#pragma once

#include <memory>
#include <optional>

#include "base/mapped_file.h"
#include "engine/engine.h"
#include "graph/graph.h"

namespace plumb::engine {

struct ModelFile {
  std::filesystem::path path;                 // .onnx or .prototxt
  std::filesystem::path weights;              // .caffemodel; empty: found beside the prototxt
  std::string engine;                         // empty: ONNX Runtime for ONNX, OpenCV for Caffe
  WorkerLimits limits = {};                   // of the engine
  std::shared_ptr<Engine> runs_in = nullptr;  // one of that name which is there already
  std::optional<graph::DataPlace> data = {};  // of its external data, if not beside it
  bool merges_scale = false;  // of a Caffe network for ONNX Runtime: see graph::CaffeTranslation
};

class LoadedModel {
 public:
  static Result<LoadedModel> open(const ModelFile& file);

  const graph::Graph& graph() const { return graph_; }
  Engine& engine() const { return *engine_; }
  const std::shared_ptr<Engine>& shared_engine() const { return engine_; }
  const std::string& path() const { return path_; }
  std::vector<Port> inputs() const;  // what it has to be fed, as its file says
  Model view() const;                // borrows from this object
  // Runs as such: one that ONNX Runtime is to run was translated.
  bool is_caffe() const { return graph_.format == "prototxt"; }
  bool can_save_graph() const { return engine_name_ == "onnxruntime"; }  // as it was optimised

  // Another graph in place of the file's, e.g. with a branch inlined. Empty if it was damaged.
  Result<void> replace(std::string onnx);

 private:
  Result<void> translate(bool merges_scale);  // a Caffe network

  std::string path_;
  graph::DataPlace data_;
  std::shared_ptr<const MappedFile> file_, weights_;
  std::string edited_;  // empty: as in the file
  graph::Graph graph_;
  std::string engine_name_;
  std::shared_ptr<Engine> engine_;
};

// True for what `LoadedModel` opens, told by content: so that a command takes models and dumps
// alike.
bool is_model(const std::filesystem::path& path);
// Of a description of a model that only its device runs.
std::optional<Error> why_not_run(const std::filesystem::path& path);

std::string_view text_of(Optimization optimization);  // "disabled", "basic", "extended", "all"
std::optional<Optimization> optimization_from_text(std::string_view text);

}  // namespace plumb::engine
