// SPDX-License-Identifier: Apache-2.0
//
// Numbers for models whose real input is not at hand: the same bytes on every machine.
#pragma once

#include "engine/engine.h"

namespace plumb::input {

// Of all random inputs of a sample together: the model decides their shapes, and may be hostile.
inline constexpr int64_t kMostRandomBytes = int64_t{1} << 29;

// The i-th element is made from splitmix64(state + (i + 1) * 0x9e3779b97f4a7c15), where `state` is
// the seed xor the 64-bit FNV-1a hash of the port's name. Of these 64 bits the upper ones are used:
// floats are k / 2^n in [0, 1) with n the precision of the type (53, 24, 11, 8), integers are 0 to
// 7, booleans 0 or 1. Axes of any size have to be settled before.
// `taken` are bytes of other inputs, of kMostRandomBytes.
Result<engine::Tensor> random_input(const engine::Port& port, uint64_t seed, int64_t taken = 0);

// The next of a sequence that `state` begins, by splitmix64.
uint64_t next_random(uint64_t& state);

// `count` places of so many samples, drawn by the seed, in ascending order; all if there are not
// more, or if it is negative.
std::vector<size_t> drawn_places(size_t samples, int64_t count, uint64_t seed);

}  // namespace plumb::input
