// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp overflow`: the operators that overflowed first, as a summary file.
#include "dialect/msaccucmp/overflow.h"

#include <array>

#include <fmt/format.h>

#include "base/free_path.h"
#include "cli/msaccucmp/subcommand.h"
#include "dialect/msaccucmp/output.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

namespace fs = std::filesystem;

constexpr std::array kOverflowOptions{
    OptionSpec{"-d", "--dump_path", "DIR", "dumps with overflow debug records", true},
    OptionSpec{"-out", "--output", "DIR", "for the results", true},
    OptionSpec{"-n", "--top_n", "N", "how many overflows, 1..5 (default: 1)", false, true},
};

int run_overflow_command(const Arguments& arguments, RunContext&) {
  const int64_t top = arguments.integer("-n", 1);
  if (top < 1 || top > 5)
    return refuse("-n is out of range", fmt::format("-n {}", top), "1 to 5 are possible",
                  Code::kUsage);
  const fs::path output = arguments.text("-out");
  std::error_code ignored;
  if (!fs::is_directory(arguments.text("-d"), ignored))
    return refuse("no such directory", arguments.text("-d"), "check the path", Code::kInvalidPath);
  if (auto failure = make_output_directory(output)) return report(*failure);
  auto result = analyse_overflow(arguments.text("-d"), top, output);
  if (!result) return report(result.fault());
  warn(result->warnings);
  if (result->summary.empty()) return 0;
  const fs::path path = free_path(output, "overflow_summary_" + local_time_stamp(), ".txt");
  if (auto failure = write_text(path, result->summary)) return report(*failure);
  fmt::print("{}", result->summary);
  say_written(path);
  return 0;
}

}  // namespace

const Subcommand kMsaccucmpOverflow{"overflow", "which operators overflowed first",
                                    kOverflowOptions, run_overflow_command};

}  // namespace plumb::cli
