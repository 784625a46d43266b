// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of msaccucmp.py, one file each, with its options. Faults carry the exit status
// that msaccucmp.py gives them.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/console.h"
#include "dialect/msaccucmp/arguments.h"
#include "dialect/msaccucmp/compare_network.h"
#include "plumb/run_context.h"

namespace plumb::msaccucmp {

using dialect::Console;

struct Command {
  std::string_view name;
  std::string_view summary;
  std::span<const OptionSpec> options;
  Outcome<int> (*run)(const Arguments& arguments, const Console& console, RunContext& context);
};
extern const Command kCompareCommand, kConvertCommand, kOverflowCommand, kFileCompareCommand,
    kAdvisorCommand;

std::span<const Command* const> commands();
std::string overview();  // of the subcommands

// Runs the subcommand that `words` begins with; its exit status.
Outcome<int> run(std::span<const std::string_view> words, const Console& console,
                 RunContext& context);

// A comparison of networks, which msprobe's mode offline_data is, too.
struct NetworkRun {
  std::string target, golden;
  RulePaths rules;
  std::string output = ".";
  NetworkOptions options;
  bool advisor = false;
  bool join_slices = true;  // of FFTS+
};
// Writes the result (or, given rules in a directory, a result for each model) and says where.
Outcome<int> run_network(const NetworkRun& run, const Console& console, RunContext& context);

// What the subcommands share.
Fault refusal(std::string what, std::string where, std::string remedy,
              Code code = Code::kInvalidParameter);
void say_written(const Console& console, const std::filesystem::path& path);
// The advisor's finding about a result, printed and as advisor_summary.txt.
std::optional<Fault> write_advice(std::string_view csv, const std::vector<std::string>& input_nodes,
                                  const std::filesystem::path& output, const Console& console);

}  // namespace plumb::msaccucmp
