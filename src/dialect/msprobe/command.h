// SPDX-License-Identifier: Apache-2.0
//
// The command line of `msprobe compare` and `msprobe merge_result`. The mode decides what is
// compared: `auto` for general dumps, `torchair`, or `offline_data`, which is another name for
// msaccucmp's comparison.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "dialect/msaccucmp/command.h"
#include "dialect/msprobe/general.h"
#include "dialect/msprobe/merge_result.h"
#include "dialect/msprobe/torchair.h"

namespace plumb::msprobe {

std::string help();

// What `words`, a subcommand and its options, ask for.
using Request = std::variant<GeneralRun, TorchairRun, msaccucmp::NetworkRun, MergeRun>;
Result<Request> request_from(std::span<const std::string_view> words);

// What a comparison has to say: the worst rows as a table, the files, the totals. `width` as in
// report::Table.
std::string text_of(const Written& written, size_t width, bool has_colour);

}  // namespace plumb::msprobe
