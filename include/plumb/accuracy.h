// SPDX-License-Identifier: Apache-2.0
//
// Classes that an output names over all samples: how often both sides name the same one, and how
// often the right one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

struct Accuracy {
  std::string output;              // operator of the target
  int64_t samples = 0, agree = 0;  // the same class is first on both sides
  std::string first_disagreement;  // "chelsea: 285 against 281"
  int64_t labelled = 0;            // samples whose right class is known
  struct Top {                     // the right class is among the first n
    int64_t n = 1;
    int64_t target = 0, golden = 0;  // samples
  };
  std::vector<Top> top;  // empty if nothing is labelled
};

}  // namespace plumb::result
#pragma GCC visibility pop
