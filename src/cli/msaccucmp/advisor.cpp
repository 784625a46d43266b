// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp advisor`: the finding of that tool's advisor script, about a saved result.
#include "dialect/msaccucmp/advisor.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "cli/msaccucmp/subcommand.h"
#include "dialect/msaccucmp/output.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

namespace fs = std::filesystem;

constexpr std::array kAdvisorOptions{
    OptionSpec{"-i", "--input_file", "FILE", "result of a comparison, .csv", true},
    OptionSpec{"-input_nodes", "", "LIST", "operators that are inputs, as \"a;b\""},
    OptionSpec{"-o", "--out_path", "DIR", "for the result (default: here)"},
};

int run_advisor_command(const Arguments& arguments, RunContext&) {
  const std::string input = arguments.text("-i");
  constexpr size_t kMostBytes = 100 << 20;
  if (!input.ends_with(".csv"))
    return refuse("a .csv file is wanted", input, "give the result of a comparison");
  auto file = MappedFile::open(input);
  if (!file) return report({Code::kInvalidPath, file.error()});
  if (file->bytes().size() > kMostBytes)
    return refuse("the file is too large", fmt::format("{}: {} bytes", input, file->bytes().size()),
                  "at most 100 MB are read");
  std::vector<std::string> nodes;
  const std::string list = arguments.text("-input_nodes");
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(';', at), list.size());
    nodes.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  const fs::path output = arguments.text("-o", ".");
  if (auto failure = make_output_directory(output)) return report(*failure);
  return write_advice(as_text(file->bytes()), nodes, output).value_or(0);
}

}  // namespace

std::optional<int> write_advice(std::string_view csv, const std::vector<std::string>& input_nodes,
                                const fs::path& output) {
  auto advice = advise(csv, input_nodes);
  if (!advice) return report(advice.fault());
  const fs::path path = output / "advisor_summary.txt";
  if (auto failure = write_text(path, advice->text())) return report(*failure);
  fmt::print("{}", advice->text());
  say_written(path);
  return std::nullopt;
}

const Subcommand kMsaccucmpAdvisor{"advisor", "one finding about the result of a comparison",
                                   kAdvisorOptions, run_advisor_command};

}  // namespace plumb::cli
