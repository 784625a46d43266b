// SPDX-License-Identifier: Apache-2.0
//
// Quantized forms of a model tried on the same samples: what the float model gives is kept, so that
// each trial costs its own runs only.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "quant/lab.h"

namespace plumb::quant {

// How far the results are off, over all samples.
struct Score {
  int64_t samples = 0, agree = 0;  // of those, the largest number at the same place
  int64_t ties = 0;                // several largest numbers where golden has one
  // Of samples whose class is known: those on which the largest number is at its place, here and in
  // golden.
  int64_t labelled = 0, right = 0, golden_right = 0;
  double distance_sum = 0;  // of |target - golden| / |golden|
  double cosine_sum = 0;
  double least_cosine = 1;

  double distance() const { return samples == 0 ? 0 : distance_sum / double(samples); }
  double cosine() const { return samples == 0 ? 1 : cosine_sum / double(samples); }
  double sqnr_db() const;  // -20 log10 of the mean distance; infinite if nothing is off
  double agreement() const { return samples == 0 ? 1 : double(agree) / double(samples); }
  // Points of top-1 that are lost: percent of what is labelled.
  double drop() const {
    return labelled == 0 ? 0 : 100 * double(golden_right - right) / double(labelled);
  }
};

// What one run gave, by tensor.
using Given = std::map<std::string, std::vector<float>, std::less<>>;

class Trials {
 public:
  // Loads the samples, which stay in memory, and runs the float model on them. Progress counts
  // samples. Borrows the lab.
  static Result<std::unique_ptr<Trials>> open(const Lab& lab, input::Samples& samples, int threads,
                                              RunContext& context);

  // Classes of the samples, in their order, as places in the model's only output.
  Result<void> set_labels(std::vector<std::optional<int64_t>> labels);

  // A model whose outputs are called as the lab's. May be called from several threads: each uses
  // an engine of its own.
  Result<Score> score(const std::string& onnx, RunContext& context);

  // What is compared: the outputs of the model, before a Softmax or Sigmoid at the very end, which
  // would hide how far scores are off, or blow it up.
  const std::vector<std::string>& outputs() const { return outputs_; }
  size_t samples() const { return inputs_.size(); }
  const engine::Inputs& inputs(size_t sample) const { return inputs_[sample]; }
  const Given& golden(size_t sample) const { return golden_[sample]; }

  // Runs a model on one sample after the other and hands out these tensors.
  using Take = std::function<void(const std::string& tensor, std::span<const float> values,
                                  const Shape& shape)>;
  Result<void> run(const std::string& onnx, std::span<const std::string> tensors,
                   const std::function<void(size_t sample)>& end, const Take& take,
                   RunContext& context);

 private:
  Trials(const Lab& lab, int threads) : lab_(lab), threads_(threads) {}
  Result<std::shared_ptr<engine::Engine>> take_engine();
  void give_back(std::shared_ptr<engine::Engine> engine);

  const Lab& lab_;
  int threads_;
  std::vector<std::string> outputs_;
  std::vector<engine::Inputs> inputs_;
  std::vector<Given> golden_;
  std::vector<std::optional<int64_t>> labels_;  // empty: not known
  std::mutex mutex_;
  std::vector<std::shared_ptr<engine::Engine>> idle_;
};

// One sample more: `target` and `golden` have the same tensors; a single one if there is a label.
void add_to(Score& score, const Given& target, const Given& golden,
            std::optional<int64_t> label = {});

}  // namespace plumb::quant
