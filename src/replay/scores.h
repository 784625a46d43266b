// SPDX-License-Identifier: Apache-2.0
//
// Whether two models see the same class in each sample, and the right one.
#pragma once

#include "input/labels.h"
#include "plumb/session.h"

namespace plumb::replay {

// Of the samples, and of outputs that look like scores of classes.
class Scores {
 public:
  explicit Scores(input::Labels labels = {}) : labels_(std::move(labels)) {}

  void add_sample(const std::string& name, std::vector<std::string> files);
  void add_unreached(const std::string& name) { samples_.push_back(name); }  // it was not run
  // All rows of the latest sample.
  void judge_classes(const Session& session, const std::vector<result::Row>& rows);

  struct Top {
    int64_t n = 1;
    int64_t target = 0, golden = 0;  // samples that have the right class among the first n
  };
  struct Counts {  // of an output
    std::string output;
    int64_t samples = 0, agree = 0, labelled = 0;
    std::vector<result::Disagreement> disagreements;  // in the order of the samples
    std::vector<Top> top;

    const result::Disagreement* disagreement_on(int64_t sample) const;
  };
  const std::vector<Counts>& counts() const { return counts_; }  // of outputs that tell a class

  const std::vector<std::string>& samples() const { return samples_; }  // names, by step
  std::vector<result::Accuracy> accuracy() const;
  // What is odd about the labels, were there any given: not used, or not for all samples.
  std::optional<std::string> labels_doubt() const;

 private:
  std::vector<std::string> samples_;
  std::vector<std::string> files_;  // that the latest was read from
  size_t without_label_ = 0;        // samples
  std::vector<Counts> counts_;
  input::Labels labels_;
};

}  // namespace plumb::replay
