// SPDX-License-Identifier: Apache-2.0
//
// The command line of `msprobe compare`, `merge_result`, `overflow_check` and `parse`. The mode
// decides what is compared: `auto` for general dumps, `torchair`, or `offline_data`, which is
// another name for msaccucmp's comparison.
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

// Those that request_from knows, with what they take.
struct Subcommand {
  std::string_view name, summary;
  std::span<const msaccucmp::OptionSpec> options;
};
std::span<const Subcommand> subcommands();

// A command of `plumb` that does the same under its own name.
struct OwnCommand {
  std::vector<std::string> words;   // its name first
  std::filesystem::path directory;  // that has to be there; empty if it makes one itself
  std::vector<std::string> notes;
};
// What `words`, a subcommand and its options, ask for.
using Request = std::variant<GeneralRun, TorchairRun, msaccucmp::NetworkRun, MergeRun, OwnCommand>;
Result<Request> request_from(std::span<const std::string_view> words);

// What a comparison has to say: the worst rows as a table, the files, the totals. `width` as in
// report::Table.
std::string text_of(const Written& written, size_t width, bool has_colour);

}  // namespace plumb::msprobe
