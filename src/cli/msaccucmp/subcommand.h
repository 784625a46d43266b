// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `plumb msaccucmp`, one file each, and what they have in common: faults end the
// program with the status that msaccucmp.py gives them.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_context.h"
#include "dialect/msaccucmp/arguments.h"
#include "dialect/msaccucmp/code.h"

namespace plumb::cli {

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  std::span<const msaccucmp::OptionSpec> options;
  int (*run)(const msaccucmp::Arguments& arguments, RunContext& context);
};

extern const Subcommand kMsaccucmpCompare, kMsaccucmpConvert, kMsaccucmpOverflow,
    kMsaccucmpFileCompare, kMsaccucmpAdvisor;

// Prints the error; returns the exit status.
int report(const msaccucmp::Fault& fault);
int refuse(std::string what, std::string where, std::string remedy,
           msaccucmp::Code code = msaccucmp::Code::kInvalidParameter);
void warn(const std::vector<std::string>& warnings);
void say_written(const std::filesystem::path& path);

// The advisor's finding about a result, printed and as advisor_summary.txt; a status if that fails.
std::optional<int> write_advice(std::string_view csv, const std::vector<std::string>& input_nodes,
                                const std::filesystem::path& output);

}  // namespace plumb::cli
