// SPDX-License-Identifier: Apache-2.0
//
// How a run stands against its baseline, in the words of every output that is read by people. None
// of them is made printable: names come from files.
#pragma once

#include <string>

#include "plumb/baseline.h"

namespace plumb::report {

// "2 of 5 outputs are worse than in the baseline": why it does not hold.
std::string baseline_headline(const result::Baseline& baseline);

// "old.json: 2 of 5 outputs worse, 3 operators new (2 Cast, 1 TransData), 1 gone (Relu), 4 changed"
std::string baseline_text(const result::Baseline& baseline);

// "prob output:0: cosine 0.99999 -> 0.989369, rel_euclid 0.0003 -> 0.15, pass -> fail"
std::string change_text(const result::TensorChange& change);
// ... in two parts: which tensor, and its numbers.
std::string place_text(const result::TensorChange& change);
std::string numbers_text(const result::TensorChange& change);

// "conv1 (Conv2D)", with what changed behind a colon.
std::string change_text(const result::OperatorChange& change);

}  // namespace plumb::report
