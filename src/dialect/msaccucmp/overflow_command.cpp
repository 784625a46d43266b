// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp overflow`: the operators that overflowed first, as a summary file.
#include <array>

#include <fmt/format.h>

#include "base/free_path.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/output.h"
#include "dialect/msaccucmp/overflow.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOverflowOptions{
    OptionSpec{"-d", "--dump_path", "DIR", "dumps with overflow debug records", true},
    OptionSpec{"-out", "--output", "DIR", "for the results", true},
    OptionSpec{"-n", "--top_n", "N", "how many overflows, 1..5 (default: 1)", false, true},
};

Outcome<int> run_overflow(const Arguments& arguments, const Console& console, RunContext&) {
  const int64_t top = arguments.integer("-n", 1);
  if (top < 1 || top > 5)
    return refusal("-n is out of range", fmt::format("-n {}", top), "1 to 5 are possible",
                   Code::kUsage);
  const fs::path output = arguments.text("-out");
  std::error_code ignored;
  if (!fs::is_directory(arguments.text("-d"), ignored))
    return refusal("no such directory", arguments.text("-d"), "check the path", Code::kInvalidPath);
  if (auto failure = make_output_directory(output)) return *failure;
  auto result = analyse_overflow(arguments.text("-d"), top, output);
  if (!result) return result.fault();
  for (const std::string& warning : result->warnings) console.warn(warning);
  if (result->summary.empty()) return 0;
  const fs::path path = free_path(output, "overflow_summary_" + local_time_stamp(), ".txt");
  if (auto failure = write_text(path, result->summary)) return *failure;
  console.print(result->summary);
  say_written(console, path);
  return 0;
}

}  // namespace

const Command kOverflowCommand{"overflow", "which operators overflowed first", kOverflowOptions,
                               run_overflow};

}  // namespace plumb::msaccucmp
