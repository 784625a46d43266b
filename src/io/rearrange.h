// SPDX-License-Identifier: Apache-2.0
//
// From plain order to a device layout: the direction nobody streams, since padding is scattered all
// over the result. The whole tensor is held in memory.
#pragma once

#include "io/reader.h"

namespace plumb::io {

// `source` hands out `info`'s tensor in plain order. Blocks hold 32 channels of one-byte types, 16
// of others, as devices have it. Weights keep the group count of `info`.
Result<TensorReader> rearranged(TensorReader& source, const TensorInfo& info, Layout layout);

}  // namespace plumb::io
