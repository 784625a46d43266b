// SPDX-License-Identifier: Apache-2.0
#include "diagnose/transforms.h"

namespace plumb::diagnose {

std::optional<Transform> find_transform(const compare::PairValues&, double) { return {}; }

}  // namespace plumb::diagnose
