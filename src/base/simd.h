// SPDX-License-Identifier: Apache-2.0
//
// Vector kernels give the same bits as the scalar reference beside them; PLUMB_SIMD=scalar in the
// environment runs the reference instead, so that this can be checked on any machine.
#pragma once

namespace plumb {

bool simd_allowed();

}  // namespace plumb
