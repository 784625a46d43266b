// SPDX-License-Identifier: Apache-2.0
//
// Axes that a model leaves open: which of them is the batch, and how a user says the others.
#pragma once

#include "engine/engine.h"

namespace plumb::input {

bool is_open(const engine::Port& port);

// The first axis is open and its name does not say that it is anything but a batch: one sample is a
// batch of one.
bool has_open_batch(const engine::Port& port);

// What to write, with the sizes that the model itself has: "say it: --shape image:1,3,244,244".
std::string shape_advice(const engine::Port& port);

}  // namespace plumb::input
