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
  // All rows of the latest sample.
  void judge_classes(const Session& session, const std::vector<result::Row>& rows);

  const std::vector<std::string>& samples() const { return samples_; }  // names, by step
  const std::vector<result::Accuracy>& accuracy() const { return accuracy_; }
  // What is odd about the labels, were there any given: not used, or not for all samples.
  std::optional<std::string> labels_doubt() const;

 private:
  std::vector<std::string> samples_;
  std::vector<std::string> files_;  // that the latest was read from
  size_t without_label_ = 0;        // samples
  std::vector<result::Accuracy> accuracy_;
  input::Labels labels_;
};

}  // namespace plumb::replay
