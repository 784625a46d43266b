// SPDX-License-Identifier: Apache-2.0
//
// The table that says which file of the target belongs to which golden file, without comparing.
#pragma once

#include "dialect/msaccucmp/compare_network.h"

namespace plumb::msaccucmp {

Outcome<std::string> mapping_csv(const Network& network, const Choice& choice,
                                 std::vector<std::string>& warnings);

}  // namespace plumb::msaccucmp
