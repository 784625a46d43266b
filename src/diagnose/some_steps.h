// SPDX-License-Identifier: Apache-2.0
//
// Of several steps (tokens, samples) or ranks only some are wrong: which ones.
#pragma once

#include "diagnose/net.h"

namespace plumb::diagnose {

// One sentence for steps, one for ranks; none where all of them differ, or none does.
std::vector<result::Evidence> only_some_steps(const Net& net, const Node& node);

}  // namespace plumb::diagnose
