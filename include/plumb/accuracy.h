// SPDX-License-Identifier: Apache-2.0
//
// Classes that an output names over all samples: how often both sides name the same one, and how
// often the right one. Shares are 0..1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

// Two different classes for one sample.
struct Disagreement {
  int64_t sample = 0;              // its place among the samples of the run
  int64_t target = 0, golden = 0;  // classes
};

struct Accuracy {
  std::string output;  // operator of the target
  int64_t samples = 0;
  double agree = 0;  // share of samples for which both sides put the same class first
  std::optional<Disagreement> first_disagreement;
  int64_t labelled = 0;  // samples whose right class is known
  struct Top {           // the right class is among the first n
    int64_t n = 1;
    double target = 0, golden = 0;  // shares of what is labelled
  };
  std::vector<Top> top;  // empty if nothing is labelled
};

}  // namespace plumb::result
#pragma GCC visibility pop
