// SPDX-License-Identifier: Apache-2.0
//
// The table of engines: a new one is a line here and a plug-in file beside this one.
#include <array>

#include "base/nearest.h"
#include "base/plugin.h"
#include "engine/worker/proxy.h"

namespace plumb::engine {
namespace {

struct Line {
  EngineInfo info;
  std::string_view plugin;  // file
  std::string_view needs;
  std::string_view option;
};

constexpr std::array kLines{
    Line{{"onnxruntime", "ONNX models, by ONNX Runtime"},
         "libplumb_onnxruntime.so",
         "ONNX Runtime (scripts/setup --with-onnxruntime)",
         "-DPLUMB_ONNXRUNTIME=ON"},
    Line{{"opencv", "Caffe models and plain ONNX models, by OpenCV DNN"},
         "libplumb_opencv.so",
         "libopencv-dnn-dev",
         "-DPLUMB_OPENCV=ON"},
};

constexpr std::array kInfos{kLines[0].info, kLines[1].info};
static_assert(kInfos.size() == kLines.size());

Result<const Line*> find(std::string_view name) {
  std::vector<std::string> names;
  for (const Line& line : kLines) {
    if (line.info.name == name) return &line;
    names.emplace_back(line.info.name);
  }
  return Error{"unknown engine '" + std::string(name) + "'", "--engine " + std::string(name),
               did_you_mean(name, names) + "`plumb formats` lists all of them"};
}

}  // namespace

std::span<const EngineInfo> engines() { return kInfos; }

Result<Engine*> open_engine(std::string_view name) {
  auto line = find(name);
  if (!line) return line.error();
  auto function = open_plugin({std::string((*line)->plugin), "plumb_engine_3",
                               "run models by " + std::string(name), std::string((*line)->needs),
                               std::string((*line)->option)});
  if (!function) return function.error();
  Result<Engine*> engine(nullptr);
  reinterpret_cast<void (*)(Result<Engine*>*)> (*function)(&engine);
  return engine;
}

Result<std::shared_ptr<Engine>> load_engine(std::string_view name, const WorkerLimits& limits) {
  if (auto line = find(name); !line) return line.error();
  return start_engine(std::string(name), limits);
}

}  // namespace plumb::engine
