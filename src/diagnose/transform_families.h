// SPDX-License-Identifier: Apache-2.0
//
// The families of explanations that stand in the table of transforms.cpp. Each adds what explains
// the pair, the simplest first. Target and golden have as many elements, but for padding.
#pragma once

#include <vector>

#include "diagnose/transform_fit.h"

namespace plumb::diagnose {

void find_channels_reversed(const Problem& problem, std::vector<Claim>& claims);
void find_flip(const Problem& problem, std::vector<Claim>& claims);
void find_axes(const Problem& problem, std::vector<Claim>& claims);
void find_affine(const Problem& problem,
                 std::vector<Claim>& claims);  // negated, offset, scale, too
void find_saturated(const Problem& problem, std::vector<Claim>& claims);
void find_cast(const Problem& problem, std::vector<Claim>& claims);
void find_shift(const Problem& problem, std::vector<Claim>& claims);
void find_affine_per_channel(const Problem& problem, std::vector<Claim>& claims);
// Golden rearranged (channels reversed, flipped, other axes), and other numbers: two words.
void find_rearranged_affine(const Problem& problem, std::vector<Claim>& claims);
void find_padding(const Problem& problem, std::vector<Claim>& claims);

}  // namespace plumb::diagnose
