// SPDX-License-Identifier: Apache-2.0
//
// Element types in the words of the tools that recorded them: "torch.float16", "Float16",
// "DT_FLOAT16".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace plumb {

// As we write it; unknown words stay.
std::string plain_dtype(std::string_view text);
std::optional<DType> recorded_dtype(std::string_view text);

}  // namespace plumb
