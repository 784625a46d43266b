// SPDX-License-Identifier: Apache-2.0
//
// Which operators of two models are the same one, told by structure. Neither model is the first:
// with sides exchanged the answer is the same.
//
// 1. Anchors: inputs of the models, outputs of the models, constants that each model has once.
// 2. From there along the edges, forward and backward, as long as there is no choice: the same
//    kind, reading the same, or read alike.
// 3. Names, if what edges told so far says that names can be believed.
// 4. What lies between two pairs is aligned as a sequence: kinds, shapes, constants and neighbours
//    speak for a pair. A pair stays only if the pairs around it, before or behind, are each
//    other's.
// 5. No pair against the order of the graphs.
#pragma once

#include <map>

#include "pair/net.h"

namespace plumb::pair {

enum class Proof : char { kNothing, kInput, kConstants, kEdges, kName, kSequence };

struct Aligned {
  std::vector<int> golden_of, target_of;     // by operator of the other side; kNone: there is none
  std::vector<Proof> proof;                  // by target operator
  std::vector<std::pair<Ref, Ref>> outputs;  // of the models: target's, golden's
  std::vector<std::pair<Ref, Ref>> sources;  // ... and what they hand on, by main edges

  int golden(int target) const { return golden_of[static_cast<size_t>(target)]; }
  int target(int golden) const { return target_of[static_cast<size_t>(golden)]; }
};

// Tensors of target that are known to be ones of golden, whatever structure says.
using SameTensors = std::map<Ref, Ref>;

Aligned align(const Net& target, const Net& golden, const SameTensors& told = {});

// Inputs of two operators that are a pair, tensor by tensor, as far as that is clear.
std::vector<std::pair<Ref, Ref>> inputs_of_pair(const Aligned& aligned, const Net& target,
                                                const Net& golden, Edges Net::*edges, int op);

// The nearest operators of a side before (or behind) one that have a counterpart.
std::vector<int> nearest_pairs(const Net& net, const std::vector<int>& partner, int op,
                               bool before);

}  // namespace plumb::pair
