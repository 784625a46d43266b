// SPDX-License-Identifier: Apache-2.0
//
// One tensor of one operator, element by element: all of them in CSV files, the worst, a summary,
// and the target's tensor as npy. No session streams it: nothing is summed, every element is
// written in the type numpy computes in. Rules, tensors and alignment are those of whole networks.
#pragma once

#include "dialect/msaccucmp/compare_network.h"
#include "dialect/msaccucmp/output.h"

namespace plumb::msaccucmp {

struct SingleOp {
  std::string name;
  bool is_input = false;
  int64_t index = 0;
  int64_t top = 20;
  int64_t max_lines = 1000000;
  bool only_summary = false;  // no file of all elements
};

struct SingleOpFiles {
  std::string summary;               // its text
  std::vector<std::string> written;  // names
};
Outcome<SingleOpFiles> compare_single_op(const Network& network, const SingleOp& wanted,
                                         const std::filesystem::path& output);

// |target - golden| and that by |golden|, in the type numpy would compute in: unsigned integers
// wrap around, float16 rounds to float16.
struct ElementErrors {
  std::vector<double> target, golden, absolute, relative;
};
ElementErrors element_errors(const DecodedArray& target, const DecodedArray& golden);

}  // namespace plumb::msaccucmp
