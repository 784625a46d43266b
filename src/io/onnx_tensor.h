// SPDX-License-Identifier: Apache-2.0
//
// What the ONNX test data holds beside tensors.
#pragma once

#include "base/bytes.h"

namespace plumb::io {

// True if `head`, the first bytes of a file, looks like a SequenceProto or OptionalProto. Both have
// the same fields; neither is a single tensor, so neither is read.
bool is_onnx_sequence(Bytes head);

inline constexpr const char* kOnnxSequence = "an ONNX sequence or optional, not a single tensor";

}  // namespace plumb::io
