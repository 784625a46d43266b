// SPDX-License-Identifier: Apache-2.0
//
// Whether two models see the same class in each sample, and the right one.
#pragma once

#include "compare/session.h"
#include "input/labels.h"

namespace plumb::replay {

// Of the samples, and of outputs that look like scores of classes.
class Scores {
 public:
  struct Classes {
    std::string output;
    int64_t samples = 0, agree = 0;  // the same class is first on both sides
    int64_t labelled = 0, target_right = 0, golden_right = 0;
    std::string first_disagreement;  // "chelsea: 285 against 281"
  };

  explicit Scores(input::Labels labels = {}) : labels_(std::move(labels)) {}

  void add_sample(const std::string& name, std::vector<std::string> files);
  // All rows of the latest sample.
  void judge_classes(const Session& session, const std::vector<result::Row>& rows);

  const std::vector<std::string>& samples() const { return samples_; }  // names, by step
  const std::vector<Classes>& classes() const { return classes_; }
  // What is odd about the labels, were there any given: not used, or not for all samples.
  std::optional<std::string> labels_doubt() const;

 private:
  std::vector<std::string> samples_;
  std::vector<std::string> files_;  // that the latest was read from
  size_t without_label_ = 0;        // samples
  std::vector<Classes> classes_;
  input::Labels labels_;
};

}  // namespace plumb::replay
