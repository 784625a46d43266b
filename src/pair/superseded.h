// SPDX-License-Identifier: Apache-2.0
//
// What is said of an earlier run of an operator, where a later one is compared.
#pragma once

#include "pair/pairing.h"

namespace plumb::pair {

inline Pairing superseded() {
  return Pairing::none("superseded", "a later run of this operator is compared");
}

}  // namespace plumb::pair
