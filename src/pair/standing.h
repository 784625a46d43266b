// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of two models stand for each other, once it is known which operators do. Mostly
// those that paired operators give; but one that was fused with what follows gives a later tensor,
// and one that became another kind is told by where it stands: what it reads, and who reads it.
#pragma once

#include <map>

#include "pair/align.h"

namespace plumb::pair {

struct Standing {
  std::map<Ref, Ref> golden_of, target_of;  // tensors
  // Operators of the other side that an operator stands for beside its own counterpart: what was
  // fused into it.
  std::map<int, std::vector<int>> in_target, in_golden;
  std::map<Ref, graph::Absence> target_absence, golden_absence;  // of all other tensors
};

Standing stand(const Net& target, const Net& golden, const Aligned& aligned,
               const SameTensors& told = {});

}  // namespace plumb::pair
