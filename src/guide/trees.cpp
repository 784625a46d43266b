// SPDX-License-Identifier: Apache-2.0
#include "guide/trees.h"

#include "guide/compare_sides.h"

namespace plumb::guide {
namespace {

std::vector<Step> all_steps() {
  std::vector<Step> all = {
      {"start",
       "Which path?",
       "traditional: a float model on another platform; quantized: a Caffe model quantized and "
       "converted, in three stages; npu: two runs on devices; axera: a model built by Pulsar",
       {{"problem"}},
       by_answer,
       {{"traditional", "traditional.compare"},
        {"quantized", "quantized.topn"},
        {"npu", "npu.change"},
        {"axera", "axera.platforms"}}}};
  for (const auto& tree : {traditional_steps(), quantized_steps(), npu_steps(), axera_steps()})
    all.insert(all.end(), tree.begin(), tree.end());
  return all;
}

}  // namespace

std::span<const Step> steps() {
  static const std::vector<Step> kSteps = all_steps();
  return kSteps;
}

const Step* step_by_id(std::string_view id) {
  for (const Step& step : steps())
    if (step.id == id) return &step;
  return nullptr;
}

}  // namespace plumb::guide
