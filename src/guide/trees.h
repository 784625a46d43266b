// SPDX-License-Identifier: Apache-2.0
//
// The paths, one file each. Steps go on in another path where that asks the same.
#pragma once

#include "guide/walk.h"

namespace plumb::guide {

std::vector<Step> traditional_steps();
std::vector<Step> quantized_steps();
std::vector<Step> npu_steps();
std::vector<Step> axera_steps();

}  // namespace plumb::guide
