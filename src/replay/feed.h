// SPDX-License-Identifier: Apache-2.0
//
// Samples that were prepared for one model, for another one: names of inputs differ, places do not.
#pragma once

#include <string>
#include <vector>

#include "engine/model.h"

namespace plumb::replay {

// True if what one model is fed cannot be what the other takes.
bool takes_others(const engine::Port& own, const engine::Port& other);
bool takes_others(const std::vector<engine::Port>& own, const std::vector<engine::Port>& others);

// The inputs of one model, whose ports these are, for another: by name, else by place.
Result<engine::Inputs> inputs_for(const engine::LoadedModel& model,
                                  const std::vector<engine::Port>& ports,
                                  const engine::Inputs& loaded);

// "NAME=FILE" and "NAME:SHAPE" for a model that calls the input of this place something else.
std::vector<std::string> renamed(const std::vector<std::string>& words, char mark,
                                 const std::vector<engine::Port>& from,
                                 const std::vector<engine::Port>& to);

// What `inputs_for` says if the types differ.
Error other_type_needed(const engine::LoadedModel& model, const engine::Port& port, DType fed);

}  // namespace plumb::replay
