// SPDX-License-Identifier: Apache-2.0
//
// Types as dump.json spells them: "torch.float32" of PyTorch is "Float32" of MindSpore.
#pragma once

#include <string>
#include <string_view>

namespace plumb::msprobe {

std::string plain_dtype(std::string_view dtype);  // "float32"
bool is_whole_dtype(std::string_view dtype);      // integers and bool, equal or different

// Tensors of equal types are compared, and those of float16, bfloat16 and float32 with each other;
// between the two frameworks also all integers, all floating point and all complex numbers.
bool dtypes_match(std::string_view target, std::string_view golden);

}  // namespace plumb::msprobe
