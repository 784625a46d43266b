// SPDX-License-Identifier: Apache-2.0
//
// Codes of a quantized tensor and pixels may be rounded the other way, here and there. Where all
// values of a channel, or of the whole tensor, are off in one direction nothing was rounded: a zero
// point, a bias or a colour is wrong.
#pragma once

#include <optional>

#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::compare {

struct CommonOffset {
  std::optional<size_t> axis;  // none: the whole tensor
  int64_t index = 0;
  int64_t off = 0, of = 0;  // elements that are off in that direction, and that could be
  bool is_up = false;
};

// The first slice of which at least nine tenths are off in one direction, where chance would not do
// that, and of which four different values are. Values at an end of the type may be stuck there.
// Pixels lie in even areas, so that of pictures only channels are looked at, and items of the
// batch.
Result<std::optional<CommonOffset>> find_common_offset(const dump::EntryReader& target,
                                                       const dump::EntryReader& golden,
                                                       bool is_picture, const RunContext& context);

// "axis 1, index 2: 196 of 196 values are higher than golden's"
std::string text_of(const CommonOffset& offset);

}  // namespace plumb::compare
