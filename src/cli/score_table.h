// SPDX-License-Identifier: Apache-2.0
//
// What `plumb run` shows: a line for each layer with the columns that users of `pulsar run` know,
// over all samples if there are several, and whether classes agree.
#pragma once

#include "cli/command.h"
#include "compare/stream.h"

namespace plumb::cli {

// Of the samples, and of outputs that look like scores of classes.
struct Scores {
  std::vector<std::string> samples;             // names, by step
  std::vector<std::vector<std::string>> files;  // what they were read from
  struct Classes {
    std::string output;
    int64_t samples = 0, agree = 0;  // the same class is first on both sides
    int64_t labelled = 0, target_right = 0, golden_right = 0;
    std::string first_disagreement;  // "chelsea: 285 against 281"
  };
  std::vector<Classes> classes;

  // `labels`: a file of right classes, or empty.
  Result<void> judge_classes(const compare::Sides& sides,
                             const std::vector<compare::PlannedRow>& plan, const result::Run& run,
                             const std::string& labels);
};

std::string score_table(const result::Run& run, const Scores& scores, bool has_colour, bool all);

}  // namespace plumb::cli
